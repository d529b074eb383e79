/**
 * One request on its way to one server. A plain object, not an actor: there are tens of thousands a second.
 *
 * States: running until the first of result, error, fault, time limit or `cancel`; then settled for good.
 * Invariants
 *  E1  `settled` is called exactly once, except after `cancel`: then never.
 *  E2  After it settled, nothing of the exchange reaches the client: no progress, no log, no late answer.
 *  E3  While a client is asked, the exchange does not age; the asking has a limit of its own.
 */
import { gatewayFaultOf, subjects, type Bus, type BusError, type PendingRequest, type Subject } from '@omnibus/bus';
import { Link } from '@omnibus/collections';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import {
  fault, toErrorObject, type CallCommand, type ExchangeContext, type ExchangeEvent, type ExchangeId, type ExchangeMethod, type ExchangeOutcome, type InputAnswer, type InputKey, type JsonObject,
  type ServerName, type WorkerId,
} from '@omnibus/protocol';
import type { ExchangeWatch } from './exchange-watch.ts';

export interface ExchangeObserver {
  progress(event: Extract<ExchangeEvent, { kind: 'progress' }>): void;
  log(params: JsonObject): void;
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
  /** Milliseconds a client has to answer a server's question. */
  readonly humanMs: number;
  /** Milliseconds a client may wait for the result of a task. */
  readonly taskMs: number;
}

/** What a request is about, for people: "tool" and its name, "resource" and its URI. */
export type Topic = readonly [noun: string, name: string];

export type CallSubject = Subject<CallCommand, ExchangeEvent>;

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
  /** Doing it twice does no more than doing it once. */
  readonly isRepeatable?: boolean;
}

/** The part of the host that an exchange needs. */
export interface ExchangeHost {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly watch: ExchangeWatch;
}

export class Exchange extends Link {
  readonly #bus: Bus;
  readonly #watch: ExchangeWatch;
  readonly #request: ExchangeRequest;
  readonly #observer: ExchangeObserver;
  readonly #wheel: DeadlineWheel;
  readonly #inputs = new Set<InputKey>();
  /** What was answered already: an adapter that had no word of it asks again. */
  #answers: Map<InputKey, InputAnswer> | undefined;
  /** When `maxMs` is over; moved by the time in which the client was asked. */
  #endsAt: number;
  /** Since when the client has been asked, while it is. */
  #askedAt = 0;
  #deadline: Deadline;
  #pending: PendingRequest | undefined;
  #isSettled = false;
  /** How often it was sent. */
  attempts = 0;
  /** An adapter has said that it has it. */
  isSure = false;

  constructor({ bus, wheel, watch }: ExchangeHost, request: ExchangeRequest, observer: ExchangeObserver) {
    super();
    this.#bus = bus;
    this.#watch = watch;
    this.#wheel = wheel;
    this.#endsAt = performance.now() + request.limits.maxMs;
    this.#request = request;
    this.#observer = observer;
    this.#deadline = wheel.schedule(Math.min(request.limits.callMs, request.limits.maxMs), () => this.#expire());
    this.#sendTo(watch.route(request.server, request.bound));
  }

  #sendTo({ to, isBound }: ReturnType<ExchangeWatch['route']>): void {
    const { exchange, method, params, context, limits } = this.#request;
    this.attempts += 1;
    this.isSure = false;
    try {
      this.#pending = this.#bus.request(
        to,
        { kind: 'call', exchange, method, params, context: { ...context, maxTimeMs: limits.maxMs + limits.humanMs }, ...(isBound ? { isBound } : {}) },
        { reply: (event) => this.#hear(event), failed: (error) => this.#unheard(to, error) },
      );
    } catch (error) {
      // The bus is closing or cannot carry it; the owner hears of it like of any failure, once it knows the exchange.
      queueMicrotask(() => this.#fail(error as BusError));
    }
  }

