/** What is left of a call over several rounds once it has its answer: the answer alone, for a client that sends its last request again (M2 of `call.ts`). */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { Caller, GatewayFault } from '@omnibus/protocol';
import type { KeptCall } from './kept-calls.ts';
import { answer, refuse, type PendingReply } from './pending-reply.ts';
import type { RoundProgress } from './round-progress.ts';

export type Settlement = { readonly member: string; readonly httpStatus: number } | { readonly fault: GatewayFault };

/** Milliseconds in which the answer of a settled call can be requested again. */
const keepMs = 60_000;

export class SettledCall implements KeptCall {
  readonly caller: Caller;
  readonly isParked = false;
  readonly #settlement: Settlement;
  readonly #progress: RoundProgress;
  readonly #askedUntil: number;
  readonly #ended: (call: KeptCall) => void;
  #forgetting: Deadline | undefined;

  /** @param askedUntil until when its client may come back, by `performance.now()`. @param ended called when the answer is forgotten. */
  constructor(
    caller: Caller,
    settlement: Settlement,
    progress: RoundProgress,
    askedUntil: number,
    ended: (call: KeptCall) => void,
  ) {
    this.caller = caller;
    this.#settlement = settlement;
    this.#progress = progress;
    this.#askedUntil = askedUntil;
    this.#ended = ended;
  }

  forgetLater(wheel: DeadlineWheel): void {
    this.#forgetting = wheel.schedule(keepMs, () => this.#ended(this));
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
    this.#ended(this);
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
}

export function deliver(waiter: PendingReply, settlement: Settlement): void {
  if ('fault' in settlement) refuse(waiter, settlement.fault);
  else answer(waiter, settlement.member, settlement.httpStatus);
}
