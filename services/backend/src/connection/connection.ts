/**
 * One connection to a server; requests are sent here. Its life cycle is in `life.ts`, requests that wait for answers are in `pending-requests.ts`, incoming
 * messages go through `inbound.ts`, failures through `failed-requests.ts`, questions of the server through `questions.ts`.
 *
 * Invariant C4: a request during the opening of a connection waits until it is open, unless the opening is certain to fail.
 */
import {
  fault,
  type ExchangeOutcome,
  type GatewayFault,
  type InputAnswer,
  type JsonObject,
  type JsonRpcId,
  type ServerIntroduction,
  type ServerTrouble,
  type SessionKey,
} from '@omnibus/protocol';
import type { RequestContext, ServerDialect } from '../dialect/dialect.ts';
import type { Acknowledgement, StandingListen } from '../dialect/modern/standing-listen.ts';
import type { TransportObserver } from '../transport/transport.ts';
import { askWithin } from './ask-within.ts';
import { Circuit } from './circuit.ts';
import { Complaints } from './complaints.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { FailedRequests } from './failed-requests.ts';
import { HeldNotifications } from './held-notifications.ts';
import { Inbound } from './inbound.ts';
import { ConnectionLife } from './life.ts';
import { gatewayReply, type PendingReply } from './pending-reply.ts';
import { PendingRequests, type PendingRequest } from './pending-requests.ts';
import { Questions } from './questions.ts';
import { Run } from './run.ts';
import { refusesRequestOnly } from './request-failure.ts';
import { doubtMs, SessionRenewal } from './session-renewal.ts';
import { Users, type User } from './users.ts';

/** Milliseconds that a server has to take a setting, such as a log level. */
export const settingMs = 5_000;
const plainRequest: RequestContext = { capabilities: {}, logLevel: undefined };