  /** Nobody had it. If the adapter kept something, that is gone with it: another one begins anew. */
  #unheard(to: CallSubject, error: BusError): void {
    const anywhere = subjects.backend(this.#request.server);
    if (error.kind === 'no-responders' && to !== anywhere && !this.#isSettled) this.#sendTo({ to: anywhere, isBound: false });
    else this.#fail(error);
  }

  /** Sends a request of which at most the end matters. */
  static start(host: ExchangeHost, request: ExchangeRequest, settled: ExchangeObserver['settled'] = () => undefined): void {
    void new Exchange(host, request, { progress: () => undefined, log: () => undefined, bound: () => undefined, input: () => undefined, inputWithdrawn: () => undefined, settled });
  }

  get server(): ServerName {
    return this.#request.server;
  }

  /** The adapter that worked on it is gone. */
  lost(): void {
    if (this.#isSettled) return;
    this.#pending?.close();
    for (const input of [...this.#inputs]) {
      this.#inputs.delete(input);
      this.#observer.inputWithdrawn(input, 'the connection to the server is gone');
    }
    this.#observer.bound(undefined);
    this.#observer.lost?.(this.#request.isRepeatable === true ? 'repeated' : 'unknown');
    if (this.#request.isRepeatable === true) {
      this.#deadline.extend(Math.min(this.#request.limits.callMs, this.#endsAt - performance.now()));
      this.#sendTo(this.#watch.route(this.#request.server, undefined));
      return;
    }
    const { server } = this.#request;
    this.#settle();
    this.#observer.settled({ kind: 'fault', fault: fault('gateway.interrupted', `the part of the gateway that is connected to server "${server}" is gone`, { server }) });
  }

  get id(): ExchangeId {
    return this.#request.exchange;
  }

  /** Stops the work at the server that does it, and at no other; nothing more is heard of it. */
  cancel(reason: string): void {
    if (!this.#settle()) return;
    this.#bus.publish(subjects.backendControl(this.#request.server), { kind: 'cancel', exchange: this.id, reason });
  }

  /** The client's answer to what the server asked. */
  answerInput(input: InputKey, answer: InputAnswer): void {
    if (this.#isSettled || !this.#inputs.delete(input)) return;
    this.#answers ??= new Map();
    this.#answers.set(input, answer);
    this.#passAnswer(input, answer);
    this.#resumeWhenAnswered();
  }

  #passAnswer(input: InputKey, answer: InputAnswer): void {
    this.#bus.publish(subjects.backendControl(this.#request.server), { kind: 'answer', asker: this.id, input, answer });
  }

  passInputProgress(input: InputKey, params: JsonObject): void {
    if (this.#isSettled || !this.#inputs.has(input)) return;
    this.#bus.publish(subjects.backendControl(this.#request.server), { kind: 'input-progress', asker: this.id, input, params });
  }

  #hear(event: ExchangeEvent): void {
    if (this.#isSettled) return; // E2
    switch (event.kind) {
      case 'progress':
        if (this.#inputs.size === 0) this.#deadline.extend(Math.min(this.#request.limits.callMs, this.#endsAt - performance.now()));
        this.#observer.progress(event);
        return;
      case 'bound':
        this.#observer.bound(event.worker);
        return;
      case 'log':
        this.#observer.log(event.params);
        return;
      case 'input':
        this.#ask(event);
        return;
      case 'input-withdrawn':
        if (!this.#inputs.delete(event.input)) return;
        this.#observer.inputWithdrawn(event.input, event.reason);
        this.#resumeWhenAnswered();
        return;
      case 'result':
      case 'error':
      case 'fault':
        this.#settle();
        this.#observer.settled(event);
    }
  }

  #ask(event: Extract<ExchangeEvent, { kind: 'input' }>): void {
    const answered = this.#answers?.get(event.input);
    if (answered !== undefined) this.#passAnswer(event.input, answered);
    if (answered !== undefined || this.#inputs.has(event.input)) return;
    if (this.#inputs.size === 0) {
      this.#askedAt = performance.now();
      this.#deadline.cancel(); // E3
      this.#deadline = this.#wheel.schedule(this.#request.limits.humanMs, () => this.#giveUpAsking());
    }
    this.#inputs.add(event.input);
    this.#observer.input(event);
  }

  #giveUpAsking(): void {
    const seconds = this.#request.limits.humanMs / 1_000;
    const unanswered = toErrorObject(fault('input.timeout', `the client did not answer within ${seconds} s`));
    for (const input of [...this.#inputs]) {
      this.#observer.inputWithdrawn(input, 'the time to answer is over');
      this.answerInput(input, { error: unanswered });
    }
  }

  #resumeWhenAnswered(): void {
    if (this.#inputs.size > 0) return;
    const now = performance.now();
    this.#endsAt += now - this.#askedAt;
    this.#deadline.cancel();
    this.#deadline = this.#wheel.schedule(Math.min(this.#request.limits.callMs, this.#endsAt - now), () => this.#expire());
  }

  #fail(error: BusError): void {
    if (!this.#settle()) return;
    const { server } = this.#request;
    this.#observer.settled({
      kind: 'fault',
      fault: gatewayFaultOf(error) ?? (error.kind === 'no-responders'
        ? fault('upstream.unavailable', `server "${server}" is not available: no part of the gateway is connected to it`, { server })
        : fault('gateway.interrupted', `the request to server "${server}" was interrupted: ${error.message}`, { server })),
    });
  }

  #expire(): void {
    const { server, subject, limits, exchange } = this.#request;
    if (!this.#settle()) return;
    this.#bus.publish(subjects.backendControl(server), { kind: 'cancel', exchange, reason: 'the time limit has passed', isTimeout: true });
    const isMax = performance.now() >= this.#endsAt;
    const limitMs = isMax ? limits.maxMs : limits.callMs;
    const text = `server "${server}" did not answer ${subject[0]} ${JSON.stringify(subject[1].slice(0, 200))} within ${limitMs / 1_000} s${isMax ? ' in all' : ' of the last sign of progress'}; it was told to stop`;
    this.#observer.settled({ kind: 'fault', fault: fault('upstream.timeout', text, { server, limitMs }) });
  }

  /** @returns false when it was settled already. */
  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true; // E1
    this.#deadline.cancel();
    this.#pending?.close();
    return true;
  }
}
