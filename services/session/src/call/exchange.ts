/**
 * One request on its way to one server. A plain object, not an actor: there are tens of thousands a second.
 *
 * States: running until the first of result, error, fault, time limit or `cancel`; then settled for good.
 * Invariants
 *  E1  `settled` is called exactly once, except after `cancel`: then never.
 *  E2  After it settled, nothing of the exchange reaches the client: no progress, no log, no late answer.
 *  E3  While a client is asked, the exchange does not age; each question has a limit of its own.
 *  E4  It is looked after (`exchange-watch.ts`) from its beginning until it is settled, whoever began it.
 */
import { gatewayFaultOf, subjects, type Bus, type BusError, type PendingRequest, type Subject } from '@omnibus/bus';
import { Link } from '@omnibus/collections';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import {
  fault, printable, repeatableMethods, toErrorObject,
  type CallCommand, type ControlCommand, type ErrorReason, type ExchangeContext, type ExchangeEvent, type ExchangeId, type ExchangeMethod, type ExchangeOutcome, type InputAnswer, type InputKey, type JsonObject,
  type ServerName, type WorkerId,
} from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import { ExchangeQuestions, maxQuestions } from './exchange-questions.ts';
import type { ExchangeWatch, Way } from './exchange-watch.ts';

export interface ExchangeObserver {
  progress(event: Extract<ExchangeEvent, { kind: 'progress' }>): void;
  log(params: JsonObject): void;
  /** One that no revision knows. */
  notification?(method: string, params: JsonObject | undefined): void;
  /** The adapter that keeps something for the session; undefined when it is gone. */
  bound(worker: WorkerId | undefined): void;
  /** Its adapter is gone. */
  lost?(outcome: 'repeated' | 'unknown'): void;
  /** The server asks something of the client. Answer with `answerInput`. */
  input(event: Extract<ExchangeEvent, { kind: 'input' }>): void;
  /** The answer is not waited for any more. */
  inputWithdrawn(input: InputKey, reason: string): void;
  settled(outcome: ExchangeOutcome): void;
}

export interface TimeLimits {
  /** Milliseconds without an answer or progress. */
  readonly callMs: number;
  /** Milliseconds in all, less those in which the client was asked. */
  readonly maxMs: number;
  /** What the client of this request gives it in all, and what is left of that. */
  readonly own?: { readonly limitMs: number; readonly leftMs: number };
  /** Milliseconds a client has to answer a server's question. */
  readonly humanMs: number;
  /** Milliseconds a client may wait for the result of a task. */
  readonly taskMs: number;
}

/** What a request is about, for people: "tool" and its name, "resource" and its URI. */
export type Topic = readonly [noun: string, name: string];

export type CallSubject = Subject<CallCommand, ExchangeEvent>;

/** Adapters that turn out not to be there before whichever NATS knows of is asked. */
const maxWrongWays = 3;

export interface ExchangeRequest {
  readonly exchange: ExchangeId;
  readonly server: ServerName;
  readonly method: ExchangeMethod;
  readonly params: JsonObject;
  readonly subject: Topic;
  readonly limits: TimeLimits;
  readonly context: Omit<ExchangeContext, 'maxTimeMs'>;
  /** The worker whose adapter keeps something for the session; any will do when there is none or it is gone. */
  readonly bound?: WorkerId | undefined;
  /** Doing it twice does no more than doing it once; follows from the method when left out. */
  readonly isRepeatable?: boolean;
  /** The server is told, and answers nothing. */
  readonly isNotification?: boolean;
}

/** The part of the host that an exchange needs. */
export interface ExchangeHost {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly watch: ExchangeWatch;
  readonly metrics: Pick<Metrics, 'dropped'>;
}

