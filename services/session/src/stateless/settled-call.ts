/** The rest of a call over several rounds after its answer: the answer alone, for a client that sends its last request again (M2 of `call.ts`). */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { KeyedLink } from '@omnibus/collections';
import type { Caller, SessionKey } from '@omnibus/protocol';
import type { PlacedCall } from './places.ts';
import { deliver, type PendingReply, type Settlement } from './pending-reply.ts';
import type { RoundProgress } from './round-progress.ts';

/** Milliseconds in which the answer of a settled call can be requested again. */
const keepMs = 60_000;

/** The rest of a call that may be requested. */
interface Leaver {
  ended(call: SettledCall): void;
}

export class SettledCall extends KeyedLink implements PlacedCall {
  readonly key: SessionKey;
  readonly caller: Caller;
  isAmongRunning = false;
  readonly isParked = false;
  readonly hasNotBegun = false;
  readonly #settlement: Settlement;
  readonly #progress: RoundProgress;
  readonly #askedUntil: number;
  readonly #table: Leaver;
  #forgetting: Deadline | undefined;

  /** @param askedUntil until when its client may come back, by `performance.now()`. @param table hears when the answer is forgotten. */
  constructor(
    { key, caller }: { readonly key: SessionKey; readonly caller: Caller },
    settlement: Settlement,
    progress: RoundProgress,
    askedUntil: number,
    table: Leaver,
  ) {
    super();
    this.key = key;
    this.caller = caller;
    this.#settlement = settlement;
    this.#progress = progress;
    this.#askedUntil = askedUntil;
    this.#table = table;
  }

  forgetLater(wheel: DeadlineWheel): void {
    this.#forgetting = wheel.schedule(keepMs, () => this.#table.ended(this));
  }

  get isOverdue(): boolean {
    return performance.now() > this.#askedUntil;
  }

  resume(waiter: PendingReply): void {
    this.#progress.resumed(waiter);
    deliver(waiter, this.#settlement);
  }

  drop(): void {
    this.#forgetting?.cancel();
    this.#table.ended(this);
  }

  /** No request waits for it. */
  waits(): boolean {
    return false;
  }

  closed(): boolean {
    return false;
  }

  barred(): void {
    // It is at no server any more.
  }

  abandon(): void {
    this.drop();
  }

  leave(): void {
    // It makes no calls.
  }
}
