/**
 * One upstream connection: the shell around `connection/machine.ts` that opens transports, shakes hands and keeps the ids.
 *
 * Invariants
 *  C1  Request ids are never reused within the life of the connection object, so a late answer meets nobody.
 *  C2  Every request settles exactly once: result, error, fault, or nothing after `cancel`.
 *  C3  A request is sent a second time only when a 404 on our session proves that the first was not executed. Other signs of a lost
 *      session end the call that met them, and a new one is opened for the next (`connection/session-renewal.ts`).
 *  C4  A request that comes while a connection is being opened, and nothing says that it will fail, is held until it is open.
 */
import { SlotTable } from '@omnibus/collections';
import { backoffMs, startActor, type Deadline } from '@omnibus/lifecycle';
import {
  classify, fault, isCustomMethod, printable, isCustomNotification, isObject, type Classified, type ExchangeOutcome, type GatewayFault, type InputAnswer, type JsonObject, type JsonRpcErrorObject, type JsonRpcId, type SessionKey,
} from '@omnibus/protocol';
import type { CircuitCause } from '@omnibus/telemetry';
import type { ActorRefFrom } from 'xstate';
import type { ServerIntroduction } from '../dialect/legacy/handshake.ts';
import { callParams, cancelledParams, readProgress } from '../dialect/legacy/messages.ts';
import { modernHeaders, modernParams, type RequestContext } from '../dialect/modern/messages.ts';
import { Circuit, isAboutRequest } from './circuit.ts';
import { describeFailure, subjectOf } from './request-failure.ts';
import { Complaints } from './complaints.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { connectionMachine, type ConnectionContext } from './machine.ts';
import { HeldNotifications } from './held-notifications.ts';
import { letLookAround, meet, sayInitialized } from '../dialect/handshake.ts';
import { Questions } from './questions.ts';
import { Run } from './run.ts';
import { doubtMs, SessionRenewal } from './session-renewal.ts';
import { SoleUser } from './sole-user.ts';
import { StandingListen } from '../dialect/modern/standing-listen.ts';
import { saysSessionGone } from '../transport/server-words.ts';
import { gatewayReply, type PendingReply } from './pending-reply.ts';
import type { RequestFailure, Transport, TransportObserver } from '../transport/transport.ts';

const plainRequest: RequestContext = { capabilities: {}, logLevel: undefined };
/** Of a request that belongs to the meeting: sent before the connection is ready. */
const greeting: RequestContext = { ...plainRequest };

interface PendingRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly options: RequestContext;
  readonly waiter: PendingReply;
  /** Grows with each request of the connection; ids do not, since their slots are used again. */
  readonly order: number;
  /** `held`: not with the server now, to be sent when the connection is ready. */
  state: 'sent' | 'held' | 'resent';
}

const retiredTransportMs = 30_000;

