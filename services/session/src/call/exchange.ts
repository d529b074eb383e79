/**
 * One request on its way to one server. A plain object, not an actor: there are tens of thousands a second.
 *
 * States: running until the first of result, error, fault, time limit or `cancel`; then settled for good.
 * Invariants
 *  E1  `settled` is called exactly once, except after `cancel`: then never.
 *  E2  After it settled, nothing of the exchange reaches the client: no progress, no log, no late answer.
 *  E3  While a client is asked, the exchange does not age; each question has a limit of its own.
 *  E4  It is looked after (`adapters.ts`) from its beginning until it is settled, whoever began it.
 */
import { gatewayFaultOf, subjects, type BusError, type PendingRequest } from '@omnibus/bus';
import { Link } from '@omnibus/collections';
import type { Deadline } from '@omnibus/lifecycle';
import {
  fault, repeatableMethods, toErrorObject,
  type ControlCommand, type ExchangeEvent, type ExchangeId, type GatewayFault, type InputAnswer, type InputKey, type JsonObject, type ServerName, type WorkerId,
} from '@omnibus/protocol';
import type { Way } from './adapters.ts';
import { interrupted, taskLost, timedOut, unavailable } from './exchange-faults.ts';
import { ExchangeQuestions, maxQuestions } from './exchange-questions.ts';
import type { ExchangeHost, ExchangeObserver, ExchangeRequest } from './exchange-request.ts';

/** Adapters that turn out not to be there before whichever NATS knows of is asked. */
const maxWrongWays = 3;

export class Exchange extends Link {
  readonly #host: ExchangeHost;
  readonly #request: ExchangeRequest;
  readonly #observer: ExchangeObserver;
  /** Undefined while the server has asked nothing, as most never do. */
  #questions: ExchangeQuestions | undefined;
  /** When `maxMs` is over; moved by the time in which the client was asked. */
  #endsAt: number;
  /** Since when the client has been asked, while it is. */
  #askedAt = 0;
  #deadline: Deadline;
  #pending: PendingRequest | undefined;
  /** It has ended: nothing of it is sent any more. */
  isSettled = false;
  attempts = 0; // How often it was sent.
  /** The worker whose adapter has it; undefined while it is whichever NATS chose. */
  sentTo: WorkerId | undefined;
  /** That adapter has said that it has it. */
  isSure = false;

  /** Nothing is sent before `begin`. */
  constructor(host: ExchangeHost, request: ExchangeRequest, observer: ExchangeObserver) {
    super();
    this.#host = host;
    this.#request = request;
    this.#observer = observer;
    const { callMs, maxMs, own } = request.limits;
    const inAllMs = own === undefined ? maxMs : Math.min(maxMs, own.leftMs);
    this.#endsAt = performance.now() + inAllMs;
    this.#deadline = host.wheel.schedule(Math.min(callMs, inAllMs), () => this.#expire());
  }

  /** Sends it, unless it has ended before. @returns itself. */
  begin(): this {
    if (this.isSettled) return this;
    this.#host.adapters.add(this); // E4
    if (this.#isTaskLost) queueMicrotask(() => this.#endTask());
    else this.#sendTo(this.#route());
    return this;
  }

  /** @param except a worker that turned out not to have it. */
  #route(except?: WorkerId): Way {
    const { server, affinity, context } = this.#request;
    const { taskPlace } = context;
    if (taskPlace?.isProgram === true) return { to: subjects.backendAt(server, taskPlace.worker), worker: taskPlace.worker, isBound: true };
    return this.#host.adapters.route(server, except === undefined ? (taskPlace?.worker ?? affinity) : undefined, context, except);
  }

