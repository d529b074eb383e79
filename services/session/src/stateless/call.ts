/**
 * One call of a client without a session, over all its rounds: when the server asks something, the client is answered with the question and
 * brings the answer in a new request, while the call stays open at the server (2026-07-28 basic/patterns, Multi Round-Trip Requests). The
 * server is never called a second time.
 *
 *              question                window over              answers complete
 *   running ------------> collecting ------------> parked ----------------------> running
 *      | answer                                      | answer, time over
 *      v                                             v
 *   settled <-----------------------------------------   (the rest is in `settled-call.ts`)
 *
 * Invariants
 *  M1  The server gets one answer to each question, however often the client sends it.
 *  M2  A request that brings answers a second time joins the call and gets the same answer.
 *  M3  A disconnection of the client cancels a running call, after a time if its client may repeat it; between two rounds a client has no
 *      connection, and does not count as gone.
 *  M5  While it runs it has a place among running calls, while it waits for its client one among kept calls, and never both.
 */
import type { View } from '@omnibus/catalog';
import { KeyedLink } from '@omnibus/collections';
import type { Deadline } from '@omnibus/lifecycle';
import {
  fault,
  repeatMs,
  type Begun,
  type Caller,
  type ExchangeMethod,
  type GatewayFault,
  type JsonBytes,
  type JsonObject,
  type JsonRpcErrorObject,
  type JsonRpcId,
  type SessionKey,
} from '@omnibus/protocol';
import { shownTag } from '@omnibus/telemetry';
import type { Barrier } from '../call/barrier.ts';
import type { CallStream } from '../call/client-port.ts';
import { Forwarding } from '../call/forward.ts';
import type { ForwardingHooks } from '../call/forwarding-hooks.ts';
import type { OwnRun } from '../call/own-tools.ts';
import type { ServerAnswer } from '../dialect/dialect.ts';
import { httpStatusOf, inputRequired } from '../dialect/modern/encode.ts';
import { CallClient, type CallClientHost } from './call-client.ts';
import { answerResult, deliver, refuse, send, type PendingReply, type Settlement } from './pending-reply.ts';
import type { PlacedCall, Places } from './places.ts';
import { doubtOf } from './wanted.ts';
import { SettledCall } from './settled-call.ts';
import type { StatelessHost } from './stateless-host.ts';

/** The table of calls, which knows them by the states that it seals. */
export interface CallTable extends CallClientHost {
  readonly host: StatelessHost;
  readonly places: Places;
  /** Milliseconds a client has to answer. */
  readonly humanMs: () => number;
  /** Makes the sealed `requestState` with which a call can be continued. */
  /** @param isAtServer whether a server asks, and not only the gateway. */
  seal(call: BegunCall, round: number, isAtServer: boolean): string;
  /** Replaces a server's `requestState` by one that only the caller can bring back. */
  bindState(call: BegunCall, text: string): string;
  /** The result that asks the client to visit the addresses in a server's error; undefined for any other error. */
  urlsRequired(call: BegunCall, error: JsonRpcErrorObject): JsonObject | undefined;
  /** A call cannot be continued any more. */
  ended(call: StatelessCall | SettledCall): void;
  /** A call that its client may repeat has ended. */
  remember(key: SessionKey): void;
  /** A call has its answer, which its client may request again. @param left the rest of it. */
  settled(left: SettledCall): void;
}

/** The request with which a call began. */
export interface BegunCall {
  readonly first: PendingReply;
  readonly view: View;
  readonly method: ExchangeMethod;
  /** Parameters for the server, without members that are for the gateway. */
  readonly params: JsonObject;
  /** Number of earlier requests to visit addresses. */
  readonly urlRound: number;
  /** The key of a call that its client may repeat: its connection may break, and the answer is kept. */
  readonly repeated?: SessionKey | undefined;
  /** Set for a call of an own tool that itself makes calls. */
  readonly own?: OwnRun | undefined;
  /** Set for a call of a worker that is gone. Then `first` is as that worker had it, for the identity of the call only. */
  readonly back?: Back | undefined;
}