export class UpstreamConnection {
  readonly run: Run;
  readonly #options: ConnectionOptions;
  readonly #actor: ActorRefFrom<typeof connectionMachine>;
  /** By request id. */
  readonly #pending = new SlotTable<PendingRequest>(); // C1
  readonly #questions: Questions;
  readonly #complaints: Complaints;
  #transport: Transport | undefined;
  /** Closing of the previous transport, which an exclusive one waits for. */
  #closing: Promise<void>;
  #retry: Deadline | undefined;
  #introduction: ServerIntroduction | undefined;
  readonly #circuit: Circuit;
  #wasReady = false;
  /** It has been ready since it was last lost. */
  #isUp = false;
  /** Runs out when it has been ready for so long that what was before does not count any more. */
  #settling: Deadline | undefined;
  /** Set from the handshake on: requests carry their context. */
  #isModern = false;
  #listen: StandingListen | undefined;
  #requests = 0;
  readonly #held = new HeldNotifications();
  /** Since the transport was opened. */
  readonly #user = new SoleUser();
  readonly #renewal = new SessionRenewal();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.run = new Run(options);
    this.#closing = options.after ?? Promise.resolve();
    this.#complaints = new Complaints({ ...options, transport: () => this.#transport });
    this.#questions = new Questions({
      server: options.server,
      capabilities: options.capabilities,
      owner: options.owner,
      log: options.log,
      send: (message) => this.#transport?.send(message),
      inFlight: () => this.#pending.toArray().map(([, pending]) => pending).sort((one, other) => one.order - other.order).map(({ waiter }) => waiter),
      user: () => this.#onlyUser,
      isTakenInTurn: options.isTakenInTurn,
      unnamed: () => options.observer.askedUnnamed(),
    });
    this.#circuit = new Circuit({ isAlive: () => this.#isAlive(), open: (cause, problem) => this.#lose(cause, problem) });
    this.#actor = startActor(connectionMachine.provide({
      actions: {
        openTransport: () => this.#openTransport(),
        shakeHands: () => this.#shakeHands(),
        announceReady: () => this.#announceReady(),
        announceLost: ({ context }) => this.#announceLost(context.problem),
        closeTransport: () => this.#closeTransport(),
        scheduleRetry: ({ context }) => this.#scheduleRetry(context),
      },
    }), { onFailure: (error) => options.log.error({ err: error }, 'the connection actor failed') });
    if (options.isBase) this.#actor.subscribe(({ value }) => options.metrics.upstreamState(options.server, value === 'negotiating' ? 'connecting' : value));
  }

  /** Whether a request has a chance: the connection is ready, or being opened without a failure so far. */
  get isOpen(): boolean {
    const { value, context } = this.#actor.getSnapshot();
    return value === 'ready' || ((value === 'connecting' || value === 'negotiating') && context.problem === '');
  }

  get isReady(): boolean {
    return this.#actor.getSnapshot().value === 'ready';
  }

  /** The server is of 2026-07-28: it has no sessions, and one connection serves everybody. */
  get isModern(): boolean {
    return this.#isModern;
  }

  /** What the server is told its client can do, as JSON. */
  get declared(): string {
    return JSON.stringify(this.#options.capabilities);
  }

  /** The session whose alone it is. */
  get owner(): SessionKey | undefined {
    return this.#options.owner?.session;
  }

  /** What the server has asked over it, of whoever used it then. */
  get asked(): Pick<Questions, 'wereAsked' | 'isOpen' | 'roots'> {
    return this.#questions;
  }

  /** The session that alone can have caused what the server says of no request. */
  get #onlyUser(): SessionKey | undefined {
    return this.owner ?? this.#user.session;
  }

  /** Tells a server of 2026-07-28 which resources we want to hear of. Resolves with those it took. */
  watch(uris: readonly string[]): Promise<readonly unknown[]> {
    return this.#listen?.watch(uris) ?? Promise.resolve([]);
  }

  /** Ends the connection, and finds out anew of which era the server is. */
  meetAgain(problem: string): void {
    this.#options.era.forget();
    if (this.isReady) this.#lose('faults', problem);
  }

  /** Why it is not ready, in words. */
  get problem(): string {
    const { value, context } = this.#actor.getSnapshot();
    return context.problem === '' || value === 'connecting' || value === 'negotiating' ? 'it is still connecting' : context.problem;
  }

  start(): void {
    this.#actor.send({ type: 'start' });
  }

  async stop(): Promise<void> {
    this.#retry?.cancel();
    this.#settling?.cancel();
    this.#complaints.stop();
    this.#settleAll('the gateway has closed the connection');
    this.#actor.send({ type: 'stop' });
    await this.#closing;
  }

  /**
   * Sends a request.
   * @returns its id, for `cancel`.
   */
  request(method: string, params: JsonObject, waiter: PendingReply, options: RequestContext): number {
    const isHandshake = method === 'initialize' || method === 'server/discover' || options === greeting;
    const isHeld = !this.isReady && !isHandshake;
    this.#requests += 1;
    const pending: PendingRequest = { method, params, options, waiter, order: this.#requests, state: isHeld ? 'held' : 'sent' };
    this.#user.use(waiter.session);
    const id = this.#pending.add(pending);
    if (this.#transport === undefined || !(this.isOpen || isHandshake)) this.#settle(id, { kind: 'fault', fault: this.#unavailable() });
    else if (!isHeld) this.#send(id, pending); // C4
    return id;
  }

  /** In the words of the server's era, which is known by the time a request is sent. */
  #send(id: number, { method, params, options, waiter }: PendingRequest): void {
    // Whoever made the call, its server's progress says that it does not hang. For requests of the gateway's own there is no need.
    const progressToken = waiter.session === undefined ? undefined : id;
    if (!this.#isModern && method !== 'server/discover') {
      this.#transport?.request({ jsonrpc: '2.0', id, method, params: callParams(params, progressToken) });
      return;
    }
    const schema = method === 'tools/call' ? this.#options.toolSchema(String(params['name'])) : undefined;
    this.#transport?.request({ jsonrpc: '2.0', id, method, params: modernParams(params, options, progressToken, this.#introduction) }, modernHeaders(method, params, schema));
  }

  /**
   * Tells the server to stop; whatever it still says about the request is dropped (2025-11-25 basic/utilities/cancellation).
   * @param isTimeout its time was over, which is a sign that the server may not be well.
   */
  cancel(id: number, reason: string, isTimeout = false): void {
    const pending = this.#pending.take(id); // C2
    if (pending === undefined) return;
    if (isTimeout && pending.state !== 'held') this.#circuit.timedOut();
    this.#questions.leave(pending.waiter);
    if (pending.state === 'held') return;
    if (!(this.#isModern && this.#transport?.closesToCancel === true)) this.#transport?.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: cancelledParams(id, reason) });
    this.#transport?.abandon(id);
  }

  /** A request of the gateway's own, within the time a connection may take. */
  ask(method: string, params: JsonObject, limitMs = this.#options.connectTimeoutMs, options = plainRequest): Promise<ExchangeOutcome> {
    return new Promise((resolve) => {
      const settle = (outcome: ExchangeOutcome): void => {
        deadline.cancel();
        resolve(outcome);
      };
      const deadline = this.#options.wheel.schedule(limitMs, () => {
        this.cancel(id, 'timeout');
        resolve({ kind: 'fault', fault: fault('upstream.timeout', `${method} was not answered within ${limitMs} ms`) });
      });
      const id = this.request(method, params, { ...gatewayReply, settle }, options);
    });
  }

  #openTransport(): void {
    const observer: TransportObserver = {
      message: (value, origin) => this.#receive(value, origin),
      requestFailed: (id, failure) => this.#requestFailed(id, failure, this.#transport === transport),
      sessionGone: () => {
        if (this.#transport === transport && this.isReady && this.#renewal.take()) this.#actor.send({ type: 'session.gone' });
      },
      missed: () => (this.#transport === transport && this.isReady ? this.#options.observer.missed() : undefined),
      lost: (problem) => (this.#transport === transport ? this.#lose('connection', problem) : undefined),
      dropped: (kind, problem, question) => this.#complaints.note(kind, problem, question),
    };
    const transport = this.#options.createTransport(observer);
    this.#transport = transport;
    this.run.begin();
    this.#user.forget();
    for (const [, { waiter }] of this.#pending.toArray()) this.#user.use(waiter.session);
    const isCurrent = (): boolean => this.#transport === transport;
    const wait = this.#options.isExclusive ? this.#closing : Promise.resolve();
    wait.then(() => (isCurrent() ? transport.open() : undefined)).then(
      () => {
        if (isCurrent()) this.#actor.send({ type: 'transport.opened' });
      },
      (error: unknown) => {
        if (isCurrent()) this.#lose('connection', error instanceof Error ? error.message : String(error));
      },
    );
  }

  #shakeHands(): void {
    const transport = this.#transport;
    if (transport === undefined) return;
    const isCurrent = (): boolean => this.#transport === transport;
    const { era, capabilities, connectTimeoutMs, wheel } = this.#options;
    this.#isModern = false;
    void meet({
      era, capabilities, connectTimeoutMs, transport, isCurrent,
      ask: (method, params, limitMs) => this.ask(method, params, limitMs),
      plain: (message) => message.replace(subjectOf(this.#options.server), ''),
    }).then((meeting) => {
      if (!isCurrent()) return undefined;
      if ('problem' in meeting) {
        this.#lose('connection', meeting.problem);
        return undefined;
      }
      this.#introduction = meeting.introduction;
      this.#isModern = meeting.isModern;
      transport.agreed(meeting.introduction.revision);
      return this.#isModern ? undefined : sayInitialized(transport, wheel, connectTimeoutMs);
    }).then(() => {
      if (!isCurrent() || this.#introduction === undefined) return undefined;
      transport.initialized();
      if (this.#isModern || !('roots' in capabilities)) return undefined;
      return letLookAround({ ping: () => this.ask('ping', {}, connectTimeoutMs, greeting), questions: this.#questions, wheel, limitMs: connectTimeoutMs });
    }).then(
      () => {
        if (isCurrent()) this.#actor.send({ type: 'handshake.done' });
      },
      (error: unknown) => {
        this.#options.metrics.faulted('transport');
        this.#options.log.error({ err: error }, 'meeting the server failed');
        if (isCurrent()) this.#lose('connection', 'the gateway failed while it met the server');
      },
    );
  }

  #announceReady(): void {
    if (this.#wasReady && this.#options.isBase) this.#options.metrics.upstreamRestarted(this.#options.server);
    this.#wasReady = true;
    this.#isUp = true;
    this.#renewal.opened();
    this.#circuit.isWell();
    this.#settling?.cancel();
    this.#settling = this.#options.wheel.schedule(this.#options.backoff.maxMs, () => this.#actor.send({ type: 'settled' }));
    for (const { method, params } of this.#held.take()) if (!this.#isModern) this.#transport?.send({ jsonrpc: '2.0', method, params });
    for (const [id, pending] of this.#pending.toArray()) {
      if (pending.state !== 'held') continue;
      pending.state = 'resent'; // C3
      this.#send(id, pending);
    }
    // Effects run before the machine's new state can be read, and those who hear this will send requests.
    queueMicrotask(() => {
      if (!this.isReady) return;
      this.#listenAnew();
      this.#options.observer.ready(this.#introduction as ServerIntroduction);
    });
  }

  #listenAnew(): void {
    this.#listen?.stop();
    this.#listen = undefined;
    if (!this.#isModern || !this.#options.isBase) return;
    this.#listen = new StandingListen({
      open: (params, settled) => this.request('subscriptions/listen', params, { ...gatewayReply, settle: settled }, plainRequest),
      close: (id) => this.cancel(id, 'replaced by another subscription'),
      isReady: () => this.isReady,
      missed: () => this.#options.observer.missed(),
    }, this.#options.wheel, (this.#introduction as ServerIntroduction).capabilities);
    this.#listen.start();
  }

  /** Takes the server out of use. */
  #lose(cause: CircuitCause, problem: string): void {
    const { value } = this.#actor.getSnapshot();
    if (value !== 'ready' && (cause !== 'connection' || (value !== 'connecting' && value !== 'negotiating'))) return;
    const isAttempt = !this.#isUp;
    this.#isUp = false;
    this.#actor.send({ type: 'lost', problem });
    this.#options.metrics.circuitOpened(this.#options.server, isAttempt ? 'attempt' : cause);
  }

  async #isAlive(): Promise<boolean> {
    const transport = this.#transport;
    const { kind } = await this.ask(this.#isModern ? 'server/discover' : 'ping', {});
    // An error is an answer; and what became of another connection says nothing of this one.
    return kind !== 'fault' || this.#transport !== transport;
  }

  #announceLost(problem: string): void {
    this.#settling?.cancel();
    this.#held.take();
    this.#settleAll(problem);
    this.#options.observer.lost(problem);
  }

  #settleAll(problem: string): void {
    for (const [id, { state }] of this.#pending.toArray()) {
      const reason = state === 'held' ? 'upstream.unavailable' : 'upstream.lost';
      this.#settle(id, { kind: 'fault', fault: fault(reason, `server "${this.#options.server}" is not available: ${problem}`, { server: this.#options.server }) });
    }
  }

  #closeTransport(): void {
    const transport = this.#transport;
    this.#questions.clear();
    this.run.end();
    this.#transport = undefined;
    if (transport === undefined) return;
    const close = (): Promise<void> => transport.close().catch((error: unknown) => {
      this.#options.log.debug({ err: error }, 'closing the transport failed');
    });
    const isReconnecting = this.#pending.toArray().some(([, { state }]) => state === 'held');
    // Requests sent in the same breath as the one that met the 404 are about to meet it too.
    if (isReconnecting && !this.#options.isExclusive) this.#options.wheel.schedule(retiredTransportMs, () => void close());
    else this.#closing = close();
  }

  #scheduleRetry({ failures, problem }: ConnectionContext): void {
    const delayMs = backoffMs(failures, this.#options.backoff, Math.random());
    this.#options.log.warn({ problem, retryInMs: delayMs }, 'server is not available; trying again');
    this.#retry = this.#options.wheel.schedule(delayMs, () => this.#actor.send({ type: 'retry.due' }));
  }

  #receive(value: unknown, origin: JsonRpcId | undefined): void {
    if (Array.isArray(value)) for (const item of value) this.#receiveOne(item, origin);
    else this.#receiveOne(value, origin);
  }

  #receiveOne(value: unknown, origin: JsonRpcId | undefined): void {
    const classified = classify(value);
    switch (classified.kind) {
      case 'response': {
        const { id, result, error } = classified.message;
        if (id === undefined) return;
        this.#circuit.isWell();
        if (result !== undefined) this.#settle(id, { kind: 'result', result });
        else this.#settleDoubtfully(id, { kind: 'error', error: error as JsonRpcErrorObject }, saysSessionGone((error as JsonRpcErrorObject).message));
        return;
      }
      case 'notification':
        this.#hearNotification(classified.message.method, classified.message.params, origin);
        return;
      case 'request':
        this.#questions.hear(classified.message, origin === undefined ? undefined : (this.#find(origin)?.waiter ?? null));
        return;
      case 'invalid':
        this.#receiveInvalid(classified);
    }
  }

  /** A sound id on an unsound message still tells whose answer it was meant to be. */
  #receiveInvalid({ id, problem, meant }: Extract<Classified, { kind: 'invalid' }>): void {
    const isQuestion = meant === 'question' || (meant === 'either' && (id === undefined || this.#find(id) === undefined));
    this.#complaints.note('invalid', problem, isQuestion ? { id, reason: 'message.invalid' } : undefined);
    if (!isQuestion && id !== undefined) this.#settle(id, { kind: 'fault', fault: fault('upstream.invalid', `server "${this.#options.server}" sent an invalid answer: ${problem}`, { server: this.#options.server }) });
  }

  #hearNotification(method: string, params: JsonObject | undefined, origin: JsonRpcId | undefined): void {
    switch (method) {
      case 'notifications/progress': {
        const progress = readProgress(params);
        const pending = typeof progress?.token === 'number' ? this.#pending.get(progress.token) : undefined;
        if (pending === undefined && progress !== undefined && this.#options.observer.strayProgress(progress)) return;
        if (progress === undefined || pending === undefined) this.#options.metrics.dropped('upstream_late');
        else pending.waiter.progress(progress);
        return;
      }
      case 'notifications/message': {
        const caller = this.#callerOf(origin);
        if (caller !== undefined && isObject(params)) caller.waiter.log(params);
        else this.#options.observer.notification(method, params, this.#onlyUser);
        return;
      }
      case 'notifications/cancelled': {
        const id = params?.['requestId'] as JsonRpcId;
        const reason = params?.['reason'];
        this.#questions.withdraw(id, typeof reason === 'string' ? reason : 'the server withdrew its request');
        return;
      }
      case 'notifications/subscriptions/acknowledged':
        this.#listen?.acknowledged(params);
        return;
      default: {
        const caller = isCustomNotification(method) ? this.#callerOf(origin) : undefined;
        // The gateway's own requests have nobody to tell.
        if (caller?.waiter.session !== undefined) caller.waiter.notification(method, params);
        else this.#options.observer.notification(method, params, this.#onlyUser);
      }
    }
  }

  /** The request a message belongs to: the one whose stream carried it, else the only one in flight of the only session there is, else none. */
  #callerOf(origin: JsonRpcId | undefined): PendingRequest | undefined {
    if (origin !== undefined) return this.#find(origin);
    const user = this.#onlyUser;
    if (user === undefined) return undefined;
    const candidates = this.#pending.toArray().filter(([, { waiter }]) => waiter.session === user);
    return candidates.length === 1 ? candidates[0]?.[1] : undefined;
  }

  /** Our ids are numbers; a server that answers to anything else answers to nobody. */
  #find(id: JsonRpcId): PendingRequest | undefined {
    return typeof id === 'number' ? this.#pending.get(id) : undefined;
  }

  /** Answers a request of the server. */
  respond(id: JsonRpcId, answer: InputAnswer): void {
    this.#questions.respond(id, answer);
  }

  /**
   * Says something that no revision knows, as soon as the connection is open. A server of 2026-07-28 hears nothing outside of requests
   * (2026-07-28 basic/transports).
   * @returns false when it cannot be said.
   */
  say(method: string, params: JsonObject): boolean {
    if (!this.isReady) return this.isOpen && this.#held.add(method, params);
    if (!this.#isModern) this.notify(method, params);
    return !this.#isModern;
  }

  notify(method: string, params?: JsonObject): void {
    if (this.isReady) this.#transport?.send(params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params });
  }

  /** @param isCurrent false when the failure comes from a transport that was replaced meanwhile. */
  #requestFailed(id: JsonRpcId, failure: RequestFailure, isCurrent: boolean): void {
    const pending = this.#find(id);
    if (pending === undefined) return;
    if (failure.kind === 'session-gone' && pending.state === 'sent' && pending.method !== 'initialize' && !this.#isModern && (!isCurrent || !this.isReady || this.#renewal.take())) {
      this.#holdForNewSession(id as number, pending, isCurrent);
      return;
    }
    if (failure.kind === 'refused' && failure.error !== undefined && (this.#isModern || pending.method === 'server/discover')) {
      this.#circuit.isWell();
      this.#settle(id, { kind: 'error', error: failure.error });
      return;
    }
    // A server's own error passes whole, whatever HTTP status it came with; what that says of the server is another matter.
    const error = failure.kind === 'refused' ? (failure.isAnswer === true ? failure.error : this.#unknownMethod(pending.method, failure.httpStatus)) : undefined;
    const outcome: ExchangeOutcome = error === undefined ? { kind: 'fault', fault: describeFailure(failure, this.#options.server) } : { kind: 'error', error };
    this.#settleDoubtfully(id, outcome, isCurrent && failure.kind === 'refused' && failure.doubtsSession === true);
    if (!this.isReady) return;
    if (failure.kind === 'not-sent') this.#lose('connection', failure.problem);
    else if (failure.kind === 'refused' && isAboutRequest(failure.httpStatus)) this.#circuit.isWell();
    else this.#circuit.failed(failure.problem);
  }

  /** Some servers refuse a method that no revision knows with a status and a page. */
  #unknownMethod(method: string, httpStatus: number): JsonRpcErrorObject | undefined {
    if (!isCustomMethod(method) || !isAboutRequest(httpStatus)) return undefined;
    return { code: -32_601, message: `server "${this.#options.server}" does not take the method ${JSON.stringify(printable(method, 200))} (HTTP ${httpStatus})` };
  }

  /** Answers a request whose failure may mean that our session is lost; by then a new one is being opened, so that the next call finds it. */
  #settleDoubtfully(id: JsonRpcId, outcome: ExchangeOutcome, isDoubtful: boolean): void {
    const [transport, pending] = [this.#transport, this.#find(id)];
    if (!isDoubtful || pending === undefined || pending.method === 'ping' || this.#isModern || !this.isReady) {
      this.#settle(id, outcome);
      return;
    }
    void this.#renewal.check(() => this.ask('ping', {}, doubtMs)).then((isLost) => {
      if (isLost && this.#transport === transport && this.isReady && this.#renewal.take()) this.#actor.send({ type: 'session.gone' });
      if (this.#find(id) === pending) this.#settle(id, outcome);
    });
  }

  #holdForNewSession(id: number, pending: PendingRequest, isCurrent: boolean): void {
    pending.state = 'held';
    if (!this.isReady) return;
    if (isCurrent) {
      this.#actor.send({ type: 'session.gone' });
    } else {
      pending.state = 'resent'; // C3: the new session is there already.
      this.#send(id, pending);
    }
  }

  #unavailable(): GatewayFault {
    return fault('upstream.unavailable', `server "${this.#options.server}" is not available: ${this.problem}`, { server: this.#options.server });
  }

  #settle(id: JsonRpcId, outcome: ExchangeOutcome): void {
    const pending = typeof id === 'number' ? this.#pending.take(id) : undefined; // C2
    if (pending === undefined || typeof id !== 'number') {
      this.#options.metrics.dropped('upstream_late');
      return;
    }
    this.#questions.leave(pending.waiter);
    pending.waiter.settle(outcome, id);
  }
}