export class UpstreamConnection {
  readonly run: Run;
  readonly #options: ConnectionOptions;
  readonly #life: ConnectionLife;
  readonly #pending: PendingRequests;
  readonly #inbound: Inbound;
  readonly #failures: FailedRequests;
  readonly #questions: Questions;
  readonly #complaints: Complaints;
  readonly #circuit: Circuit;
  #listen: StandingListen | undefined;
  readonly #held = new HeldNotifications();
  readonly #users = new Users();
  readonly #renewal = new SessionRenewal();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { server, metrics, observer, log, capabilities, owner, isTakenInTurn } = options;
    this.run = new Run(options);
    this.#complaints = new Complaints({
      ...options,
      transport: () => this.#life.transport,
      isReady: () => this.isReady,
      stammered: (said) => observer.stammered?.(`${this.#life.problem}; ${said}`),
    });
    this.#questions = new Questions({
      server,
      capabilities,
      owner,
      log,
      repairs: options.repairs,
      isTakenInTurn,
      send: (message) => this.#life.transport?.send(message),
      inFlight: () => this.#pending.replies,
      user: () => this.#onlyUser,
      unnamed: () => observer.askedUnnamed(),
    });
    this.#pending = new PendingRequests(this.#questions, () => metrics.dropped('upstream_late'));
    this.#circuit = new Circuit({
      isAlive: () => this.#isAlive(),
      open: (cause, problem) => this.#life.suspend(cause, problem),
    });
    this.#failures = new FailedRequests({
      server,
      pending: this.#pending,
      circuit: this.#circuit,
      renewal: this.#renewal,
      isReady: () => this.isReady,
      transport: () => this.#life.transport,
      ping: () => this.ask('ping', {}, doubtMs),
      renew: () => this.#life.renew(),
      suspend: (problem) => this.#life.suspend('connection', problem),
      sendAgain: (id, pending) => this.#sendAgain(id, pending),
    });
    this.#inbound = new Inbound({
      server,
      metrics,
      observer,
      pending: this.#pending,
      questions: this.#questions,
      complaints: this.#complaints,
      circuit: this.#circuit,
      failed: (id, outcome, isDoubtful) => this.#failures.settle(id, outcome, isDoubtful),
      acknowledged: (params) => this.#listen?.acknowledged(params),
      owner: options.owner?.session,
      users: this.#users,
      isReady: () => this.isReady,
      keepsOrder: () => this.#life.transport?.keepsOrder === true,
    });
    this.#life = this.#createLife();
  }

  #createLife(): ConnectionLife {
    return new ConnectionLife(this.#options, {
      questions: this.#questions,
      observer: (isCurrent) => this.#observer(isCurrent),
      greet: (dialect, method, params, limitMs) => this.ask(method, params, limitMs, plainRequest, dialect),
      opening: () => this.#opening(),
      greeted: (introduction, dialect) =>
        this.#options.observer.greeted?.(introduction, (method, params) =>
          this.ask(method, params, settingMs, plainRequest, dialect),
        ),
      up: () => this.#up(),
      ready: (introduction) => this.#ready(introduction),
      lost: (problem, trouble, isResting, isDoubted) => this.#lost(problem, trouble, isResting, isDoubted),
      closed: () => this.#closed(),
      pending: this.#pending,
      said: () => this.#complaints.said,
    });
  }

  /** Whether a request can succeed: the connection is ready, or is being opened and has not failed so far. */
  get isOpen(): boolean {
    return this.#life.isOpen;
  }

  get isReady(): boolean {
    return this.#life.isReady;
  }

  /** The dialect in which the server is spoken to. */
  get dialect(): ServerDialect {
    return this.#life.dialect;
  }

  /** Whether the server may keep state for the connection; undefined before the first handshake. */
  get hasState(): boolean | undefined {
    return this.#life.hasState;
  }

  /** The session that has the connection alone. */
  get owner(): SessionKey | undefined {
    return this.#options.owner?.session;
  }

  /** The questions that the server has asked over the connection. */
  get asked(): Pick<Questions, 'wereAsked' | 'isOpen' | 'roots'> {
    return this.#questions;
  }

  /** The only session that can have caused messages of the server outside of requests. */
  get #onlyUser(): SessionKey | undefined {
    return this.owner ?? this.#users.session;
  }

  /** Sessions that may get the server's messages outside calls. */
  get listeners(): Iterable<SessionKey> {
    return this.#users.sessions;
  }

  /** The server may go on with a call of this client that is no longer in flight. */
  goesOn(user: User): void {
    this.#users.goesOn(user);
  }

  /** A session has ended. */
  forgetSession(session: SessionKey): void {
    this.#users.forgetSession(session);
  }

  get isAsleep(): boolean {
    return this.#life.isAsleep;
  }

  start(): void {
    this.#life.start();
  }

  /** Closes a healthy connection, unless a request or question is open on it. */
  doze(): void {
    if (this.isReady && this.#pending.endStanding()) this.#life.doze();
  }

  /** Opens it again; requests that come meanwhile wait (C4). */
  wake(): void {
    if (this.isAsleep) this.#life.wake();
  }

  async stop(): Promise<void> {
    this.#complaints.stop();
    this.#end('the gateway has closed the connection');
    await this.#life.stop();
  }

  /** Closes the connection and finds out again which era the server speaks. @param isAtOnce without a pause, since the credentials have changed. */
  reconnect(problem: string, isAtOnce = false): void {
    this.#options.era.forget();
    this.#life.reconnect(problem, isAtOnce);
  }

  /**
   * Sends a request.
   * @param greeting the dialect for a request that belongs to the handshake.
   * @returns its id, for `cancel`.
   */
  request(
    method: string,
    params: JsonObject,
    reply: PendingReply,
    context: RequestContext,
    greeting?: ServerDialect,
  ): number {
    const isHeld = !this.#life.isReady && greeting === undefined;
    if (isHeld) this.wake();
    const pending: PendingRequest = {
      method,
      params,
      context,
      reply,
      order: 0,
      dialect: greeting ?? this.#life.dialect,
      state: isHeld ? 'held' : 'sent',
    };
    if (reply.session !== this.#users.latest) this.#users.use(reply);
    const id = this.#pending.add(pending);
    if (this.#life.transport === undefined || !(this.#life.isOpen || greeting !== undefined))
      this.#pending.settle(id, {
        kind: 'fault',
        fault: this.#notAvailable('upstream.unavailable', this.#life.problem),
      });
    else if (!isHeld) this.#send(id, pending); // C4
    return id;
  }

  #send(id: number, pending: PendingRequest): void {
    const { transport, server } = this.#life;
    // Every call asks for progress, whatever its client wants, since progress shows that the server does not hang. The gateway's own requests do not need that.
    const progressToken = pending.reply.session === undefined ? undefined : id;
    if (transport !== undefined) pending.dialect.request(transport, id, pending, progressToken, server);
  }

  /** Sends a held request if it is still waited for. When that is known it may have ended, or the connection may be opened once more and hold it on. */
  #release(id: number, pending: PendingRequest): void {
    const { transport } = this.#life;
    pending.reply.resume(() => {
      if (this.#pending.find(id) === pending && pending.state === 'held' && this.#life.transport === transport)
        this.#sendAgain(id, pending); // C3
    });
  }

  /** Sends a held request in the dialect of the server's era, which is known by now. */
  #sendAgain(id: number, pending: PendingRequest): void {
    pending.state = 'resent';
    pending.dialect = this.#life.dialect;
    this.#send(id, pending);
  }

  /**
   * Cancels a request at the server; whatever the server still sends for it is dropped.
   * @param isTimeout the request ran out of time, which may mean that the server is not well.
   */
  cancel(id: number, reason: string, isTimeout = false): void {
    const pending = this.#pending.cancel(id);
    if (pending === undefined || pending.state === 'held') return;
    this.goesOn(pending.reply);
    if (isTimeout) this.#circuit.timedOut();
    const { transport } = this.#life;
    if (transport !== undefined) pending.dialect.cancel(transport, id, reason);
    transport?.abandon(id);
  }

  /** Sends a request of the gateway's own, by default within the time limit for connecting. @param greeting as for `request`. */
  ask(
    method: string,
    params: JsonObject,
    limitMs = this.#options.connectTimeoutMs,
    context = plainRequest,
    greeting?: ServerDialect,
  ): Promise<ExchangeOutcome> {
    const send = (settle: (outcome: ExchangeOutcome) => void): number =>
      this.request(method, params, { ...gatewayReply, settle }, context, greeting);
    return askWithin({ wheel: this.#options.wheel, limitMs, method, send, cancel: (id) => this.cancel(id, 'timeout') });
  }

  /** Answers a request of the server. */
  respond(id: JsonRpcId, answer: InputAnswer): void {
    this.#questions.respond(id, answer);
  }

  /**
   * Sends a notification that is in no revision, as soon as the connection is open.
   * @returns false when it cannot be sent.
   */
  say(method: string, params: JsonObject): boolean {
    if (!this.isReady) return this.isOpen && this.#held.add(method, params);
    if (this.dialect.hearsNotifications) this.notify(method, params);
    return this.dialect.hearsNotifications;
  }

  notify(method: string, params?: JsonObject): void {
    if (this.isReady)
      this.#life.transport?.send(
        params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params },
      );
  }

  /**
   * Subscribes to the gateway's set of resources at the server.
   * @returns what the server says to it; undefined for a server that is not told of all at once, but by one request for each.
   */
  watch(uris: readonly string[]): Promise<Acknowledgement> | undefined {
    return this.#listen?.watch(uris);
  }

  #observer(isCurrent: () => boolean): TransportObserver {
    return {
      message: this.#inbound.receive,
      takesAfterText: () => this.#inbound.isOfOneCaller,
      requestFailed: (id, failure) => this.#failures.failed(id, failure, isCurrent()),
      sessionGone: () => {
        if (isCurrent() && this.isReady && this.#renewal.take()) this.#life.renew();
      },
      missed: () => (isCurrent() && this.isReady ? this.#options.observer.missed() : undefined),
      lost: (problem, trouble) => (isCurrent() ? this.#life.lose('connection', problem, trouble) : undefined),
      dropped: this.#inbound.dropped,
    };
  }

  #opening(): void {
    this.run.begin();
    this.#complaints.opening();
    this.#users.forget();
    for (const [, { reply }] of this.#pending.all()) this.#users.use(reply);
    this.#listen?.stop();
    this.#listen = undefined;
  }

  #up(): void {
    this.#renewal.opened();
    this.#complaints.up();
    this.#circuit.isWell();
    for (const { method, params } of this.#held.take())
      if (this.dialect.hearsNotifications) this.#life.transport?.send({ jsonrpc: '2.0', method, params });
    for (const [id, pending] of this.#pending.all()) if (pending.state === 'held') this.#release(id, pending);
  }

  #ready(introduction: ServerIntroduction): void {
    const { wheel, observer } = this.#options;
    this.#listen = this.dialect.listen(
      {
        open: (params, settle) =>
          this.request('subscriptions/listen', params, { ...gatewayReply, settle }, plainRequest),
        close: (id) => this.cancel(id, 'replaced by another subscription'),
        isReady: () => this.isReady,
        missed: () => observer.missed(),
      },
      wheel,
      introduction,
    );
    this.#listen?.start();
    observer.ready(introduction);
  }

  #lost(problem: string, trouble: ServerTrouble | undefined, isResting: boolean, isDoubted: boolean): void {
    this.#held.take();
    this.#complaints.lost();
    if (isResting) this.#listen?.stop();
    else this.#end(problem);
    this.#options.observer.lost(problem, trouble, isResting, isDoubted);
  }

  #closed(): void {
    this.#questions.clear('the server has forgotten its session');
    this.run.end();
  }

  /** Ends all requests and questions. Questions come first, since none of them outlives its call here. */
  #end(problem: string): void {
    this.#questions.clear('the connection to the server is closed');
    this.#listen?.stop();
    for (const [id, { state }] of this.#pending.all())
      this.#pending.settle(id, {
        kind: 'fault',
        fault: this.#notAvailable(state === 'held' ? 'upstream.unavailable' : 'upstream.lost', problem),
      });
  }

  /** An error is an answer too. The outcome on a connection that was replaced meanwhile says nothing about this one. */
  async #isAlive(): Promise<boolean> {
    const { transport } = this.#life;
    const outcome = await this.ask(this.dialect.signOfLife, {});
    return outcome.kind !== 'fault' || refusesRequestOnly(outcome.fault) || this.#life.transport !== transport;
  }

  #notAvailable(reason: 'upstream.unavailable' | 'upstream.lost', problem: string): GatewayFault {
    const { server } = this.#options;
    return fault(reason, `server "${server}" is not available: ${problem}`, { server });
  }
}