  /** It is about a task that only one worker's program has, and that worker is gone. */
  get #isTaskLost(): boolean {
    const { taskPlace } = this.#request.context;
    return taskPlace?.isProgram === true && this.#host.adapters.isLost(taskPlace.worker);
  }

  #endTask(): void {
    this.end(taskLost(this.#request.server));
  }

  #sendTo({ to, worker, isBound }: Way): void {
    const { exchange, method, params, context, limits, isNotification } = this.#request;
    this.attempts += 1;
    this.isSure = false;
    this.sentTo = worker;
    try {
      this.#pending = this.#host.bus.request(
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
    if (this.#isTaskLost || (error.kind === 'no-responders' && !this.#host.bus.isShared && this.#request.context.taskPlace?.isProgram === true)) this.#endTask();
    else if (error.kind !== 'no-responders' || worker === undefined || this.isSettled || this.#request.context.taskPlace?.isProgram === true) this.#fail(error);
    else if (this.attempts < maxWrongWays) this.#sendTo(this.#route(worker));
    else this.#sendTo({ to: subjects.backend(this.#request.server), worker: undefined, isBound: false });
  }

  /** Sends a request of which at most the end matters, and for which nobody can be asked. */
  static start(host: ExchangeHost, request: ExchangeRequest, settled: ExchangeObserver['settled'] = () => undefined): Exchange {
    const refuse = ({ input, method }: Extract<ExchangeEvent, { kind: 'input' }>): void => exchange.answerInput(input, { error: { code: -32_601, message: `nobody waits for this request who could be asked ${method}` } });
    const exchange = new Exchange(host, request, { progress: () => undefined, log: () => undefined, affinity: () => undefined, input: refuse, inputWithdrawn: () => undefined, settled });
    return exchange.begin();
  }

  get server(): ServerName {
    return this.#request.server;
  }

  get #isRepeatable(): boolean {
    return this.#request.isRepeatable ?? repeatableMethods.has(this.#request.method);
  }

  /** The adapter that worked on it is gone. */
  lost(): void {
    if (this.isSettled) return;
    const { server } = this.#request;
    this.#pending?.close();
    if (this.sentTo !== undefined) this.#host.adapters.stopAt(this.sentTo, { server, exchange: this.id });
    else if (!this.#isRepeatable) this.#tell({ kind: 'cancel', exchange: this.id, reason: 'the call was given up' });
    const wasAsked = this.#isAsked;
    for (const input of this.#questions?.clear() ?? []) this.#observer.inputWithdrawn(input, 'the connection to the server is gone');
    if (wasAsked) this.#age();
    if (this.#request.context.taskPlace === undefined) this.#observer.affinity(undefined);
    this.#observer.lost?.(this.#isRepeatable ? 'repeated' : 'unknown');
    if (this.#isTaskLost) {
      this.#endTask();
    } else if (this.#isRepeatable) {
      this.#deadline.extend(this.#timeLeftMs);
      this.#sendTo(this.#route(this.sentTo));
    } else {
      this.end(interrupted(server));
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
    this.#host.bus.publish(subjects.backendControl(this.#request.server), command);
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
    if (this.isSettled || this.#questions?.remove(input) !== true) return;
    this.#questions.keep(input, answer);
    this.#passAnswer(input, answer);
    this.#ageWhenAnswered();
  }

  #passAnswer(input: InputKey, answer: InputAnswer): void {
    this.#tell({ kind: 'answer', asker: this.id, input, answer });
  }

  passInputProgress(input: InputKey, params: JsonObject): void {
    if (!this.isSettled && this.#questions?.has(input) === true) this.#tell({ kind: 'input-progress', asker: this.id, input, params });
  }

  #ask(event: Extract<ExchangeEvent, { kind: 'input' }>): void {
    const { input } = event;
    this.#questions ??= new ExchangeQuestions(this.#host.wheel, this.#observer.answered);
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
    this.#deadline = this.#host.wheel.schedule(this.#timeLeftMs, () => this.#expire());
  }

  /** Milliseconds until it is given up, if nothing happens. */
  get #timeLeftMs(): number {
    return Math.min(this.#request.limits.callMs, this.#endsAt - performance.now());
  }

  // --- what comes back -----------------------------------------------------------------------------------------------------

  #hear(event: ExchangeEvent): void {
    if (this.isSettled) return; // E2
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
        this.#observer.affinity(event.worker);
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
        this.#host.metrics.dropped('bus_unknown'); // Of a newer adapter.
    }
  }

  #fail(error: BusError): void {
    if (this.isSettled) return;
    const { server } = this.#request;
    this.end(gatewayFaultOf(error) ?? (error.kind === 'no-responders' ? unavailable(server) : interrupted(server, error.kind)));
  }

  #expire(): void {
    const { limits: { maxMs, own }, exchange } = this.#request;
    const isMax = performance.now() >= this.#endsAt;
    const isOwn = isMax && own !== undefined && own.leftMs < maxMs;
    // That a client has little time says nothing of the server.
    this.#tell({ kind: 'cancel', exchange, reason: 'the time limit has passed', ...(isOwn ? {} : { isTimeout: true }) });
    this.end(timedOut(this.#request, isOwn ? 'own' : isMax ? 'max' : 'call'));
  }

  /** Settles it with a fault of the gateway's own. */
  end(gatewayFault: GatewayFault): void {
    if (this.#settle()) this.#observer.settled({ kind: 'fault', fault: gatewayFault });
  }

  /** @returns false when it was settled already. */
  #settle(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true; // E1
    this.#deadline.cancel();
    this.#pending?.close();
    this.#questions?.clear();
    this.#host.adapters.remove(this); // E4
    return true;
  }
}
