/** The sessions of one worker: how they are opened, found, taken over and handed over, and the subscriptions by which others ask for that. */
import { Heartbeat, sessionsBucket, subjects, type KeyValue, type Subscription, type Watch } from '@omnibus/bus';
import type {
  AdoptCommand,
  AdoptReply,
  FindCommand,
  HoldReply,
  OpenCommand,
  OpenReply,
  Presence,
  SessionRecord,
} from '@omnibus/protocol';
import type { SessionHost } from '../stateful/session-host.ts';
import { Adoption } from './adoption.ts';
import { Balance } from './balance.ts';
import { Opening, type OpeningOptions } from './opening.ts';
import { Peers } from './peers.ts';
import { SessionRecords } from './records.ts';
import { Sessions, type SessionsOptions } from './sessions.ts';
import { answerWhileYoung } from './young.ts';

/** What sessions use of the worker's ownership. */
export type OwnedHost = Pick<SessionHost, 'isSure' | 'sessionWorkers' | 'confirm' | 'passOn' | 'hasRoomFor'>;

export interface OwnershipOptions<Host extends SessionHost>
  extends
    Pick<
      SessionsOptions,
      'bus' | 'wheel' | 'log' | 'metrics' | 'worker' | 'config' | 'guests' | 'callerProblem' | 'used'
    >,
    Pick<OpeningOptions, 'undecided' | 'factsOf' | 'view'> {
  readonly stored: KeyValue<SessionRecord>;
  readonly maxBytes: number;
  /** Makes the parts of the worker that sessions use. */
  readonly makeHost: (owned: OwnedHost) => Host;
}

export class Ownership<Host extends SessionHost> {
  readonly host: Host;
  readonly sessions: Sessions;
  readonly peers: Peers;
  readonly #options: OwnershipOptions<Host>;
  readonly #records: SessionRecords;
  readonly #heart: Heartbeat<Pick<Presence, 'sessions' | 'hearsYoung'>>;
  readonly #opening: Opening;
  readonly #adoption: Adoption;
  readonly #balance: Balance;
  /** Subscriptions by which sessions are opened and taken over. */
  #inlets: Subscription[] = [];
  /** Waits until this worker is no longer young. */
  #young: Watch | undefined;
  /** Subscription to the commands for sessions that this worker holds. */
  #commands: Subscription | undefined;

