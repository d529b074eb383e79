/**
 * One request on its way to one server. A plain object, not an actor: there are tens of thousands a second.
 *
 * States: running until the first of result, error, fault, time limit or `cancel`; then settled for good.
 * Invariants
 *  E1  `settled` is called exactly once, except after `cancel`: then never.
 *  E2  After it settled, nothing of the exchange reaches the client: no progress, no log, no late answer.
 *  E3  During a question to a client, the time limits of the exchange stand still: until it answers, and for `humanMs` in all if it does not. Each question has a
 *      limit of its own. So an exchange ends, however often its server asks.
 *  E4  It is registered with `adapters.ts`, which reports a lost adapter, from its beginning until it is settled.
 */
import { gatewayFaultOf, subjects, type BusError, type PendingRequest } from '@omnibus/bus';
import { Link } from '@omnibus/collections';
import type { Deadline } from '@omnibus/lifecycle';
import {
  fault,
  repeatableMethods,
  toErrorObject,
  type ControlCommand,
  type ExchangeEvent,
  type ExchangeId,
  type GatewayFault,
  type InputAnswer,
  type InputKey,
  type JsonObject,
  type ServerName,
  type WorkerId,
} from '@omnibus/protocol';
import type { CallTarget, ExchangeHost, SentExchange } from './adapters.ts';
import { interrupted, taskLost, timedOut, unavailable } from './exchange-faults.ts';
import { ExchangeQuestions, maxQuestions } from './exchange-questions.ts';
import type { ExchangeObserver, ExchangeRequest } from './exchange-request.ts';

/** Attempts at adapters that turn out not to be there, before NATS is left to choose one. */
const maxMissedTargets = 3;

/** Milliseconds until a worker that does not listen is asked again for a call, times the number of tries, and the most tries. */
const attachAgain = { ms: 100, tries: 8 };

const notKept = {};

export class Exchange extends Link implements SentExchange {
  readonly #host: ExchangeHost;
  readonly #request: ExchangeRequest;
  readonly #observer: ExchangeObserver;
  /** Names this worker as the owner, if another one may continue the exchange. */
  readonly #owner: { readonly owner?: WorkerId };
  /** Undefined until the server asks something, which most never do. */
  #questions: ExchangeQuestions | undefined;
  /** Time (`performance.now()`) at which `maxMs` is over; moved on by the time of questions to the client. */
  #endsAt: number;
  /** Time (`performance.now()`) since which the client has open questions, while it has; moved on by each answer. */
  #askedAt = 0;
  /** Milliseconds for which the time limits still stand still without an answer. */
  #patienceMs: number;
  #deadline: Deadline;
  /** Unreadable output of the server, which may have been its answer. */
  #doubt: string | undefined;
  #pending: PendingRequest | undefined;
  /** Whether it was taken over at a backend worker since it was last sent. */
  #isAttached = false;
  /** Whether it has ended: nothing of it reaches the client any more. */
  isSettled = false;
  goesOn = false; // Whether another worker owns it now, and continues it.
  attempts = 0; // Number of times that it was sent.
  sentTo: WorkerId | undefined;
  isConfirmed = false;

  /** Starts the time limits; nothing is sent before `begin`. */
  constructor(host: ExchangeHost, request: ExchangeRequest, observer: ExchangeObserver) {
    super();
    this.#host = host;
    this.#request = request;
    this.#observer = observer;
    this.#owner = request.isKept === true && host.owner !== undefined ? { owner: host.owner } : notKept;
    const { callMs, maxMs, own, humanMs } = request.limits;
    this.#patienceMs = humanMs;
    const inAllMs = own === undefined ? maxMs : Math.min(maxMs, own.leftMs);
    this.#endsAt = performance.now() + inAllMs;
    this.#deadline = host.wheel.schedule(Math.min(callMs, inAllMs), () => this.#expire());
  }

