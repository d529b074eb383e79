/**
 * One request on its way to one server. A plain object, not an actor: there are tens of thousands a second.
 *
 * States: running until the first of result, error, fault, time limit or `cancel`; then settled for good.
 * Invariants
 *  E1  `settled` is called exactly once, except after `cancel`: then never.
 *  E2  After it settled, nothing of the exchange reaches the client: no progress, no log, no late answer.
 */
import { subjects, type Bus, type BusError, type PendingRequest } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import {
  fault, type ExchangeContext, type ExchangeEvent, type ExchangeId, type ExchangeMethod, type GatewayFault, type JsonObject, type JsonRpcErrorObject,
  type ServerName,
} from '@omnibus/protocol';

export type ExchangeOutcome =
  | { readonly kind: 'result'; readonly result: JsonObject }
  | { readonly kind: 'error'; readonly error: JsonRpcErrorObject }
  | { readonly kind: 'fault'; readonly fault: GatewayFault };

export interface ExchangeObserver {
  progress(event: Extract<ExchangeEvent, { kind: 'progress' }>): void;
  log(params: JsonObject): void;
  settled(outcome: ExchangeOutcome): void;
}

export interface TimeLimits {
  /** Milliseconds without an answer or progress. */
  readonly callMs: number;
  /** Milliseconds in all. */
  readonly maxMs: number;
}

export interface ExchangeRequest {
  readonly exchange: ExchangeId;
  readonly server: ServerName;
  readonly method: ExchangeMethod;
  readonly params: JsonObject;
  /** What the request is about, for people: a tool's name, a URI. */
  readonly subject: string;
  readonly limits: TimeLimits;
  readonly context: Omit<ExchangeContext, 'maxTimeMs'>;
}

export class Exchange {
  readonly #bus: Bus;
  readonly #request: ExchangeRequest;
  readonly #observer: ExchangeObserver;
  readonly #startedAt = performance.now();
  readonly #deadline: Deadline;
  #pending: PendingRequest | undefined;
  #isSettled = false;

  constructor(bus: Bus, wheel: DeadlineWheel, request: ExchangeRequest, observer: ExchangeObserver) {
    this.#bus = bus;
    this.#request = request;
    this.#observer = observer;
    this.#deadline = wheel.schedule(Math.min(request.limits.callMs, request.limits.maxMs), () => this.#expire());
    const { exchange, method, params, context } = request;
    this.#pending = bus.request(
      subjects.backend(request.server),
      { kind: 'call', exchange, method, params, context: { ...context, maxTimeMs: request.limits.maxMs } },
      { reply: (event) => this.#hear(event), failed: (error) => this.#fail(error) },
    );
  }

  get id(): ExchangeId {
    return this.#request.exchange;
  }

  /** Stops the work at the server that does it, and at no other; nothing more is heard of it. */
  cancel(reason: string): void {
    if (!this.#settle()) return;
    this.#bus.publish(subjects.backendControl(this.#request.server), { kind: 'cancel', exchange: this.id, reason });
  }

  #hear(event: ExchangeEvent): void {
    if (this.#isSettled) return; // E2
    switch (event.kind) {
      case 'progress':
        this.#deadline.extend(Math.min(this.#request.limits.callMs, this.#startedAt + this.#request.limits.maxMs - performance.now()));
        this.#observer.progress(event);
        return;
      case 'log':
        this.#observer.log(event.params);
        return;
      case 'result':
      case 'error':
      case 'fault':
        this.#settle();
        this.#observer.settled(event);
    }
  }

  #fail(error: BusError): void {
    if (!this.#settle()) return;
    const { server } = this.#request;
    this.#observer.settled({
      kind: 'fault',
      fault: error.kind === 'no-responders'
        ? fault('upstream.unavailable', `server "${server}" is not available: no part of the gateway is connected to it`, { server })
        : fault('gateway.interrupted', `the request to server "${server}" was interrupted: ${error.message}`, { server }),
    });
  }

  #expire(): void {
    const { server, subject, limits, exchange } = this.#request;
    if (!this.#settle()) return;
    this.#bus.publish(subjects.backendControl(server), { kind: 'cancel', exchange, reason: 'the time limit has passed' });
    const isMax = performance.now() - this.#startedAt >= limits.maxMs;
    const limitMs = isMax ? limits.maxMs : limits.callMs;
    const text = `server "${server}" did not answer ${subject} within ${limitMs / 1_000} s${isMax ? ' in all' : ' of the last sign of progress'}; it was told to stop`;
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
