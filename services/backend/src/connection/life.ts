/** The life of one connection to a server. This is the shell around `machine.ts` that opens and closes transports and runs handshakes. */
import { backoffMs, startActor, type Deadline } from '@omnibus/lifecycle';
import type { ExchangeOutcome, JsonObject, ServerIntroduction, ServerTrouble } from '@omnibus/protocol';
import type { CircuitCause } from '@omnibus/telemetry';
import type { ActorRefFrom } from 'xstate';
import type { Greeting, KnownServer, ServerDialect } from '../dialect/dialect.ts';
import { assumedDialect, shakeHands } from '../dialect/handshake.ts';
import type { Transport, TransportObserver } from '../transport/transport.ts';
import { troubleIn } from '../transport/trouble.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { connectionMachine, type ConnectionContext, type ConnectionEvent } from './machine.ts';
import type { PendingRequests } from './pending-requests.ts';
import { subjectOf } from './request-failure.ts';

/** Actions of the connection at changes of its state. */
export interface LifePort {
  /** Receives messages of a transport. @param isCurrent whether the transport is still the open one. */
  observer(isCurrent: () => boolean): TransportObserver;
  /** Sends a request of the handshake. */
  greet(dialect: ServerDialect, method: string, params: JsonObject, limitMs: number): Promise<ExchangeOutcome>;
  readonly questions: Greeting['questions'];
  /** A transport is being opened. */
  opening(): void;
  /** The handshake has succeeded, and waiting requests are not sent yet. @returns a promise that they must wait for. */
  greeted(introduction: ServerIntroduction, dialect: ServerDialect): Promise<unknown> | undefined;
  /** The handshake has succeeded: held requests are sent. */
  up(): void;
  /** The handshake has succeeded, and the machine's state already says so. */
  ready(introduction: ServerIntroduction): void;
  /**
   * @param isResting whether the transport stays for answers to running calls.
   * @param isDoubted whether the server could be connected to and only failed requests: the next handshake shows whether it is down.
   */
  lost(problem: string, trouble: ServerTrouble | undefined, isResting: boolean, isDoubted: boolean): void;
  closed(): void;
  /** Invalid messages since the connection began to open. */
  said(): string | undefined;
  readonly pending: Pick<PendingRequests, 'hasHeld' | 'hasSentCalls'>;
}

const retiredTransportMs = 30_000;
/** The machine's states for operators. */
const shownStates = {
  idle: 'idle',
  connecting: 'connecting',
  negotiating: 'connecting',
  ready: 'ready',
  resting: 'backoff',
  backoff: 'backoff',
  asleep: 'asleep',
  stopped: 'stopped',
} as const;

export class ConnectionLife {
  readonly #options: ConnectionOptions;
  readonly #port: LifePort;
  readonly #actor: ActorRefFrom<typeof connectionMachine>;
  /** The transport that was opened last, until it is closed. */
  #opened: Transport | undefined;
  /** What messages are sent over: the opened transport, or the one that it has found (`Transport.found`). */
  transport: Transport | undefined;
  isReady = false;
  /** Whether a request can succeed: the connection is ready, or is being opened and has not failed so far. */
  isOpen = false;
  /** Resolves when the previous transport is closed, which an exclusive transport waits for. */
  #closing: Promise<void>;
  /** When the server is to be tried again; set while the machine is in `backoff` or `resting`. */
  #retry: Deadline | undefined;
  /** When earlier failures no longer count because the connection has been ready for long; set while the machine is in `ready`. */
  #settling: Deadline | undefined;
  server: KnownServer;
  /** The dialect in which the server is spoken to: that of its era; until the first handshake, the assumed one. */
  dialect: ServerDialect = assumedDialect;
  /** Whether the server could tell this connection from others at the last handshake (`Transport.hasState`); undefined before the first. */
  hasState: boolean | undefined;
  /** The problem that the log has a warning of, since the connection was last ready: an attempt that fails in the same way adds none. */
  #warned: string | undefined;