  /** Sends it, unless it has ended before. @returns itself. */
  begin(): this {
    if (this.isSettled) return this;
    this.#host.adapters.open.add(this); // E4
    const { continues } = this.#request;
    if (continues !== undefined) this.#attach(continues.at);
    else if (this.#request.context.taskPlace !== undefined && this.#isTaskLost) queueMicrotask(() => this.#endTask());
    else this.#sendTo(this.#route());
    return this;
  }

  /** @param except a worker that turned out not to have it. */
  #route(except?: WorkerId): CallTarget {
    const { server, affinity, chosen, context } = this.#request;
    const { taskPlace } = context;
    if (taskPlace?.isProgram === true)
      return { to: subjects.backendAt(server, taskPlace.worker), worker: taskPlace.worker, isBound: true };
    return this.#host.adapters.route(
      server,
      except === undefined ? (taskPlace?.worker ?? affinity) : undefined,
      context,
      except,
      chosen?.get(server),
    );
  }

  /** Whether it is about a task that exists only in one worker's program, and that worker is gone. */
  get #isTaskLost(): boolean {
    const { taskPlace } = this.#request.context;
    return taskPlace?.isProgram === true && this.#host.adapters.isLost(taskPlace.worker);
  }

  #endTask(): void {
    this.end(taskLost(this.#request.server));
  }

  #sendTo({ to, worker, isBound, heard }: CallTarget): void {
    if (heard !== undefined) {
      this.#sendAfter(heard);
      return;
    }
    const { exchange, server, method, params, context, limits, chosen, isNotification, turn } = this.#request;
    if (worker !== undefined && context.taskPlace === undefined) chosen?.set(server, worker);
    this.attempts += 1;
    this.isConfirmed = false;
    this.#isAttached = false;
    this.sentTo = worker;
    try {
      this.#pending = this.#host.bus.request(
        to,
        {
          kind: 'call',
          exchange,
          method,
          params,
          context: { ...context, maxTimeMs: limits.maxMs + limits.humanMs },
          ...(isBound ? { isBound } : {}),
          ...(isNotification === true ? { isNotification } : {}),
          ...this.#owner,
          ...(this.attempts === 1 ? {} : { sending: this.attempts }),
          ...(turn === undefined ? {} : { turn }),
        },
        {
          reply: (event) => this.#hear(event),
          failed: (error) => this.#unheard(worker, error),
          takesAway: this.#observer.takesAway,
        },
      );
    } catch (error) {
      // The bus is closing or cannot carry the message. It is reported asynchronously, as any failure is, after the caller has this exchange.
      queueMicrotask(() => this.#fail(error as BusError));
    }
  }

  /** No adapter has it while it waits for one, so none can lose it. */
  #sendAfter(heard: Promise<void>): void {
    const { open } = this.#host.adapters;
    open.remove(this);
    this.sentTo = undefined;
    void heard.then(() => {
      if (this.isSettled) return;
      open.add(this);
      this.#sendTo(this.#route());
    });
  }

  /** Takes over a call that runs at a backend worker, or its answer. @param at undefined if it is not known whether a server has it. */
  #attach(at: WorkerId | undefined, tries = 1): void {
    const { exchange, server, turn = 0 } = this.#request;
    const { bus, owner } = this.#host;
    if (at === undefined || owner === undefined) {
      queueMicrotask(() => this.end(interrupted(server)));
      return;
    }
    this.attempts += 1;
    this.isConfirmed = true;
    this.sentTo = at;
    this.#isAttached = true;
    this.#pending?.close();
    this.#pending = bus.request(
      subjects.backendAttach(at),
      { exchange, owner, ageMs: 0, turn, takes: true, sendings: this.attempts },
      {
        reply: (event) => {
          if (event.kind !== 'seen') this.#hear(event);
          else if (event.state !== 'never') this.end(interrupted(server));
          else {
            // It had waited there, and was given up before it was sent.
            this.#pending?.close();
            this.#sendTo(this.#route());
          }
        },
        failed: () => this.#unattached(at, tries),
      },
    );
  }

  /** Whether it is about a task that exists only in one worker's program. */
  get #isOfProgram(): boolean {
    return this.#request.context.taskPlace?.isProgram === true;
  }

  /**
   * No adapter received the request, so it goes to another one. The state of the first is lost with it; while that one may still find NATS, the request waits
   * for it.
   */
  #unheard(worker: WorkerId | undefined, error: BusError): void {
    if (this.#isTaskLost || (error.kind === 'no-responders' && !this.#host.bus.isShared && this.#isOfProgram))
      this.#endTask();
    else if (error.kind !== 'no-responders' || worker === undefined || this.isSettled || this.#isOfProgram)
      this.#failOrWait(error);
    else if (worker === this.#request.affinity && this.#host.adapters.mayReturn(worker))
      this.#sendAfter(this.#host.adapters.untilNextTry());
    else if (this.attempts < maxMissedTargets) this.#sendTo(this.#route(worker));
    else this.#sendTo({ to: subjects.backend(this.#request.server), worker: undefined, isBound: false });
  }

  /** If no worker at all received it, it waits for one with the server, for a while after the last one vanished. */
  #failOrWait(error: BusError): void {
    const back =
      error.kind !== 'no-responders' || this.isSettled || this.#isOfProgram
        ? undefined
        : this.#host.adapters.untilBack(this.#request.server);
    if (back === undefined) this.#fail(error);
    else this.#sendAfter(back);
  }

  /** Sends a request of which at most the outcome matters, without a client for questions: questions of the server are refused. */
  static start(
    host: ExchangeHost,
    request: ExchangeRequest,
    settled: ExchangeObserver['settled'] = () => undefined,
  ): Exchange {
    const refuse = ({ input, method }: Extract<ExchangeEvent, { kind: 'input' }>): void =>
      exchange.answerInput(input, {
        error: { code: -32_601, message: `nobody waits for this request who could be asked ${method}` },
      });
    const exchange = new Exchange(host, request, {
      progress: () => undefined,
      log: () => undefined,
      affinity: () => undefined,
      input: refuse,
      inputWithdrawn: () => undefined,
      settled,
    });
    return exchange.begin();
  }

  get server(): ServerName {
    return this.#request.server;
  }

  get #isRepeatable(): boolean {
    return this.#request.isRepeatable ?? repeatableMethods.has(this.#request.method);
  }

  get waits(): boolean {
    const isBound = this.sentTo !== undefined && this.sentTo === this.#request.affinity;
    return !this.#isRepeatable || isBound || this.#isOfProgram;
  }

  /** The adapter that worked on it is gone: it is sent again if it is repeatable, else it ends with a fault. */
  adapterLost(): void {
    if (this.isSettled) return;
    const { sentTo } = this;
    // The adapter may have answered while the bus was gone, and its worker then has the answer. The question for it may be lost in the same way.
    if (this.#request.isKept === true && sentTo !== undefined && (!this.#isAttached || this.#isThere(sentTo)))
      this.#attach(sentTo);
    else this.#adapterGone();
  }

  #isThere(worker: WorkerId): boolean {
    return this.#host.adapters.state(worker) === 'alive' || this.#host.adapters.mayReturn(worker);
  }

  /** Nothing listens at the worker to take the call over from. If it gives signs of life, or this worker has lost NATS, too, it comes back. */
  #unattached(at: WorkerId, tries: number): void {
    const { adapters, wheel } = this.#host;
    const isLast = tries >= attachAgain.tries && !adapters.mayReturn(at);
    if (this.isSettled) return;
    if (isLast || !this.#isThere(at)) this.#adapterGone();
    else
      wheel.schedule(attachAgain.ms * Math.min(tries, attachAgain.tries), () => {
        if (!this.isSettled && this.#isAttached && this.sentTo === at) this.#attach(at, tries + 1);
      });
  }

  #adapterGone(): void {
    const { server } = this.#request;
    this.#pending?.close();
    if (this.sentTo !== undefined) this.#host.adapters.stopAt(this.sentTo, { server, exchange: this.id });
    else if (!this.#isRepeatable) this.#tell({ kind: 'cancel', exchange: this.id, reason: 'the call was given up' });
    const wasAsked = this.#isAsked;
    for (const input of this.#questions?.clear() ?? [])
      this.#observer.inputWithdrawn(input, 'the connection to the server is gone');
    if (wasAsked) this.#age(false);
    if (this.#request.context.taskPlace === undefined) this.#observer.affinity(undefined);
    this.#observer.lost?.(this.#isRepeatable ? 'repeated' : 'unknown');
    if (this.#isTaskLost) this.#endTask();
    else if (this.#isRepeatable) {
      this.#deadline.extend(this.#timeLeftMs);
      this.#sendTo(this.#route(this.sentTo));
    } else this.end(interrupted(server));
  }

  get id(): ExchangeId {
    return this.#request.exchange;
  }

  /** Another worker owns it now, which continues it if it was sent and is kept. */
  giveAway(): void {
    this.goesOn = this.attempts > 0 && this.#request.isKept === true;
  }

  /** Ends it without an outcome, and cancels it at the adapter that has it. */
  cancel(reason: string): void {
    if (this.#settle() && !this.goesOn) this.#tell({ kind: 'cancel', exchange: this.id, reason, ...this.#owner });
  }

  #tell(command: ControlCommand): void {
    this.#host.bus.publish(subjects.backendControl(this.#request.server), command);
  }

  // --- questions of the server ---------------------------------------------------------------------------------------------

  get #isAsked(): boolean {
    return this.#questions !== undefined && this.#questions.size > 0;
  }

  /** Answers that no adapter has confirmed. */
  get unconfirmed(): number {
    return this.#questions?.unconfirmed ?? 0;
  }

  /** Passes on the client's answer to a question of the server. */
  answerInput(input: InputKey, answer: InputAnswer): void {
    this.#answer(input, answer, true);
  }

  #answer(input: InputKey, answer: InputAnswer, isClients: boolean): void {
    if (this.isSettled || this.#questions?.remove(input) !== true) return;
    this.#questions.keep(input, answer);
    this.#passAnswer(input, answer);
    this.#age(isClients);
  }

  #passAnswer(input: InputKey, answer: InputAnswer): void {
    this.#tell({ kind: 'answer', asker: this.id, input, answer, ...this.#owner });
  }

  passInputProgress(input: InputKey, params: JsonObject): void {
    if (!this.isSettled && this.#questions?.has(input) === true)
      this.#tell({ kind: 'input-progress', asker: this.id, input, params, ...this.#owner });
  }

  #ask(event: Extract<ExchangeEvent, { kind: 'input' }>): void {
    const { input } = event;
    this.#questions ??= new ExchangeQuestions(this.#host.wheel, this.#observer.answered);
    const answered = this.#questions.answerTo(input);
    if (answered !== undefined) this.#passAnswer(input, answered);
    if (answered !== undefined || this.#questions.has(input)) return;
    if (this.#questions.size >= maxQuestions) {
      this.#passAnswer(input, {
        error: toErrorObject(fault('input.limit', `${maxQuestions} questions of this call are open already`)),
      });
      return;
    }
    const isFirst = !this.#isAsked;
    const { humanMs } = this.#request.limits;
    this.#questions.add(input, humanMs, () => {
      this.#observer.inputWithdrawn(input, 'the time to answer is over');
      const problem = fault('input.timeout', `the client did not answer within ${humanMs / 1_000} s`);
      this.#answer(input, { error: toErrorObject(problem) }, false);
    });
    if (isFirst) {
      this.#askedAt = performance.now();
      this.#schedule(); // E3
    }
    this.#observer.input(event);
  }

  /** A question is not open any more. @param isAnswered whether the client has answered it: then its time does not count. */
  #age(isAnswered: boolean): void {
    if (!isAnswered && this.#isAsked) return; // The client may still answer another one.
    const now = performance.now();
    const asked = now - this.#askedAt;
    const free = isAnswered ? asked : Math.min(asked, this.#patienceMs);
    if (!isAnswered) this.#patienceMs -= free;
    this.#endsAt += free;
    this.#askedAt = now;
    this.#schedule();
  }

  #schedule(): void {
    this.#deadline.cancel();
    const leftMs = this.#isAsked ? this.#endsAt + this.#patienceMs - performance.now() : this.#timeLeftMs;
    this.#deadline = this.#host.wheel.schedule(leftMs, () => this.#expire());
  }

  /** Milliseconds until it times out if nothing arrives. */
  get #timeLeftMs(): number {
    return Math.min(this.#request.limits.callMs, this.#endsAt - performance.now());
  }

  // --- events of the adapter -----------------------------------------------------------------------------------------------

  #hear(event: ExchangeEvent): void {
    if (this.isSettled) return; // E2
    switch (event.kind) {
      case 'progress':
      case 'alive':
        if (!this.#isAsked) this.#deadline.extend(this.#timeLeftMs);
        if (event.kind === 'progress') this.#observer.progress(event);
        return;
      case 'doubt':
        this.#doubt = event.problem;
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
        this.#age(false);
        return;
      case 'result':
      case 'error':
      case 'fault':
        this.#settle();
        this.#observer.settled(event);
        return;
      default:
        this.#host.metrics.dropped('bus_unknown'); // A kind of event that only newer adapters send.
    }
  }

  #fail(error: BusError): void {
    if (this.isSettled) return;
    const { server } = this.#request;
    // An adapter may have it, and may not have sent it yet.
    if (error.kind !== 'no-responders' && error.kind !== 'closed')
      this.#tell({ kind: 'cancel', exchange: this.id, reason: 'the call was given up', ...this.#owner });
    this.end(
      gatewayFaultOf(error) ?? (error.kind === 'no-responders' ? unavailable(server) : interrupted(server, error.kind)),
    );
  }

  #expire(): void {
    const { limits, exchange } = this.#request;
    const { maxMs, own } = limits;
    const isMax = performance.now() >= this.#endsAt;
    const isOwn = isMax && own !== undefined && own.leftMs < maxMs;
    // A limit of the client's own says nothing about the server, so it does not count as the server's timeout.
    this.#tell({
      kind: 'cancel',
      exchange,
      reason: 'the time limit has passed',
      ...(isOwn ? {} : { isTimeout: true }),
      ...this.#owner,
    });
    this.end(timedOut(this.#request, isOwn ? 'own' : isMax ? 'max' : 'call', this.#doubt));
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
    this.#host.adapters.open.remove(this); // E4
    return true;
  }
}
