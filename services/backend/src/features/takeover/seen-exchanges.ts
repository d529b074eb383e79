/**
 * The calls of this backend worker that another session worker may continue. If the owner of a call dies, the next owner asks every backend worker: one that
 * runs the call passes further events to the new owner, and one that has the answer gives it.
 *
 *   (never) --begin--> running --answer--> answered --keepMs, or no room--> unknown --markMs--> (forgotten)
 *                         +------cancel--> cancelled -----------------------------markMs--> (forgotten)
 *
 * Invariants
 *  T1  A worker says `never` only if it has sent no request of that exchange to a server, and afterwards begins it for the asker only, and by a message that is sent later (fence).
 *  T2  It says `unknown` of calls that are older than a mark that it may have dropped.
 *  T4  A former owner that asks late changes nothing.
 */
import { KeyedLink, KeyedRing, setLast } from '@omnibus/collections';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type {
  AttachCommand,
  AttachReply,
  CallCommand,
  ExchangeEvent,
  ExchangeId,
  ExchangeOutcome,
  Limits,
  Principal,
  SeenState,
  WorkerId,
} from '@omnibus/protocol';
import { sizeUpTo } from './size.ts';

/** A call that runs here. */
export interface TakenCall {
  readonly command: Pick<CallCommand, 'exchange' | 'context'>;
  owner: WorkerId | undefined;
  reply: (event: ExchangeEvent) => void;
}

/** Bytes of kept answers, in all and of the calls of one caller. */
type Bounds = Pick<Limits, 'maxKeptAnswerBytes' | 'maxKeptAnswerBytesPerCaller'>;

/** Milliseconds for which an answer is kept. A session worker that is frozen counts as gone after half of that. */
export const keepMs = 10_000;
/** Milliseconds for which the end of a call is remembered. */
export const markMs = 60_000;
/**
 * Milliseconds for which a fence stands. A session worker that is frozen may send the call when it runs again. By its defaults, NATS holds the connection of
 * such a worker, and the commands for it, for up to six minutes.
 */
const fenceMs = 600_000;
/** Bounds on remembered calls and on fences. */
const maxMarks = 50_000;
const maxFences = 10_000;
/** A larger answer is not kept. */
const maxAnswerBytes = 1_024 * 1_024;

interface Ended {
  readonly exchange: ExchangeId;
  readonly principal: Principal;
  readonly owner: WorkerId | undefined;
  /** Whether a later owner has taken the answer. */
  isTaken: boolean;
  readonly endedAt: number;
  /** The answer; undefined if it is not kept, or not any more. */
  outcome: ExchangeOutcome | undefined;
  readonly bytes: number;
  readonly isCancelled: boolean;
}

interface Fence {
  readonly owner: WorkerId;
  /** The lowest turn of a call that may begin. */
  readonly turn: number;
  /** Messages of the owner that may still arrive: it sends the call again. */
  readonly sendings: number;
  readonly until: number;
}

class Running extends KeyedLink {
  readonly call: TakenCall;
  readonly askAgain: () => void;
  /** The number of its owner (`Begun`). */
  turn: number;

  constructor(call: TakenCall, turn: number, askAgain: () => void) {
    super();
    this.call = call;
    this.turn = turn;
    this.askAgain = askAgain;
  }

  get key(): ExchangeId {
    return this.call.command.exchange;
  }
}

export class SeenExchanges {
  readonly #wheel: Pick<DeadlineWheel, 'schedule'>;
  readonly #clock: { now(): number };
  readonly #bounds: Bounds;
  readonly #running = new KeyedRing<Running>();
  /** Calls that have ended, the oldest first; from `#first` on. */
  #ended: Ended[] = [];
  #first = 0;
  /** Index of the oldest call in `#ended` whose answer may be kept. */
  #firstKept = 0;
  readonly #fences = new Map<ExchangeId, Fence>();
  /** What waits until no answer for an owner is kept that may still be taken. */
  readonly #owed = new Map<WorkerId, PromiseWithResolvers<void>>();
  readonly #bytesOf = new Map<Principal, number>();
  #bytes = 0;
  /** Time of the clock up to which ended calls may be forgotten. */
  #forgottenUpTo = -Infinity;
  #sweep: ReturnType<DeadlineWheel['schedule']> | undefined;