export class Exchange extends Link {
  readonly #bus: Bus;
  readonly #watch: ExchangeWatch;
  readonly #metrics: ExchangeHost['metrics'];
  readonly #request: ExchangeRequest;
  readonly #observer: ExchangeObserver;
  readonly #wheel: DeadlineWheel;
  /** Undefined while the server has asked nothing, as most never do. */
  #questions: ExchangeQuestions | undefined;
  /** When `maxMs` is over; moved by the time in which the client was asked. */
  #endsAt: number;
  /** Since when the client has been asked, while it is. */
  #askedAt = 0;
  #deadline: Deadline;
  #pending: PendingRequest | undefined;
  #isSettled = false;
  /** How often it was sent. */
  attempts = 0;
  /** The worker whose adapter has it; undefined while it is whichever NATS chose. */
  sentTo: WorkerId | undefined;
  /** That adapter has said that it has it. */
  isSure = false;

  constructor({ bus, wheel, watch, metrics }: ExchangeHost, request: ExchangeRequest, observer: ExchangeObserver) {
    super();
    this.#bus = bus;
    this.#watch = watch;
    this.#wheel = wheel;
    this.#metrics = metrics;
    const { callMs, maxMs, own } = request.limits;
    const inAllMs = own === undefined ? maxMs : Math.min(maxMs, own.leftMs);
    this.#endsAt = performance.now() + inAllMs;
    this.#request = request;
    this.#observer = observer;
    this.#deadline = wheel.schedule(Math.min(callMs, inAllMs), () => this.#expire());
    watch.add(this); // E4
    if (this.#isTaskLost) queueMicrotask(() => this.#endTask());
    else this.#sendTo(this.#route());
  }

  /** @param except a worker that turned out not to have it. */
  #route(except?: WorkerId): Way {
    const { server, bound, context } = this.#request;
    const { taskPlace } = context;
    if (taskPlace?.isProgram === true) return { to: subjects.backendAt(server, taskPlace.worker), worker: taskPlace.worker, isBound: true };
    return this.#watch.route(server, except === undefined ? (taskPlace?.worker ?? bound) : undefined, context, except);
  }