/** A request that continues a call of a worker that is gone, and the state that it brings. */
export interface Back {
  readonly waiter: PendingReply;
  readonly round: number;
  /** Whether a server had the call when the state was made: then it never begins again. */
  readonly isAtServer: boolean;
}

/** Milliseconds in which questions are collected, so that those that a server asks together are sent together. */
const collectMs = 20;
/** More than any call waits for its client. */
const anyAgeMs = 24 * 60 * 60_000;
/** Requests that may wait for the answer to one call; a client repeats a request only a few times. */
const maxWaiters = 16;

export class StatelessCall extends KeyedLink implements CallStream, PlacedCall, ForwardingHooks {
  readonly key: SessionKey;
  readonly caller: Caller;
  isAmongRunning = true;
  /** The W3C `traceparent` of its latest request. */
  trace: string | undefined;
  readonly #table: CallTable;
  readonly #begun: BegunCall;
  readonly #forwarding: Forwarding<CallStream>;
  readonly #client: CallClient;
  /** How often the bus had been interrupted when one of its requests was last known to be wanted. */
  #wantedAt: number;
  #waiters: PendingReply[];
  /** The request with answers to questions that are about to be asked again. */
  #back: PendingReply | undefined;
  #phase: 'running' | 'collecting' | 'parked' | 'settled' = 'running';
  #round = 0;
  #collecting: NodeJS.Timeout | undefined;
  /** The end of a call whose client has left and may come back. */
  #leaving: Deadline | undefined;
  #askedUntil = Infinity;
  /** The tag under which the call is watched, over all its rounds. */
  #tag: string | undefined;
  /** HTTP status of the answer. */
  #httpStatus = 200;