  /** @param clock monotonic milliseconds. */
  constructor(wheel: Pick<DeadlineWheel, 'schedule'>, bounds: Bounds, clock: { now(): number } = performance) {
    this.#wheel = wheel;
    this.#bounds = bounds;
    this.#clock = clock;
  }

  /** Bytes of the answers that are kept, as estimated. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Whether a call may not begin, since another session worker has asked for it, or the same one after this message or for a later copy of the request
   * (T1).
   */
  isFenced({
    exchange,
    owner,
    sending = 1,
    turn = 0,
  }: Pick<CallCommand, 'exchange' | 'owner' | 'sending' | 'turn'>): boolean {
    const fence = this.#fences.size === 0 ? undefined : this.#fences.get(exchange);
    if (fence === undefined || this.#clock.now() >= fence.until) return false;
    return fence.owner !== owner || turn < fence.turn || sending <= fence.sendings;
  }

  /** A call begins. @param askAgain sends its open questions again. @returns a handle for its end. */
  begin(call: TakenCall, askAgain: () => void): Running {
    const turn = this.#fences.size === 0 ? 0 : (this.#fences.get(call.command.exchange)?.turn ?? 0);
    const running = new Running(call, turn, askAgain);
    this.#running.add(running);
    return running;
  }

  /**
   * A call has ended.
   * @param outcome undefined if it was cancelled.
   * @param isSent whether its request went to the server. Otherwise it may begin elsewhere.
   */
  end(running: Running, outcome: ExchangeOutcome | undefined, isSent: boolean): void {
    this.#running.remove(running);
    if (!isSent) return;
    const { exchange, context } = running.call.command;
    const { principal } = context;
    const bytes = outcome === undefined ? 0 : this.#roomFor(principal, outcome);
    const endedAt = this.#clock.now();
    const isKept = bytes > 0;
    this.#ended.push({
      exchange,
      principal,
      owner: running.call.owner,
      isTaken: false,
      endedAt,
      outcome: isKept ? outcome : undefined,
      bytes,
      isCancelled: outcome === undefined,
    });
    if (isKept) this.#count(principal, bytes);
    if (this.#ended.length - this.#first > maxMarks) this.#forget();
    this.#sweep ??= this.#wheel.schedule(keepMs, () => this.#clean());
  }