  constructor(options: ConnectionOptions, port: LifePort) {
    this.#options = options;
    this.#port = port;
    this.#closing = options.after ?? Promise.resolve();
    this.server = { introduction: undefined, toolSchema: options.toolSchema };
    this.#actor = startActor(
      connectionMachine.provide({
        actions: {
          openTransport: () => this.#openTransport(),
          shakeHands: () => this.#shakeHands(),
          announceReady: ({ context, event }) => {
            this.#warned = undefined;
            this.#announceReady(context.wasReady, event);
          },
          announceLost: ({ context, event }) => this.#announceLost(context, event),
          closeTransport: () => this.#closeTransport(),
          scheduleRetry: ({ context }) => this.#scheduleRetry(context),
          cancelRetry: () => this.#retry?.cancel(),
          scheduleSettling: () => this.#scheduleSettling(),
          cancelSettling: () => this.#settling?.cancel(),
        },
      }),
      { onFailure: (error) => options.log.error({ err: error }, 'the connection actor failed') },
    );
    this.#actor.subscribe(({ value, context: { problem, trouble } }) => {
      this.isReady = value === 'ready';
      this.isOpen = this.isReady || ((value === 'connecting' || value === 'negotiating') && problem === '');
      if (!options.isBase) return;
      const isWaiting = !this.isReady && value !== 'asleep' && value !== 'stopped' && this.#isWaitingForUser(trouble);
      options.metrics.upstream.state(options.server, isWaiting ? 'sign_in' : shownStates[value]);
    });
  }

  /** The reason why it is not ready, in words; while it is opened again, why it was lost or could not be opened before. */
  get problem(): string {
    const { problem } = this.#actor.getSnapshot().context;
    return problem === '' ? 'it is still connecting' : problem;
  }

  /** Whether the connection is closed on purpose until a request wakes it. */
  get isAsleep(): boolean {
    return this.#actor.getSnapshot().value === 'asleep';
  }

  start(): void {
    this.#actor.send({ type: 'start' });
  }

  /** Closes a healthy connection. */
  doze(): void {
    this.#actor.send({ type: 'doze' });
  }

  wake(): void {
    this.#actor.send({ type: 'wake' });
  }

  async stop(): Promise<void> {
    this.#actor.send({ type: 'stop' });
    await this.#closing;
  }

  /** The server has forgotten our session: a new one is opened. */
  renew(): void {
    this.#actor.send({ type: 'session.gone' });
  }

  /** The connection is of no use any more. */
  lose(cause: CircuitCause, problem: string, trouble?: ServerTrouble): void {
    const { value } = this.#actor.getSnapshot();
    if (
      value !== 'ready' &&
      (cause !== 'connection' || (value !== 'connecting' && value !== 'negotiating' && value !== 'resting'))
    )
      return;
    const said = this.#port.said();
    this.#actor.send({ type: 'lost', cause, problem: said === undefined ? problem : `${problem}; ${said}`, trouble });
  }

  /** Opens the circuit of a server with failing requests. The connection closes, unless it carries other running calls. */
  suspend(cause: CircuitCause, problem: string): void {
    if (this.isReady && this.#port.pending.hasSentCalls && cause !== 'silence')
      this.#actor.send({ type: 'rest', cause, problem });
    else this.lose(cause, problem);
  }

  /** Closes the connection and runs a handshake again. @param isAtOnce without the pause that follows a failure. */
  reconnect(problem: string, isAtOnce: boolean): void {
    const { value } = this.#actor.getSnapshot();
    if (value === 'ready' || value === 'resting')
      this.#actor.send({ type: 'lost', cause: isAtOnce ? 'connection' : 'faults', problem });
    if (!isAtOnce || this.#actor.getSnapshot().value !== 'backoff') return;
    this.#retry?.cancel();
    this.#actor.send({ type: 'credentials.changed' });
  }

  #openTransport(): void {
    const isCurrent = (): boolean => this.#opened === transport;
    const transport = this.#options.createTransport(this.#port.observer(isCurrent));
    this.#opened = transport;
    this.transport = transport;
    this.#port.opening();
    const wait = this.#options.isExclusive ? this.#closing : Promise.resolve();
    wait
      .then(() => this.#options.reachable?.(isCurrent))
      .then(() => (isCurrent() ? transport.open() : undefined))
      .then(
        () => {
          if (isCurrent()) this.#actor.send({ type: 'transport.opened' });
        },
        (error: unknown) => {
          if (isCurrent())
            this.lose('connection', error instanceof Error ? error.message : String(error), troubleIn(error));
        },
      );
  }

  #shakeHands(): void {
    const transport = this.#opened;
    if (transport === undefined) return;
    const isCurrent = (): boolean => this.#opened === transport;
    const { era, server, capabilities, connectTimeoutMs, wheel, metrics, log, toolSchema, repairs } = this.#options;
    const { questions } = this.#port;
    this.dialect = assumedDialect;
    void shakeHands({
      era,
      repairs,
      capabilities,
      connectTimeoutMs,
      transport,
      isCurrent,
      ask: (dialect, method, params, limitMs) => this.#port.greet(dialect, method, params, limitMs),
      plain: (message) => message.replace(subjectOf(server), ''),
    })
      .then((met) => {
        if (!isCurrent()) return undefined;
        if ('problem' in met) {
          this.lose('connection', met.problem, met.trouble);
          return undefined;
        }
        const { introduction, dialect } = met;
        this.server = { introduction, toolSchema };
        this.dialect = dialect;
        transport.agreed(introduction.revision);
        this.transport = transport.found ?? transport;
        const greeted = dialect.greet({
          transport,
          capabilities,
          isCurrent,
          wheel,
          questions,
          limitMs: connectTimeoutMs,
          ping: () => this.#port.greet(dialect, 'ping', {}, connectTimeoutMs),
        });
        return greeted.then(() => (isCurrent() ? this.#port.greeted(introduction, dialect) : undefined));
      })
      .then(
        () => {
          if (isCurrent()) this.#actor.send({ type: 'handshake.done' });
        },
        (error: unknown) => {
          metrics.faulted('transport');
          log.error({ err: error }, 'meeting the server failed');
          if (isCurrent()) this.lose('connection', 'the gateway failed while it met the server');
        },
      );
  }

  #announceReady(wasReady: boolean, { type }: ConnectionEvent): void {
    const { isBase, metrics, server, diary } = this.#options;
    const hasRested = type === 'rested';
    if (isBase) diary?.note(hasRested ? 'in use again' : 'connected');
    if (wasReady && isBase && !hasRested) metrics.upstream.restarted(server);
    this.hasState = this.transport?.hasState;
    this.#port.up();
    // Effects run before the machine's new state can be read, and listeners may send requests at once.
    queueMicrotask(() => {
      if (this.isReady) this.#port.ready(this.server.introduction as ServerIntroduction);
    });
  }

  #scheduleSettling(): void {
    const { wheel, backoff } = this.#options;
    this.#settling = wheel.schedule(backoff.maxMs, () => this.#actor.send({ type: 'settled' }));
  }

  #announceLost({ isUp, problem, trouble }: ConnectionContext, event: ConnectionEvent): void {
    const { metrics, server } = this.#options;
    if (event.type === 'lost' || event.type === 'rest')
      metrics.upstream.circuitOpened(server, isUp ? event.cause : 'attempt');
    const isDoubted = (event.type === 'lost' || event.type === 'rest') && event.cause !== 'connection';
    this.#port.lost(problem, trouble, event.type === 'rest', isDoubted);
  }

  #closeTransport(): void {
    const transport = this.#opened;
    this.#port.closed();
    this.#opened = undefined;
    this.transport = undefined;
    if (transport === undefined) return;
    const close = (): Promise<void> =>
      transport.close().catch((error: unknown) => {
        this.#options.log.debug({ err: error }, 'closing the transport failed');
      });
    // Requests that were sent at the same moment as the one that met the 404 are about to meet it too.
    if (this.#port.pending.hasHeld && !this.#options.isExclusive)
      this.#options.wheel.schedule(retiredTransportMs, () => void close());
    else this.#closing = close();
  }

  /** A server that answers no caller without a sign-in is tried again and again, and is not down. */
  #isWaitingForUser(trouble: ServerTrouble | undefined): boolean {
    return trouble === 'credentials' && this.#options.wantsSignIn?.() === true;
  }

  #scheduleRetry({ failures, problem, trouble }: ConnectionContext): void {
    const delayMs = backoffMs(failures, this.#options.backoff, Math.random());
    const { log } = this.#options;
    if (!this.#isWaitingForUser(trouble)) {
      log[problem === this.#warned ? 'debug' : 'warn']({ problem, retryInMs: delayMs }, 'server is not available');
      this.#warned = problem;
    } else
      log[failures === 1 ? 'info' : 'debug'](
        { problem, retryInMs: delayMs },
        'the server answers no caller without a sign-in, and the gateway waits for a user who signs in',
      );
    if (this.#options.isBase) this.#options.diary?.note(`not available: ${problem}`);
    this.#retry = this.#options.wheel.schedule(delayMs, () => {
      const isStillWorking = this.#actor.getSnapshot().value === 'resting' && this.#port.pending.hasSentCalls;
      this.#actor.send({ type: isStillWorking ? 'rested' : 'retry.due' });
    });
  }
}
