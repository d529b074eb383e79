/**
 * Calls of one server that were refused because their user must sign in first. Their client gets a question or the address; if the configuration says so, the
 * call waits until the user has signed in.
 *
 * Invariants
 *  W1  A waiting call has no place in the bulkhead and no connection: the calls of others go on.
 *  W2  A wait ends once: with the sign-in, with its time, with its call (cancelled, out of time, blocked, its session ended), or with this adapter.
 */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { ExchangeOutcome, InputAnswer, Principal } from '@omnibus/protocol';
import type { Call } from '../../call/call.ts';
import type { QuestionRelay } from '../../call/question-relay.ts';
import type { CallRun, CallStep } from '../../call/steps.ts';
import type { SignInAnswer } from './sign-in-answer.ts';
import { askedToSignIn, type CallSignIn } from './sign-in.ts';

export interface CallSignInsOptions {
  readonly signIn: CallSignIn;
  readonly wheel: DeadlineWheel;
  readonly questions: Pick<QuestionRelay, 'askForRound' | 'rememberElicitations'>;
}

type Run = Omit<CallRun, 'finish'>;

type Wait = Extract<SignInAnswer, { readonly kind: 'wait' }>;

interface Waiting {
  readonly call: Call;
  readonly wait: Wait;
  /** The refusal, which decides the next question to the caller. */
  readonly given: ExchangeOutcome;
  readonly limit: Deadline;
  tick: Deadline | undefined;
}

/** Longest wait: shorter than the ten minutes for which the address works, and than the default of `timeouts.max`, so that the call ends with the address and not with a time limit. */
const maxWaitMs = 9.5 * 60_000;
/** Time between two reports that a call waits, far shorter than the time after which clients and sessions give up a call that says nothing. */
const reportMs = 5_000;
/** Progress of a wait is a small fraction, so that the server's own progress, which must increase, is passed on afterwards. */
const stepSize = 1e-6;
/** Bound on waiting calls of one server; further ones are answered with the address at once. */
const maxWaiting = 1_000;
/** Bound on those of one user, so that no user takes the places of others. */
const maxWaitingOfOne = 250;
/** Bound on the sign-ins that one call waits for: a server that demands more after each would have a user sign in without end. */
const maxWaits = 3;

export class CallSignIns implements CallStep {
  readonly #options: CallSignInsOptions;
  #run: Run | undefined;
  readonly #waiting = new Map<Call, Waiting>();
  readonly #waits = new WeakMap<Call, number>();
  #isStopped = false;

  constructor(options: CallSignInsOptions) {
    this.#options = options;
  }

  join(run: Run): void {
    this.#run = run;
  }

  get #calls(): Run {
    if (this.#run === undefined) throw new Error('sign-ins wait for no calls yet');
    return this.#run;
  }

  /** The outcome of a call that is for the gateway and for no server. */
  before({ command }: Call): ExchangeOutcome | undefined {
    return this.#options.signIn.refusal(command);
  }