  constructor(options: OwnershipOptions<Host>) {
    this.#options = options;
    const { bus, wheel, log, worker, stored, maxBytes, callerProblem, undecided, factsOf, view } = options;
    const records = new SessionRecords({
      records: stored,
      worker,
      wheel,
      log,
      maxAgeMs: sessionsBucket.maxAgeMs,
      taken: (key) => this.sessions.lose(key),
    });
    const peers = new Peers({ bus, wheel, worker, answer: () => this.#heart.answer() });
    this.#heart = new Heartbeat<Pick<Presence, 'sessions' | 'hearsYoung'>>({
      bus,
      clock: wheel,
      subject: subjects.presence,
      sign: (isLeaving) => ({
        worker,
        isLeaving,
        reconnects: bus.reconnects,
        sessions: this.sessions.held.size,
        hearsYoung: true,
      }),
      returned: () => void this.sessions.verify(),
    });
    this.host = options.makeHost({
      isSure: () => this.#heart.isSure,
      sessionWorkers: peers.workers,
      confirm: (key) => this.sessions.confirm(key),
      passOn: (key, asker, heldBefore, posted) => this.sessions.passOn(key, asker, heldBefore, posted),
      hasRoomFor: (bytes) => this.sessions.held.bytes + bytes <= maxBytes,
    });
    const { watchers } = this.host;
    const owned = { ...options, host: this.host, records, peers };
    this.sessions = new Sessions(owned);
    this.#opening = new Opening({
      ...owned,
      sessions: this.sessions,
      factsOf,
      callerProblem,
      undecided,
      turnedAway: (command, problem) => watchers.turnedAway(undefined, command, problem),
      view,
    });
    this.#adoption = new Adoption({ ...owned, sessions: this.sessions, hasRoom: () => this.#opening.hasRoom() });
    this.#records = records;
    this.peers = peers;
    this.#balance = new Balance({ ...options, sessions: this.sessions, others: () => peers.shares });
  }

  /** Takes commands for sessions, and answers other workers and edges. */
  async start(): Promise<void> {
    const { bus, worker } = this.#options;
    this.#commands = await bus.subscribe(subjects.session(worker), this.sessions.receive);
    await this.#answerWorkers();
    await this.peers.start();
  }

  /**
   * Signs of life start first, so that a process that learns that this worker holds a session already knows the worker.
   * @param heard resolves when this worker knows the backend workers, which answer its first sign.
   */
  async open(heard: () => Promise<void>): Promise<void> {
    await this.#heart.start();
    if (this.#options.bus.isShared) await heard();
    this.#inlets = await this.#openInlets();
    this.sessions.sweepLater();
    if (this.#options.bus.isShared) this.#balance.start();
  }

  /** Answers other workers and edges. These subscriptions stay until the end: a worker that leaves is still asked what it works on. */
  async #answerWorkers(): Promise<void> {
    const { bus, wheel, worker } = this.#options;
    const { held } = this.sessions;
    await bus.subscribe(subjects.sessionStreams(worker), ({ key, streams }, reply) =>
      reply({ key, streams: held.byKey.get(key)?.session.streams.unanswered(streams) ?? [] }),
    );
    await bus.subscribe(subjects.sessionLate(worker), ({ key, posted }, reply) =>
      reply({ outcome: held.byKey.get(key)?.session.hearLate(posted) ?? 'gone' }),
    );
    await bus.subscribe(subjects.sessionTaken(worker), ({ key }) => this.#records.verify(key));
    await bus.subscribe(subjects.sessionFind, ({ key }, reply) => {
      if (this.sessions.find(key) !== undefined) reply({ worker });
    });
    const answer = ({ key }: FindCommand, reply: (answer: HoldReply) => void): void =>
      reply({ isHeld: this.sessions.find(key) !== undefined });
    await bus.subscribe(subjects.sessionFindAt(worker), answer);
    // In one process no worker can be cut off from another.
    if (bus.isShared) this.#young = await answerWhileYoung({ bus, wheel, heart: this.#heart, answer });
  }

  /** Takes new sessions, and those of workers that are gone. */
  async #openInlets(): Promise<Subscription[]> {
    const { bus, worker } = this.#options;
    const adopt = (command: AdoptCommand, reply: (answer: AdoptReply) => void): Promise<void> =>
      this.#adoption.adopt(command).then(reply);
    const open = (command: OpenCommand, reply: (answer: OpenReply) => void): void => this.#opening.open(command, reply);
    return [
      await bus.subscribe(subjects.sessionAdopt(undefined), adopt, { queue: 'session' }),
      await bus.subscribe(subjects.sessionOpen(undefined), open, { queue: 'session' }),
      await bus.subscribe(subjects.sessionAdopt(worker), adopt),
      await bus.subscribe(subjects.sessionOpen(worker), open),
    ];
  }

  /** Takes no new sessions from now on. */
  async close(): Promise<void> {
    this.#opening.close();
    this.#balance.stop();
    await Promise.all(this.#inlets.map((inlet) => inlet.drain()));
    this.#records.stop();
  }

  /** Ends or hands over all sessions. @param limitMs for running requests. */
  stop(limitMs: number): Promise<void> {
    return this.sessions.stop(limitMs);
  }

  /** Gives no signs of life any more. */
  async leave(): Promise<void> {
    if (!this.#options.bus.isShared) return;
    await this.#commands?.drain();
    this.#young?.close();
    this.#heart.stop();
    this.peers.stop();
  }
}
