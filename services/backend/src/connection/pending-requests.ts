/**
 * The requests of one connection that wait for their answers.
 *
 * Invariants
 *  C1  Request ids are never reused within the life of the connection object, so a late answer meets nobody.
 *  C2  Every request settles exactly once: result, error, fault, or nothing after `cancel`.
 */
import { SlotTable } from '@omnibus/collections';
import type { ExchangeOutcome, JsonObject, JsonRpcId, SessionKey } from '@omnibus/protocol';
import type { RequestContext, Said, ServerDialect } from '../dialect/dialect.ts';
import type { PendingReply } from './pending-reply.ts';

export interface PendingRequest extends Said {
  readonly method: string;
  readonly params: JsonObject;
  readonly context: RequestContext;
  readonly reply: PendingReply;
  /** Grows with each request of the connection; ids do not, since their slots are used again. */
  readonly order: number;
  /** In which it was sent; of one that is held, not yet. */
  dialect: ServerDialect;
  /** `held`: not with the server now, to be sent when the connection is ready. */
  state: 'sent' | 'held' | 'resent';
}

export interface PendingRequestsOptions {
  /** A request is out of flight; nobody has heard of its end yet, except where whoever made it took it back. */
  readonly ended: (reply: PendingReply, how: 'settled' | 'cancelled') => void;
  /** An answer came to nobody. */
  readonly late: () => void;
}

export class PendingRequests {
  readonly #options: PendingRequestsOptions;
  readonly #table = new SlotTable<PendingRequest>(); // C1
  #count = 0;

  constructor(options: PendingRequestsOptions) {
    this.#options = options;
  }

  /** The place of the next request among all. */
  next(): number {
    this.#count += 1;
    return this.#count;
  }

  /** @returns its id. */
  add(pending: PendingRequest): number {
    return this.#table.add(pending);
  }

  /** Our ids are numbers; a server that answers to anything else answers to nobody. */
  find(id: JsonRpcId): PendingRequest | undefined {
    return typeof id === 'number' ? this.#table.get(id) : undefined;
  }

  /** Takes one out that nobody waits for any more. */
  cancel(id: number): PendingRequest | undefined {
    const pending = this.#table.take(id); // C2
    if (pending !== undefined) this.#options.ended(pending.reply, 'cancelled');
    return pending;
  }

  settle(id: JsonRpcId, outcome: ExchangeOutcome): void {
    const pending = typeof id === 'number' ? this.#table.take(id) : undefined; // C2
    if (pending === undefined || typeof id !== 'number') {
      this.#options.late();
      return;
    }
    this.#options.ended(pending.reply, 'settled');
    pending.reply.settle(outcome, id);
  }

  /** As they are now: they may be settled while the result is walked. */
  all(): readonly (readonly [id: number, pending: PendingRequest])[] {
    return this.#table.toArray();
  }

  /** Whoever waits for an answer, the one that has waited longest first. */
  get replies(): readonly PendingReply[] {
    return this.all().map(([, pending]) => pending).sort((one, other) => one.order - other.order).map(({ reply }) => reply);
  }

  /** Takes out what only tells of changes, unless something else waits too. @returns whether nothing waits now. */
  endStanding(): boolean {
    const all = this.all();
    const isAlone = all.every(([, { method, reply }]) => method === 'subscriptions/listen' && reply.session === undefined);
    if (isAlone) for (const [id] of all) this.cancel(id);
    return isAlone;
  }

  get hasHeld(): boolean {
    return this.all().some(([, { state }]) => state === 'held');
  }

  /** The only one in flight of a session; undefined when there are several, or none. */
  onlyOf(session: SessionKey): PendingRequest | undefined {
    const candidates = this.all().filter(([, { reply }]) => reply.session === session);
    return candidates.length === 1 ? candidates[0]?.[1] : undefined;
  }
}
