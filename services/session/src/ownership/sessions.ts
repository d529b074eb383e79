/** The sessions that this worker holds: commands for them, and how they are handed over to another worker. */
import { haveFormerWorkersEnded, subjects, type Bus } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  fault,
  type Caller,
  type ClientInfo,
  type GatewayFault,
  type LateReply,
  type PostedMessage,
  type SessionCommand,
  type SessionKey,
  type SessionMessage,
  type StreamFrame,
  type WorkerId,
  shownKeyLength,
} from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { Session } from '../stateful/session.ts';
import type { SessionHost } from '../stateful/session-host.ts';
import type { GuestMaker } from '../stateful/session-parts.ts';
import { HeldSessions, type HeldSession } from './held-sessions.ts';
import type { Peers } from './peers.ts';
import type { SessionRecords } from './records.ts';

export interface SessionsOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly worker: WorkerId;
  readonly config: () => Config;
  readonly records: SessionRecords;
  readonly peers: Peers;
  /** The parts of the worker that sessions use. */
  readonly host: SessionHost;
  readonly guests: readonly GuestMaker[];
  /** Why the identity of a caller in a command is not proven; undefined where it is. */
  readonly callerProblem: (caller: Caller) => GatewayFault | undefined;
  /** Called when a client uses an endpoint. */
  readonly used: (caller: Caller) => void;
}

/** Records that are read at a time after a reconnect. */
const verifiedAtOnce = 50;
/** Number of searches for idle sessions within the idle time. */
const sweepsPerIdleTime = 10;

/** Milliseconds for which a request waits until it is known who holds its session, and between two questions. */
const confirmMs = 15_000;
const confirmAgainMs = 500;
/** Milliseconds between two questions to the other workers. */
const askAgainMs = 50;

/** Milliseconds after its last request in which a session is not given to another worker. */
const quietMs = 5_000;

/** Sessions in one answer of the admin port. */
const maxListed = 1_000;
const maxDeclared = 50;

/** One session, as operators see it. */
export interface SessionRow {
  readonly key: string;
  readonly state: string;
  readonly revision: string;
  readonly endpoint: string;
  readonly principal: string;
  /** Name and version that the client gives itself; left out in a session from a version that did not record it. */
  readonly client?: ClientInfo;
  /** Capabilities that the client declared. */
  readonly declared: readonly string[];
  /** Number of open requests. */
  readonly open: number;
  readonly streams: number;
  readonly subscriptions: number;
  readonly idleMs: number;
  /** Servers that may keep state for it. */
  readonly servers: readonly string[];
}

