/**
 * The requests of one connection that wait for their answers.
 *
 * Invariants
 *  C1  Request ids are never reused within the life of the connection object, so a late answer reaches no request.
 *  C2  Every request settles exactly once: result, error, fault, or nothing after `cancel`.
 */
import { SlotTable } from '@omnibus/collections';
import type { ExchangeOutcome, JsonObject, JsonRpcId, SessionKey } from '@omnibus/protocol';
import type { RequestContext, Said, ServerDialect } from '../dialect/dialect.ts';
import type { PendingReply } from './pending-reply.ts';
import type { Questions } from './questions.ts';

export interface PendingRequest extends Said {
  readonly method: string;
  readonly params: JsonObject;
  readonly context: RequestContext;
  readonly reply: PendingReply;
  /** Number of the request in the order of sending. Ids do not give that order, since their slots are used again. */
  order: number;
  /** The dialect in which it was sent; for a held request, the dialect is set when it is sent. */
  dialect: ServerDialect;
  /** `held`: the request is not at the server, and will be sent when the connection is ready. */
  state: 'sent' | 'held' | 'resent';
}

export class PendingRequests {
  readonly #questions: Pick<Questions, 'isOpen' | 'leave'>;
  readonly #late: () => void;
  readonly #table = new SlotTable<PendingRequest>(); // C1
  #count = 0;
  /** Number of the latest request that was reported as doubtful. */
  #doubted = 0;

  /**
   * @param questions hear of each request that is no longer in flight, before its maker does; a maker that has cancelled it knows.
   * @param late called for an answer to no request.
   */
  constructor(questions: Pick<Questions, 'isOpen' | 'leave'>, late: () => void) {
    this.#questions = questions;
    this.#late = late;
  }

  /** @returns its id. */
  add(pending: PendingRequest): number {
    this.#count += 1;
    pending.order = this.#count;
    return this.#table.add(pending);
  }

  /** Our ids are numbers, so an answer with any other id belongs to no request. */
  find(id: JsonRpcId): PendingRequest | undefined {
    return typeof id === 'number' ? this.#table.get(id) : undefined;
  }

  /** Removes a request that was cancelled. */
  cancel(id: number): PendingRequest | undefined {
    const pending = this.#table.take(id); // C2
    if (pending !== undefined) this.#questions.leave(pending.reply, 'cancelled');
    return pending;
  }

  settle(id: JsonRpcId, outcome: ExchangeOutcome): void {
    const pending = typeof id === 'number' ? this.#table.take(id) : undefined; // C2
    if (pending === undefined || typeof id !== 'number') {
      this.#late();
      return;
    }
    if (this.#questions.isOpen) this.#questions.leave(pending.reply, 'settled');
    pending.reply.settle(outcome, id);
  }

  /** A copy, since requests may settle while it is walked. */
  all(): readonly (readonly [id: number, pending: PendingRequest])[] {
    return this.#table.toArray();
  }

  /** The receivers of answers, the one that has waited longest first. */
  get replies(): readonly PendingReply[] {
    return this.all()
      .map(([, pending]) => pending)
      .sort((one, other) => one.order - other.order)
      .map(({ reply }) => reply);
  }

  /** Removes the standing requests (subscriptions) if nothing else waits. @returns whether nothing waits now. */
  endStanding(): boolean {
    const all = this.all();
    const isAlone = all.every(([, pending]) => isStanding(pending));
    if (isAlone) for (const [id] of all) this.cancel(id);
    return isAlone;
  }

  /** The id of the only request that waits for an answer; undefined if none does, or several. Standing requests do not count. */
  get only(): number | undefined {
    const [first, ...others] = this.all().filter(([, pending]) => !isStanding(pending));
    return others.length === 0 ? first?.[0] : undefined;
  }

  /** Tells each call once that the server wrote something that cannot be read. */
  doubt(problem: string): void {
    if (this.#doubted === this.#count) return;
    for (const { order, reply } of this.#table) if (order > this.#doubted) reply.doubt(problem);
    this.#doubted = this.#count;
  }

  /** Whether the server has calls of clients. */
  get hasSentCalls(): boolean {
    return this.all().some(([, { state, reply }]) => state !== 'held' && reply.session !== undefined);
  }

  get hasHeld(): boolean {
    return this.all().some(([, { state }]) => state === 'held');
  }

  /** The calls of clients in flight. @returns the only one, if there is one; and its session: null where several sessions have calls, undefined where none has. */
  get calls(): { readonly only: PendingRequest | undefined; readonly session: SessionKey | null | undefined } {
    let only: PendingRequest | undefined;
    let count = 0;
    let session: SessionKey | null | undefined;
    for (const pending of this.#table) {
      const { session: made } = pending.reply;
      if (made === undefined) continue;
      count += 1;
      only = count === 1 ? pending : undefined;
      if (made !== session) session = session === undefined ? made : null;
      if (session === null) break;
    }
    return { only, session };
  }
}

/** A subscription, which is answered when it ends. */
function isStanding({ method, reply }: PendingRequest): boolean {
  return method === 'subscriptions/listen' && reply.session === undefined;
}