  /** Answers another session worker. @param reply gets the state, or with `takes` everything that follows of the call. */
  attach(
    { exchange, owner, ageMs, turn, takes, sendings = 0 }: AttachCommand,
    reply: (event: AttachReply) => void,
  ): void {
    const running = this.#running.get(exchange);
    // A question of a former owner that was late (T4).
    if ((running?.turn ?? this.#fences.get(exchange)?.turn ?? 0) > turn) {
      reply({ kind: 'seen', state: 'unknown' });
      return;
    }
    const ended = running === undefined ? this.#find(exchange) : undefined;
    const state = running === undefined ? this.#stateOf(ended, ageMs) : 'running';
    if (state === 'never') {
      this.#fence(exchange, { owner, turn, sendings, until: this.#clock.now() + fenceMs });
    }
    if (!takes || (running === undefined && ended?.outcome === undefined)) {
      reply({ kind: 'seen', state });
    } else if (running === undefined) {
      reply(ended?.outcome as ExchangeOutcome);
      if (ended !== undefined) ended.isTaken = true;
      this.#lookOwed();
    } else {
      running.call.owner = owner;
      running.turn = turn;
      running.call.reply = reply;
      running.askAgain();
    }
  }

  /** The owners of kept answers that no later owner has taken, each with a promise that resolves when there is no such answer left. */
  get owed(): ReadonlyMap<WorkerId, { readonly promise: Promise<void> }> {
    for (const { owner } of this.#untaken()) if (!this.#owed.has(owner)) this.#owed.set(owner, Promise.withResolvers());
    return this.#owed;
  }

  *#untaken(): Generator<{ readonly owner: WorkerId }> {
    for (const { owner, outcome, isTaken } of this.#ended.slice(this.#firstKept))
      if (owner !== undefined && outcome !== undefined && !isTaken) yield { owner };
  }

  #lookOwed(): void {
    if (this.#owed.size === 0) return;
    const owners = new Set([...this.#untaken()].map(({ owner }) => owner));
    for (const [owner, { resolve }] of this.#owed) {
      if (owners.has(owner)) continue;
      this.#owed.delete(owner);
      resolve();
    }
  }

  stop(): void {
    this.#sweep?.cancel();
  }

  #stateOf(ended: Ended | undefined, ageMs: number): SeenState {
    if (ended?.isCancelled === true) return 'cancelled';
    if (ended !== undefined) return ended.outcome === undefined ? 'unknown' : 'answered';
    return this.#clock.now() - ageMs > this.#forgottenUpTo ? 'never' : 'unknown'; // T2
  }

  /** Rare, so it looks at every call from the newest on. */
  #find(exchange: ExchangeId): Ended | undefined {
    for (let index = this.#ended.length - 1; index >= this.#first; index -= 1) {
      const ended = this.#ended[index] as Ended;
      if (ended.exchange === exchange) return ended;
    }
    return undefined;
  }

  #fence(exchange: ExchangeId, fence: Fence): void {
    setLast(this.#fences, exchange, fence, maxFences);
    this.#sweep ??= this.#wheel.schedule(keepMs, () => this.#clean());
  }

  /** @returns the bytes of an answer that there is room for; 0 if there is none. Older answers give way to it, but not those of other callers to one who has his share. */
  #roomFor(principal: Principal, outcome: ExchangeOutcome): number {
    const { maxKeptAnswerBytes: inAll, maxKeptAnswerBytesPerCaller: bytesPerCaller } = this.#bounds;
    const most = Math.min(maxAnswerBytes, inAll, bytesPerCaller);
    const size = sizeUpTo(outcome, most);
    if (size > most || (this.#bytesOf.get(principal) ?? 0) + size > bytesPerCaller) return 0;
    while (this.#bytes + size > inAll && this.#firstKept < this.#ended.length) this.#dropAnswer();
    return size;
  }

  #count(principal: Principal, bytes: number): void {
    this.#bytes += bytes;
    const sum = (this.#bytesOf.get(principal) ?? 0) + bytes;
    if (sum === 0) this.#bytesOf.delete(principal);
    else this.#bytesOf.set(principal, sum);
  }

  /** The oldest call that may have its answer becomes a mark. */
  #dropAnswer(): void {
    const ended = this.#ended[this.#firstKept] as Ended;
    this.#firstKept += 1;
    if (ended.outcome === undefined) return;
    ended.outcome = undefined;
    this.#count(ended.principal, -ended.bytes);
  }

  /** Forgets the oldest call (T2). */
  #forget(): void {
    if (this.#firstKept === this.#first) this.#dropAnswer();
    this.#forgottenUpTo = (this.#ended[this.#first] as Ended).endedAt;
    this.#first += 1;
    if (this.#first < maxMarks) return;
    this.#ended = this.#ended.slice(this.#first);
    this.#firstKept -= this.#first;
    this.#first = 0;
  }

  #clean(): void {
    const now = this.#clock.now();
    while (this.#first < this.#ended.length && now - (this.#ended[this.#first] as Ended).endedAt > markMs)
      this.#forget();
    while (this.#firstKept < this.#ended.length && now - (this.#ended[this.#firstKept] as Ended).endedAt > keepMs)
      this.#dropAnswer();
    this.#lookOwed();
    for (const [exchange, { until }] of this.#fences) {
      if (until > now) break;
      this.#fences.delete(exchange);
    }
    this.#sweep =
      this.#first === this.#ended.length && this.#fences.size === 0
        ? undefined
        : this.#wheel.schedule(keepMs, () => this.#clean());
  }
}