  /** Calls that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** @returns false for a call that has ended as `given` says. */
  holds(call: Call, given: ExchangeOutcome): boolean {
    const asking = askedToSignIn(given, call.command, this.#options.signIn.ask);
    if (asking === undefined) return false;
    asking
      .then((answer) => (this.#calls.isOpen(call) ? this.#go(call, answer, given) : undefined))
      .catch((error: unknown) => this.#calls.failed(call, error));
    return true;
  }

  #go(call: Call, answer: SignInAnswer, given: ExchangeOutcome): void {
    if (answer.kind === 'wait') this.#begin(call, answer, given);
    // The call has not been made so far: it follows after the answer.
    else if (answer.kind === 'question')
      this.#options.questions.askForRound(
        call,
        'elicitation/create',
        answer.params,
        (said) =>
          void answer
            .answered(said)
            .then((refusal) =>
              refusal === undefined ? this.#again(call, answer.done) : this.#calls.end(call, refusal),
            )
            .catch((error: unknown) => this.#calls.failed(call, error)),
      );
    else this.#end(call, answer);
  }

  /** A user's stored records have changed. */
  changed(principal: Principal): void {
    for (const { call, wait } of [...this.#waiting.values()])
      if (call.command.context.principal === principal && !this.#isWanted(call)) this.#again(call, wait.done);
  }

  /** A browser has signed in at the user's address, and the user must confirm that with a code. */
  codeWanted(principal: Principal): void {
    for (const { call, wait, given } of [...this.#waiting.values()]) {
      if (call.command.context.principal !== principal || !this.#forget(call)) continue;
      if (!this.holds(call, given)) this.#again(call, wait.done);
    }
  }

  /** The call has ended. */
  forgotten(call: Call): void {
    if (this.#waiting.size > 0) this.#forget(call);
  }

  /** Ends all waits, since this adapter leaves: the calls are answered with the address. */
  stop(): void {
    this.#isStopped = true;
    for (const { call, wait } of [...this.#waiting.values()]) this.#end(call, wait.otherwise);
  }

  #begin(call: Call, wait: Wait, given: ExchangeOutcome): void {
    const count = (this.#waits.get(call) ?? 0) + 1;
    this.#waits.set(call, count);
    if (count > maxWaits) {
      this.#end(call, wait.otherwise);
      return;
    }
    call.place?.leave(); // W1
    call.place = undefined;
    if (wait.params === undefined) this.#hold(call, wait, given);
    else
      this.#options.questions.askForRound(call, 'elicitation/create', wait.params, (said) => {
        if (!this.#calls.isOpen(call)) return;
        if (isAccepted(said) || !this.#isWanted(call)) this.#hold(call, wait, given);
        else this.#end(call, wait.declined);
      });
  }

  #hold(call: Call, wait: Wait, given: ExchangeOutcome): void {
    if (!this.#isWanted(call)) {
      this.#again(call, wait.done);
      return;
    }
    if (
      this.#isStopped ||
      this.#waiting.size >= maxWaiting ||
      this.#waitingOf(call.command.context.principal) >= maxWaitingOfOne
    ) {
      this.#end(call, wait.otherwise);
      return;
    }
    const { wheel } = this.#options;
    const waiting: Waiting = {
      call,
      wait,
      given,
      tick: undefined,
      limit: wheel.schedule(maxWaitMs, () => this.#end(call, wait.otherwise)),
    };
    this.#waiting.set(call, waiting);
    this.#report(waiting, 1);
    // The code may have come during the question to the client.
    void wait.isCodeWanted().then(
      (isWanted) =>
        isWanted && this.#waiting.get(call) === waiting ? this.codeWanted(call.command.context.principal) : undefined,
      () => undefined,
    );
  }

  #waitingOf(principal: Principal): number {
    return [...this.#waiting.keys()].filter(({ command: { context } }) => context.principal === principal).length;
  }

  #report(waiting: Waiting, count: number): void {
    waiting.tick = this.#options.wheel.schedule(reportMs, () => this.#report(waiting, count + 1));
    this.#calls.report(waiting.call, waiting.wait.message, count * stepSize);
  }

  #isWanted({ command: { context } }: Call): boolean {
    return this.#options.signIn.isWanted(context.principal);
  }

  /** @param done the answer of a call for which no server must be called. */
  #again(call: Call, done: ExchangeOutcome | undefined): void {
    this.#forget(call);
    if (!this.#calls.isOpen(call)) return;
    if (done === undefined) this.#calls.again(call);
    else this.#calls.end(call, done);
  }

  #end(call: Call, outcome: ExchangeOutcome): void {
    this.#forget(call);
    this.#options.questions.rememberElicitations(outcome, call.session);
    this.#calls.end(call, outcome);
  }

  /** @returns false when it does not wait. */
  #forget(call: Call): boolean {
    const waiting = this.#waiting.get(call);
    waiting?.limit.cancel();
    waiting?.tick?.cancel();
    return this.#waiting.delete(call); // W2
  }
}

function isAccepted(said: InputAnswer): boolean {
  return 'result' in said && said.result['action'] === 'accept';
}