export class Sessions {
  readonly held = new HeldSessions<Session>();
  readonly #options: SessionsOptions;
  #isStopping = false;
  /** Checks of all sessions that are running. */
  #verifying = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** Number of sessions by state. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const {
      session: { state },
    } of this.held.values())
      counts[state] = (counts[state] ?? 0) + 1;
    return counts;
  }

  /** The first sessions, and the number of all. */
  list(): { readonly sessions: readonly SessionRow[]; readonly total: number } {
    const all = [...this.held.values()];
    return {
      total: all.length,
      sessions: all.slice(0, maxListed).map(({ session }) => {
        const {
          caller: { endpoint, principal },
          revision,
          touched,
          capabilities,
          subscriptions,
          client,
        } = session.record(this.#options.worker);
        return {
          key: session.key.slice(0, shownKeyLength),
          state: session.state,
          revision,
          endpoint,
          principal,
          servers: touched,
          ...(client === undefined ? {} : { client }),
          declared: Object.keys(capabilities).slice(0, maxDeclared),
          open: session.size,
          streams: session.streams.standing,
          subscriptions: subscriptions.length,
          idleMs: Math.round(session.idleMs(performance.now())),
        };
      }),
    };
  }

  /** Ends the session with this prefix of its key. @returns false if there is none here, or more than one. */
  end(beginning: string): boolean {
    const found = this.held
      .values()
      .filter(({ session, isReleased }) => !isReleased && session.key.startsWith(beginning));
    if (beginning.length < shownKeyLength || found.length !== 1) return false;
    found[0]?.session.end();
    return true;
  }

  /** The session, if this worker holds it. */
  find(key: SessionKey): Session | undefined {
    const held = this.held.byKey.get(key);
    return held?.isReleased === false ? held.session : undefined;
  }

  /** Creates the object of a session that is recorded already, or will be next. */
  hold(key: SessionKey, caller: Caller): Session {
    const { host, records, worker, used, guests } = this.#options;
    used(caller);
    const session: Session = new Session(
      key,
      caller,
      host,
      {
        released: (ended) => {
          records.remove(ended.key);
          this.held.remove(ended);
          host.sessionEnded(ended.key);
        },
        changed: (changed) => {
          this.held.weigh(changed);
          records.save(changed.key, changed.record(worker));
        },
      },
      guests,
    );
    this.held.add(session);
    return session;
  }

  readonly receive = ({ key, command, edge }: SessionMessage, answer: (frame: StreamFrame) => void): void => {
    // Questions about its open requests go to the worker that has them.
    const session =
      command.kind === 'probe' || command.kind === 'detach' ? this.held.byKey.get(key)?.session : this.find(key);
    const problem = 'caller' in command ? this.#problem(command, session) : undefined;
    if (problem !== undefined) answer({ kind: 'refused', fault: problem });
    else if (session !== undefined) session.receive(command, answer, edge);
    else if (this.#isStopping && haveFormerWorkersEnded(this.#options.bus))
      answer({ kind: 'refused', fault: fault('gateway.draining') });
    else answer({ kind: 'moved' });
  };

  /** Why a command is not accepted from its caller, which is put on record. */
  #problem(
    command: Extract<SessionCommand, { readonly caller: Caller }>,
    session: Session | undefined,
  ): GatewayFault | undefined {
    const problem =
      this.#options.callerProblem(command.caller) ??
      (session?.isFor(command.caller) === false ? fault('session.unknown') : undefined);
    if (problem !== undefined) this.#options.host.watchers.turnedAway(session?.key, command, problem);
    return problem;
  }

  /** Passes a message of a client to the worker that held its session before. Only known workers get it: a text of a client never becomes a subject. */
  async passOn(
    key: SessionKey,
    asker: WorkerId,
    heldBefore: WorkerId | undefined,
    posted: PostedMessage,
  ): Promise<LateReply['outcome'] | 'silence'> {
    const { worker, peers } = this.#options;
    if (asker === worker) return 'closed';
    if (asker !== heldBefore && !peers.others.includes(asker)) return 'gone';
    const reply = await peers.ask(asker, subjects.sessionLate(asker), { key, posted });
    return reply === 'silence' ? 'silence' : (reply?.outcome ?? 'gone');
  }

  // --- sessions that go elsewhere, or end ------------------------------------------------------------------------------------------

  /** As `SessionHost.confirm`. */
  confirm(key: SessionKey): Promise<boolean> | undefined {
    const { records, host } = this.#options;
    if (this.#verifying === 0 && host.isSure() && !records.isDoubtful(key)) return undefined;
    const store = this.#confirmed(key);
    return new Promise((resolve, reject) => {
      let isOver = false;
      store.finally(() => (isOver = true)).then(resolve, reject);
      void this.#untilWithoutOther(key, () => isOver).then(
        (isWithout) => (isWithout ? resolve(true) : undefined),
        reject,
      );
    });
  }

  /**
   * Asks the other workers until each says that it does not hold a session: one of them may have to find NATS again first.
   * Once one says that it does, only the store decides.
   */
  async #untilWithoutOther(key: SessionKey, isOver: () => boolean): Promise<boolean> {
    while (!isOver()) {
      const isWithout = await this.#isWithoutOther(key);
      if (isWithout !== undefined) return isWithout;
      await new Promise<void>((resolve) => void this.#options.wheel.schedule(askAgainMs, resolve));
    }
    return false;
  }

  /**
   * Whether every other worker says that it does not hold a session. One that takes it over later says so to this worker, which is connected again. So requests
   * need not wait for a store that elects a leader. A worker that started while this one was cut off may not be known yet: the question goes to all, too.
   * @returns undefined while that cannot be known.
   */
  async #isWithoutOther(key: SessionKey): Promise<boolean | undefined> {
    const { peers } = this.#options;
    if (!this.#knowsOthers) return undefined;
    const asked = new Set(peers.others);
    const answers = await Promise.all([
      peers.askAll([...asked], subjects.sessionFindAt, { key }, ({ isHeld }) => isHeld),
      peers.findNew(key),
    ]);
    if (answers.some((answer) => answer !== undefined && answer !== 'silence')) return false;
    const isEachAsked = this.#knowsOthers && peers.others.every((worker) => asked.has(worker));
    return answers.includes('silence') || !isEachAsked ? undefined : this.held.byKey.get(key) !== undefined;
  }

  /** Whether the other workers can be asked now: none is missing, except those that started while this one was cut off. */
  get #knowsOthers(): boolean {
    const { peers } = this.#options;
    return peers.isBack && (peers.isComplete || peers.knewAll) && peers.vanished.length === 0;
  }

  /** A store that elects a leader says nothing for some seconds. Until it is known who holds the session, a request that no server has can wait. */
  async #confirmed(key: SessionKey): Promise<boolean> {
    const { records, wheel } = this.#options;
    const giveUpAt = performance.now() + confirmMs;
    for (;;) {
      await records.verify(key);
      if (this.held.byKey.get(key) === undefined) return false;
      if (!records.isDoubtful(key)) return true;
      if (performance.now() >= giveUpAt) return false;
      await new Promise<void>((resolve) => void wheel.schedule(confirmAgainMs, resolve));
    }
  }

  /** Checks all sessions after this worker was cut off or paused, since other workers may have taken them over. */
  async verify(): Promise<void> {
    const keys = this.held.values().map(({ session }) => session.key);
    this.#verifying += 1;
    for (let start = 0; start < keys.length; start += verifiedAtOnce) {
      await Promise.all(keys.slice(start, start + verifiedAtOnce).map((key) => this.#options.records.verify(key)));
    }
    this.#verifying -= 1;
  }

  /** Gives up a session that another worker has taken over while this one could not be reached. */
  lose(key: SessionKey): void {
    const held = this.held.byKey.get(key);
    if (held === undefined) return;
    this.#options.log.warn({ session: key }, 'a session was taken over by another worker');
    this.#options.metrics.sessionsLost.inc();
    this.held.remove(held.session);
    held.session.giveAway();
  }

  /** Ends an unused or idle session to make room. @returns false when all are in use. */
  shed(): boolean {
    const spare = this.held.spare(performance.now());
    if (spare === undefined) return false;
    this.#options.metrics.sessionsShed.inc({ kind: spare.kind });
    spare.session.expire();
    // In any case: the loop must not visit a session without end.
    return this.held.byKey.get(spare.session.key) === undefined;
  }

  /** Schedules the searches that end idle and unused sessions. */
  sweepLater(): void {
    const { idleSession, unusedSession } = this.#options.config().timeouts;
    this.#options.wheel.schedule(Math.min(idleSession, unusedSession) / sweepsPerIdleTime, () => {
      const now = performance.now();
      for (const { session } of this.held.values()) {
        const limitMs =
          session.isUsed || session.state !== 'awaitingInitialized'
            ? idleSession
            : Math.min(idleSession, unusedSession);
        if (session.idleMs(now) >= limitMs) session.expire();
      }
      if (!this.#isStopping) this.sweepLater();
    });
  }

  /**
   * Hands all sessions over to other workers. Those of a gateway of one process end here; with a store, the next process continues them.
   * @param limitMs for running requests.
   */
  async stop(limitMs: number): Promise<void> {
    this.#isStopping = true;
    const { bus } = this.#options;
    await Promise.all(
      this.held.values().map((held) => (bus.isShared ? this.#handOver(held, limitMs) : this.#end(held, limitMs))),
    );
  }

  /** Up to this number of sessions without a request for a while, the one that is idle for longest first. Their GET streams may be open. */
  quiet(most: number): readonly SessionKey[] {
    const now = performance.now();
    return this.held
      .values()
      .filter(({ session, isReleased }) => !isReleased && session.state === 'ready' && session.quietMs(now) >= quietMs)
      .toSorted((one, other) => other.session.quietMs(now) - one.session.quietMs(now))
      .slice(0, most)
      .map(({ session }) => session.key);
  }

  /**
   * Hands a session to a certain worker. If that one does not take it, any worker does at the next command, as after a planned stop.
   * @returns false if it has ended, was used meanwhile, or is not in the store as it is now.
   */
  async moveTo(key: SessionKey, to: WorkerId): Promise<boolean> {
    const held = this.held.byKey.get(key);
    if (held === undefined || held.isReleased || held.session.quietMs(performance.now()) < quietMs) return false;
    const { records, peers, worker, config } = this.#options;
    if (!records.isWritten(key)) return false;
    await records.release(key);
    held.isReleased = true;
    await peers.ask(to, subjects.sessionAdopt(to), { key, lost: worker });
    await held.session.handOver(config().timeouts.drain);
    // It may have come back meanwhile.
    if (this.held.byKey.get(key) === held) this.held.remove(held.session);
    return true;
  }

  /** Ends a session here. Its record stays if records outlive this process. */
  async #end({ session }: HeldSession<Session>, limitMs: number): Promise<void> {
    if (this.#options.bus.outlives) await this.#options.records.release(session.key);
    await session.drain(limitMs);
  }

  /** Hands a session over to another worker: its record is written, commands are no longer accepted here, and its streams move. */
  async #handOver(held: HeldSession<Session>, limitMs: number): Promise<void> {
    const { session } = held;
    await this.#options.records.release(session.key);
    this.#options.metrics.sessionsHandedOver.inc();
    held.isReleased = true;
    await session.handOver(limitMs);
  }
}