  /** Its place among running calls was taken before. */
  constructor(table: CallTable, begun: BegunCall) {
    super();
    const { first, back } = begun;
    this.key = begun.repeated ?? first.command.key;
    this.caller = first.command.caller;
    this.#table = table;
    this.#begun = begun;
    this.#wantedAt = table.host.bus.reconnects;
    this.#back = back?.waiter;
    this.#waiters = [this.#back ?? first];
    this.trace = (this.#back ?? first).command.trace;
    this.#client = new CallClient(table, first, this);
    if (back !== undefined) {
      this.#round = back.round;
      this.#client.goesOn(back.waiter);
    }
    this.#forwarding = new Forwarding(table.host, this.#client, this);
  }

  start(): void {
    const { method, params, view, first, own } = this.#begun;
    const { id } = first.command.request;
    if (own === undefined) this.#forwarding.forward(this, id, method, params, view);
    else own.begin({ carrier: this.#forwarding.carrier, stream: this, id, params, view });
  }

  doubt(): Promise<GatewayFault> | undefined {
    const fault = doubtOf(this.#table.host.bus, this.#wantedAt);
    return fault === undefined ? undefined : Promise.resolve(fault);
  }

  get origin(): SessionKey {
    return this.key;
  }

  get begun(): Begun | undefined {
    const { first, back } = this.#begun;
    const { begun } = first.command;
    // The age is that of the latest request. The backend worker that had the call may be gone for longer.
    return begun !== undefined && back?.isAtServer === true ? { ...begun, ageMs: anyAgeMs, areAll: false } : begun;
  }

  get tap(): string | undefined {
    return this.#client.latest.command.tap;
  }

  /** Its answer is sent to one request, and not kept. */
  get takesAway(): boolean {
    return this.#waiters.length === 1 && this.#round === 0 && this.#begun.repeated === undefined;
  }

  watchedAs(tag: string): void {
    this.#tag = tag;
  }

  /** Reports what happens between two rounds. */
  #tell(tag: string | undefined, what: string, more: JsonObject): void {
    if (tag !== undefined) this.#table.host.watchers.continued(tag, what, more);
  }

  /** A server has asked something; questions are collected for a moment and sent together. */
  questionAsked(): void {
    if (this.#phase === 'parked') {
      const refusal = this.#table.places.keep(this, this.#size);
      if (refusal !== undefined) this.#forwarding.open.failAll(refusal);
    }
    if (this.#phase !== 'running') return;
    this.#phase = 'collecting';
    this.#collecting = setTimeout(() => this.#park(), collectMs);
  }

  /** Ends the call if its caller may not reach its server now. */
  barred(barrier: Barrier): void {
    this.#forwarding.endBarred(barrier);
  }

  // --- what goes to the client ---------------------------------------------------------------------------------------------

  send(text: string): void {
    const waiter = this.#waiters.at(-1);
    if (waiter !== undefined) send(waiter, text);
  }

  /** A server's own state is bound to the caller; addresses that its user has to visit first are a question to the client. */
  completed(answer: ServerAnswer): ServerAnswer {
    if (answer.kind === 'error') {
      const required = this.#table.urlsRequired(this.#begun, answer.error);
      if (required !== undefined) return { kind: 'result', result: required };
      this.#httpStatus = httpStatusOf(this.#begun.method, answer.error);
      return answer;
    }
    const { resultType, requestState } = answer.result;
    if (resultType !== 'input_required' || typeof requestState !== 'string') return answer;
    const bound = this.#table.bindState(this.#begun, requestState);
    return { kind: 'result', result: { ...answer.result, requestState: bound } };
  }

  answerMember(_id: JsonRpcId, member: string | JsonBytes): void {
    this.#settle({ member, httpStatus: this.#httpStatus });
  }

  refuse(_id: JsonRpcId, gatewayFault: GatewayFault): void {
    this.#settle({ fault: gatewayFault });
  }

  leaveUnanswered(): void {
    clearTimeout(this.#collecting);
    if (this.#begun.repeated !== undefined) this.#table.remember(this.key);
    this.#phase = 'settled';
    this.#table.ended(this);
  }

  #settle(given: Settlement): void {
    const table = this.#table;
    clearTimeout(this.#collecting);
    this.#phase = 'settled';
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) deliver(waiter, given);
    table.ended(this);
    if (this.#begun.repeated !== undefined) table.remember(this.key);
    else if (this.#round === 0) return;
    this.#leaving?.cancel();
    // As bytes it would hold the whole chunk in which they came.
    const kept = 'member' in given ? { ...given, member: String(given.member) } : given;
    const left = new SettledCall(this, kept, this.#client.progress, this.#askedUntil, table);
    // An answer that there is no room for cannot be asked for again; the client has been sent it.
    if (table.places.keep(left, 'member' in kept ? kept.member.length : 0) !== undefined) return;
    table.settled(left);
    left.forgetLater(table.host.wheel);
  }

  /** Ends a kept call to make room for later ones of the same client. */
  drop(reason: string): void {
    this.#forwarding.open.cancelAll(reason);
  }

  // --- rounds ----------------------------------------------------------------------------------------------------------------

  #park(): void {
    if (this.#phase !== 'collecting') return;
    if (this.#client.questions.size === 0) {
      this.#phase = 'running';
      return;
    }
    const refusal = this.#table.places.keep(this, this.#size);
    if (refusal !== undefined) {
      this.#forwarding.open.failAll(refusal);
      return;
    }
    this.#phase = 'parked';
    this.#round += 1;
    this.#tell(this.#tag, 'parked', { round: this.#round });
    const back = this.#back;
    this.#back = undefined;
    const waiters = this.#waiters.splice(0);
    if (back !== undefined && waiters.includes(back)) this.#takeAnswers(back);
    for (const waiter of waiters)
      if (waiter !== back) {
        if (this.isParked) this.#askFor(waiter);
        else this.#waiters.push(waiter);
      }
  }

  /** Approximate bytes of its first and its latest request, and of open questions. */
  get #size(): number {
    const { params, first } = this.#begun;
    const { latest } = this.#client;
    const again = latest === first ? 0 : JSON.stringify(latest.command.request.params).length;
    return JSON.stringify(params).length + again + this.#client.questions.length;
  }

  /** Whether the time of the client to come back is over. */
  get isOverdue(): boolean {
    return performance.now() > this.#askedUntil;
  }

  #askFor(waiter: PendingReply): void {
    const { questions } = this.#client;
    this.#askedUntil = performance.now() + this.#table.humanMs();
    answerResult(
      waiter,
      inputRequired(questions.requests, this.#table.seal(this.#begun, this.#round, questions.areOfServer)),
    );
  }

  /** Continues the call with a request that brings the state of a round, if the rules in force still permit it. @param view of its caller. */
  resume(waiter: PendingReply, round: number, view: View): void {
    const { host } = this.#table;
    const { method, params, own } = this.#begun;
    this.#wantedAt = host.bus.reconnects;
    const access =
      this.#phase === 'parked' && own === undefined ? host.access.on?.of(waiter.command.caller) : undefined;
    const refusal = access === undefined ? undefined : this.#forwarding.refusal(method, params, view, access);
    if (refusal !== undefined) {
      refuse(waiter, refusal);
      this.#forwarding.open.cancelAll('its caller may not make it any more');
      return;
    }
    if (this.#phase !== 'parked') {
      this.#join(waiter); // M2
    } else if (round !== this.#round) {
      this.#askFor(waiter); // M2: the state is of an earlier round, and the next question is open.
    } else {
      this.#takeAnswers(waiter);
    }
  }

  #join(waiter: PendingReply): void {
    if (this.#waiters.length < maxWaiters) this.#waiters.push(waiter);
    else refuse(waiter, fault('session.busy', `${maxWaiters} requests wait for the answer to this call already`));
  }

  #takeAnswers(waiter: PendingReply): void {
    const answered = this.#client.questions.match(waiter.command.request.params?.['inputResponses']);
    if ('problem' in answered) {
      refuse(waiter, fault('params.invalid', answered.problem));
      return;
    }
    const isComplete = answered.length === this.#client.questions.size;
    const refusal = isComplete ? this.#table.places.run(this) : undefined;
    if (refusal !== undefined) {
      refuse(waiter, refusal); // The client can send the same answers again.
      return;
    }
    this.#client.goesOn(waiter);
    this.trace = waiter.command.trace;
    // The request that brings the answers is watched under a tag of its own.
    if (this.#tag !== undefined)
      this.#tell(waiter.command.tap, 'joined', { call: shownTag(this.#tag), round: this.#round });
    if (isComplete) {
      this.#phase = 'running';
      this.#tell(this.#tag, 'continued', { round: this.#round });
      this.#client.progress.resumed(waiter);
      this.#waiters.push(waiter);
    }
    this.#client.questions.answer(answered); // M1
    if (isComplete) return;
    this.#round += 1;
    this.#askFor(waiter);
  }

  /** The edge of a request asks after it. @returns false when it does not wait for this call. */
  waits(key: SessionKey): boolean {
    const isWaiting = this.#waiters.some(({ command }) => command.key === key);
    if (isWaiting) this.#wantedAt = this.#table.host.bus.reconnects;
    return isWaiting;
  }

  /** Whether no server has it, since it waits for the decision of a person. */
  get hasNotBegun(): boolean {
    return this.#forwarding.open.notBegun.size > 0;
  }

  /** A request was closed by its client. @returns false when it does not belong to this call. */
  closed(key: SessionKey, reason: string, isGivenAway: boolean): boolean {
    const index = this.#waiters.findIndex(({ command }) => command.key === key);
    if (index === -1) return false;
    this.#waiters.splice(index, 1);
    if (this.#waiters.length > 0 || this.#phase === 'parked') return true;
    if (isGivenAway) this.#forwarding.open.giveAway();
    if (this.#begun.repeated === undefined || isGivenAway) this.#forwarding.open.cancelAll(reason); // M3
    else this.#cancelLater(reason);
    return true;
  }

  /** Its client may come back, and repeats the request. */
  #cancelLater(reason: string): void {
    this.#leaving?.cancel();
    this.#leaving = this.#table.host.wheel.schedule(repeatMs, () => {
      if (this.#waiters.length === 0 && this.isRunning) this.#forwarding.open.cancelAll(reason);
    });
  }

  /** Ends the call because the gateway stops; it cannot be continued. */
  abandon(reason: string): void {
    this.#forwarding.open.cancelAll(reason);
  }

  /** Its worker stops, and another one continues it, unless it is a script. */
  leave(reason: string): void {
    this.#forwarding.open.leaveAll(reason);
  }

  get isParked(): boolean {
    return this.#phase === 'parked';
  }

  get isRunning(): boolean {
    return this.#phase === 'running' || this.#phase === 'collecting';
  }
}