  /** It is about a task that only one worker's program has, and that worker is gone. */
  get #isTaskLost(): boolean {
    const { taskPlace } = this.#request.context;
    return taskPlace?.isProgram === true && this.#watch.isLost(taskPlace.worker);
  }

  #endTask(): void {
    const { server } = this.#request;
    this.#end('task.lost', `the task is lost: the part of the gateway that ran its program of server "${server}" is gone`, { server });
  }

  #sendTo({ to, worker, isBound }: Way): void {
    const { exchange, method, params, context, limits, isNotification } = this.#request;
    this.attempts += 1;
    this.isSure = false;
    this.sentTo = worker;
    try {
      this.#pending = this.#bus.request(
        to,
        { kind: 'call', exchange, method, params, context: { ...context, maxTimeMs: limits.maxMs + limits.humanMs }, ...(isBound ? { isBound } : {}), ...(isNotification === true ? { isNotification } : {}) },
        { reply: (event) => this.#hear(event), failed: (error) => this.#unheard(worker, error) },
      );
    } catch (error) {
      // The bus is closing or cannot carry it; the owner hears of it like of any failure, once it knows the exchange.
      queueMicrotask(() => this.#fail(error as BusError));
    }
  }

  /** Nobody had it. If the adapter kept something, that is gone with it: another one begins anew. */
  #unheard(worker: WorkerId | undefined, error: BusError): void {
    if (this.#isTaskLost || (error.kind === 'no-responders' && !this.#bus.isShared && this.#request.context.taskPlace?.isProgram === true)) this.#endTask();
    else if (error.kind !== 'no-responders' || worker === undefined || this.#isSettled || this.#request.context.taskPlace?.isProgram === true) this.#fail(error);
    else if (this.attempts < maxWrongWays) this.#sendTo(this.#route(worker));
    else this.#sendTo({ to: subjects.backend(this.#request.server), worker: undefined, isBound: false });
  }

  /** Sends a request of which at most the end matters, and for which nobody can be asked. */
  static start(host: ExchangeHost, request: ExchangeRequest, settled: ExchangeObserver['settled'] = () => undefined): Exchange {
    const refuse = ({ input, method }: Extract<ExchangeEvent, { kind: 'input' }>): void => exchange.answerInput(input, { error: { code: -32_601, message: `nobody waits for this request who could be asked ${method}` } });
    const exchange = new Exchange(host, request, { progress: () => undefined, log: () => undefined, bound: () => undefined, input: refuse, inputWithdrawn: () => undefined, settled });
    return exchange;
  }

  get server(): ServerName {
    return this.#request.server;
  }

  get #isRepeatable(): boolean {
    return this.#request.isRepeatable ?? repeatableMethods.has(this.#request.method);
  }

  /** The adapter that worked on it is gone. */
  lost(): void {
    if (this.#isSettled) return;
    const { server } = this.#request;
    this.#pending?.close();
    if (this.sentTo !== undefined) this.#watch.stopAt(this.sentTo, { server, exchange: this.id });
    else if (!this.#isRepeatable) this.#tell({ kind: 'cancel', exchange: this.id, reason: 'the call was given up' });
    const wasAsked = this.#isAsked;
    for (const input of this.#questions?.clear() ?? []) this.#observer.inputWithdrawn(input, 'the connection to the server is gone');
    if (wasAsked) this.#age();
    if (this.#request.context.taskPlace === undefined) this.#observer.bound(undefined);
    this.#observer.lost?.(this.#isRepeatable ? 'repeated' : 'unknown');
    if (this.#isTaskLost) {
      this.#endTask();
    } else if (this.#isRepeatable) {
      this.#deadline.extend(this.#timeLeftMs);
      this.#sendTo(this.#route(this.sentTo));
    } else {
      this.#end('gateway.interrupted', `the part of the gateway that is connected to server "${server}" is gone`, { server });
    }
  }

  get id(): ExchangeId {
    return this.#request.exchange;
  }

  /** Stops the work at the server that does it, and at no other; nothing more is heard of it. */
  cancel(reason: string): void {
    if (this.#settle()) this.#tell({ kind: 'cancel', exchange: this.id, reason });
  }

  #tell(command: ControlCommand): void {
    this.#bus.publish(subjects.backendControl(this.#request.server), command);
  }

  // --- what the server asks ------------------------------------------------------------------------------------------------

  get #isAsked(): boolean {
    return this.#questions !== undefined && this.#questions.size > 0;
  }

  /** Answers that no adapter has confirmed. */
  get unconfirmed(): number {
    return this.#questions?.unconfirmed ?? 0;
  }

  /** The client's answer to what the server asked. */
  answerInput(input: InputKey, answer: InputAnswer): void {
    if (this.#isSettled || this.#questions?.remove(input) !== true) return;
    this.#questions.keep(input, answer);
    this.#passAnswer(input, answer);
    this.#ageWhenAnswered();
  }

  #passAnswer(input: InputKey, answer: InputAnswer): void {
    this.#tell({ kind: 'answer', asker: this.id, input, answer });
  }

  passInputProgress(input: InputKey, params: JsonObject): void {
    if (!this.#isSettled && this.#questions?.has(input) === true) this.#tell({ kind: 'input-progress', asker: this.id, input, params });
  }

  #ask(event: Extract<ExchangeEvent, { kind: 'input' }>): void {
    const { input } = event;
    this.#questions ??= new ExchangeQuestions(this.#wheel);
    const answered = this.#questions.answerTo(input);
    if (answered !== undefined) this.#passAnswer(input, answered);
    if (answered !== undefined || this.#questions.has(input)) return;
    if (this.#questions.size >= maxQuestions) {
      this.#passAnswer(input, { error: toErrorObject(fault('input.limit', `${maxQuestions} questions of this call are open already`)) });
      return;
    }
    if (!this.#isAsked) {
      this.#askedAt = performance.now();
      this.#deadline.cancel(); // E3
    }
    const { humanMs } = this.#request.limits;
    this.#questions.add(input, humanMs, () => {
      this.#observer.inputWithdrawn(input, 'the time to answer is over');
      this.answerInput(input, { error: toErrorObject(fault('input.timeout', `the client did not answer within ${humanMs / 1_000} s`)) });
    });
    this.#observer.input(event);
  }

  #ageWhenAnswered(): void {
    if (!this.#isAsked) this.#age();
  }

  /** Nobody is asked any more: time counts again. */
  #age(): void {
    this.#endsAt += performance.now() - this.#askedAt;
    this.#deadline.cancel();
    this.#deadline = this.#wheel.schedule(this.#timeLeftMs, () => this.#expire());
  }

  /** Milliseconds until it is given up, if nothing happens. */
  get #timeLeftMs(): number {
    return Math.min(this.#request.limits.callMs, this.#endsAt - performance.now());
  }

  // --- what comes back -----------------------------------------------------------------------------------------------------

  #hear(event: ExchangeEvent): void {
    if (this.#isSettled) return; // E2
    switch (event.kind) {
      case 'progress':
        if (!this.#isAsked) this.#deadline.extend(this.#timeLeftMs);
        this.#observer.progress(event);
        return;
      case 'alive':
        if (!this.#isAsked) this.#deadline.extend(this.#timeLeftMs);
        return;
      case 'bound':
        this.sentTo = event.worker;
        this.#observer.bound(event.worker);
        return;
      case 'log':
        this.#observer.log(event.params);
        return;
      case 'notification':
        this.#observer.notification?.(event.method, event.params);
        return;
      case 'input':
        this.#ask(event);
        return;
      case 'input-answered':
        this.#questions?.confirmed(event.input);
        return;
      case 'input-withdrawn':
        if (this.#questions?.remove(event.input) !== true) return;
        this.#observer.inputWithdrawn(event.input, event.reason);
        this.#ageWhenAnswered();
        return;
      case 'result':
      case 'error':
      case 'fault':
        this.#settle();
        this.#observer.settled(event);
        return;
      default:
        this.#metrics.dropped('bus_unknown'); // Of a newer adapter.
    }
  }

  #fail(error: BusError): void {
    if (this.#isSettled) return;
    const { server } = this.#request;
    const own = gatewayFaultOf(error);
    if (own !== undefined) this.#end(own.reason, own.message, own.data);
    else if (error.kind === 'no-responders') this.#end('upstream.unavailable', `server "${server}" is not available: no part of the gateway is connected to it`, { server });
    else this.#end('gateway.interrupted', `the request to server "${server}" was interrupted: ${error.kind}`, { server });
  }

  #expire(): void {
    const { server, subject: [noun, name], limits: { callMs, maxMs, own }, exchange } = this.#request;
    const isMax = performance.now() >= this.#endsAt;
    const isOwn = isMax && own !== undefined && own.leftMs < maxMs;
    // That a client has little time says nothing of the server.
    this.#tell({ kind: 'cancel', exchange, reason: 'the time limit has passed', ...(isOwn ? {} : { isTimeout: true }) });
    const limitMs = isOwn ? own.limitMs : isMax ? maxMs : callMs;
    const text = `server "${server}" did not answer ${noun} ${JSON.stringify(printable(name, 200))} within ${limitMs / 1_000} s${isOwn ? ', which is the limit of this request' : isMax ? ' in all' : ' of the last sign of progress'}; it was told to stop`;
    this.#end(isOwn ? 'request.timeout' : 'upstream.timeout', text, { server, limitMs });
  }

  /** Settles it with a fault of the gateway's own. */
  #end(reason: ErrorReason, message: string, data?: JsonObject): void {
    if (this.#settle()) this.#observer.settled({ kind: 'fault', fault: fault(reason, message, data) });
  }

  /** @returns false when it was settled already. */
  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true; // E1
    this.#deadline.cancel();
    this.#pending?.close();
    this.#questions?.clear();
    this.#watch.remove(this); // E4
    return true;
  }
}
