/**
 * Calls of one server that were refused because their user must sign in first. Their client gets a question or the address; if the configuration says so, the
 * call waits until the user has signed in.
 *
 * Invariants
 *  W1  A waiting call has no place in the bulkhead and no connection: the calls of others go on.
 *  W2  A wait ends once: with the sign-in, with its time, with its call (cancelled, out of time, blocked, its session ended), or with this adapter.
 */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { ExchangeOutcome, Principal } from '@omnibus/protocol';
import type { Call } from '../../call/call.ts';
import type { CallRun, CallStep } from '../../call/steps.ts';
import { askedToSignIn, type CallSignIn } from './sign-in.ts';
import { WaitingCall, type WaitingCallOptions } from './waiting-call.ts';

export interface CallSignInsOptions {
  readonly signIn: CallSignIn;
  readonly wheel: DeadlineWheel;
  readonly questions: WaitingCallOptions['questions'];
}

/** Bound on waiting calls of one server; further ones are answered with the address at once. */
const maxWaiting = 1_000;
/** Bound on those of one user, so that no user takes the places of others. */
const maxWaitingOfOne = 250;

export class CallSignIns implements CallStep {
  readonly #options: CallSignInsOptions;
  #run: Omit<CallRun, 'finish'> | undefined;
  /** Open calls that were refused at least once. */
  readonly #refused = new Map<Call, WaitingCall>();
  #isStopped = false;

  constructor(options: CallSignInsOptions) {
    this.#options = options;
  }

  join(run: Omit<CallRun, 'finish'>): void {
    this.#run = run;
  }

  /** The outcome of a call that is for the gateway and for no server. */
  before({ command }: Call): ExchangeOutcome | undefined {
    return this.#options.signIn.refusal(command);
  }

  get waiting(): number {
    return this.#waiting().length;
  }

  #waiting(principal?: Principal): WaitingCall[] {
    return [...this.#refused]
      .filter(([call, { isWaiting }]) => isWaiting && (principal ?? principalOf(call)) === principalOf(call))
      .map(([, waiting]) => waiting);
  }

  /** @returns false for a call that has ended as `given` says. */
  holds(call: Call, given: ExchangeOutcome): boolean {
    const ask = (): ReturnType<typeof askedToSignIn> => askedToSignIn(given, call.command, this.#options.signIn.ask);
    const asking = ask();
    if (asking === undefined) return false;
    const waiting = this.#refused.get(call) ?? this.#begin(call);
    waiting.refused(ask, asking);
    return true;
  }

  #begin(call: Call): WaitingCall {
    if (this.#run === undefined) throw new Error('sign-ins wait for no calls yet');
    const begun = new WaitingCall({ ...this.#options, run: this.#run, hasRoom: (user) => this.#hasRoom(user) }, call);
    this.#refused.set(call, begun);
    return begun;
  }

  #hasRoom(principal: Principal): boolean {
    return !this.#isStopped && this.waiting < maxWaiting && this.#waiting(principal).length < maxWaitingOfOne;
  }

  /** A user's stored records have changed. */
  changed(principal: Principal): void {
    for (const waiting of this.#waiting(principal)) waiting.userChanged();
  }

  /** A browser has signed in at the user's address, and the user must confirm that with a code. */
  codeWanted(principal: Principal): void {
    for (const waiting of this.#waiting(principal)) waiting.codeWanted();
  }

  forgotten(call: Call): void {
    if (this.#refused.size === 0) return;
    this.#refused.get(call)?.left(); // W2
    this.#refused.delete(call);
  }

  /** Ends all waits, since this adapter leaves: the calls are answered with the address. */
  stop(): void {
    this.#isStopped = true;
    for (const waiting of this.#waiting()) waiting.giveUp();
  }
}

const principalOf = ({ command: { context } }: Call): Principal => context.principal;
