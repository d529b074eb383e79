/** One call that was refused because its user must sign in first: the actor of `waiting-machine.ts`, and its acts. */
import { startActor, type Deadline, type DeadlineWheel } from '@omnibus/lifecycle';
import type { ExchangeOutcome, InputAnswer, Principal } from '@omnibus/protocol';
import type { Call } from '../../call/call.ts';
import type { QuestionRelay } from '../../call/question-relay.ts';
import type { CallRun } from '../../call/steps.ts';
import type { SignInAnswer } from './sign-in-answer.ts';
import type { CallSignIn } from './sign-in.ts';
import { waitingMachine, type WaitingEvent } from './waiting-machine.ts';

export interface WaitingCallOptions {
  readonly signIn: CallSignIn;
  readonly wheel: DeadlineWheel;
  readonly questions: Pick<QuestionRelay, 'askForRound' | 'rememberElicitations'>;
  readonly run: Pick<CallRun, 'again' | 'end' | 'failed' | 'report'>;
  /** Whether one more call of a user may wait. */
  readonly hasRoom: (principal: Principal) => boolean;
}

type Question = Extract<SignInAnswer, { readonly kind: 'question' }>;
type Wait = Extract<SignInAnswer, { readonly kind: 'wait' }>;
type Asked = Question | Wait;

/** Longest wait: shorter than the ten minutes for which the address works, and than the default of `timeouts.max`, so that the call ends with the address and not with a time limit. */
const maxWaitMs = 9.5 * 60_000;
/** Time between two reports that a call waits, far shorter than the time after which clients and sessions give up a call that says nothing. */
const reportMs = 5_000;
/** Progress of a wait is a small fraction, so that the server's own progress, which must increase, is passed on afterwards. */
const stepSize = 1e-6;

export class WaitingCall {
  readonly #options: WaitingCallOptions;
  readonly #call: Call;
  readonly #actor;
  #limit: Deadline | undefined;
  #tick: Deadline | undefined;
  #ask: (() => Promise<SignInAnswer> | undefined) | undefined;
  /** The answer to the last refusal. */
  #asked: Asked | undefined;

  constructor(options: WaitingCallOptions, call: Call) {
    this.#options = options;
    this.#call = call;
    this.#actor = startActor(waitingMachine, { onFailure: (error) => options.run.failed(call, error) });
  }

  /** Whether it waits for its user now. */
  get isWaiting(): boolean {
    return this.#actor.getSnapshot().value === 'waiting';
  }

  get #isWanted(): boolean {
    return this.#options.signIn.isWanted(this.#call.command.context.principal);
  }

  /**
   * Its server has refused it, for the first time or again.
   * @param ask asks the sign-ins of the server about this refusal; undefined if they do not concern it any more.
   * @param asking their first answer.
   */
  refused(ask: () => Promise<SignInAnswer> | undefined, asking: Promise<SignInAnswer>): void {
    this.#ask = ask;
    this.#moves('refused');
    this.#follow(asking);
  }

  #follow(asking: Promise<SignInAnswer>): void {
    asking
      .then((answer) => {
        if (this.#actor.getSnapshot().value === 'asking') this.#go(answer);
      })
      .catch((error: unknown) => this.#failed(error));
  }

  #go(answer: SignInAnswer): void {
    if (answer.kind === 'question') this.#confirm(answer);
    else if (answer.kind === 'wait') this.#begin(answer);
    else this.#end(answer);
  }

  /** The call has not been made so far: it follows after the code. */
  #confirm(question: Question): void {
    this.#asked = question;
    if (!this.#moves('confirms')) return;
    this.#options.questions.askForRound(
      this.#call,
      'elicitation/create',
      question.params,
      (said) =>
        void question
          .answered(said)
          .then((refusal) => (refusal === undefined ? this.#again() : this.#end(refusal)))
          .catch((error: unknown) => this.#failed(error)),
    );
  }

  #begin(wait: Wait): void {
    this.#asked = wait;
    if (wait.params === undefined) {
      this.#wait(wait);
      return;
    }
    if (!this.#moves('invited')) {
      this.#end(wait.otherwise);
      return;
    }
    this.#leavePlace();
    this.#options.questions.askForRound(this.#call, 'elicitation/create', wait.params, (said) => {
      if (this.#actor.getSnapshot().value !== 'invited') return;
      if (isAccepted(said) || !this.#isWanted) this.#wait(wait);
      else this.#end(wait.declined);
    });
  }

  #leavePlace(): void {
    this.#call.place?.leave(); // W1
    this.#call.place = undefined;
  }

  #wait(wait: Wait): void {
    // A call whose user has signed in meanwhile takes no room.
    if ((this.#isWanted && !this.#options.hasRoom(this.#call.command.context.principal)) || !this.#moves('waits')) {
      this.#end(wait.otherwise);
      return;
    }
    this.#leavePlace();
    if (!this.#isWanted) {
      this.#again();
      return;
    }
    this.#limit = this.#options.wheel.schedule(maxWaitMs, () => this.giveUp());
    this.#report(wait.message, 1);
    // The code may have come during the question to the client.
    void wait.isCodeWanted().then(
      (isWanted) => (isWanted ? this.codeWanted() : undefined),
      () => undefined,
    );
  }

  #report(message: string, count: number): void {
    this.#tick = this.#options.wheel.schedule(reportMs, () => this.#report(message, count + 1));
    this.#options.run.report(this.#call, message, count * stepSize);
  }

  /** Its user's stored records have changed. */
  userChanged(): void {
    if (this.isWaiting && !this.#isWanted) this.#again();
  }

  /** Its user must confirm a sign-in with a code. */
  codeWanted(): void {
    if (!this.isWaiting || !this.#moves('codeWanted')) return;
    const asking = this.#ask?.();
    if (asking === undefined) this.#again();
    else this.#follow(asking);
  }

  /** Answers a call that waits with the address. */
  giveUp(): void {
    if (this.isWaiting && this.#asked?.kind === 'wait') this.#end(this.#asked.otherwise);
  }

  /** The call has ended. */
  left(): void {
    this.#moves('ended');
  }

  #again(): void {
    if (!this.#moves('signedIn')) return;
    const done = this.#asked?.done;
    if (done === undefined) this.#options.run.again(this.#call);
    else this.#end(done);
  }

  #end(outcome: ExchangeOutcome): void {
    if (!this.#moves('ended')) return;
    this.#options.questions.rememberElicitations(outcome, this.#call.session);
    this.#options.run.end(this.#call, outcome);
  }

  #failed(error: unknown): void {
    if (this.#moves('ended')) this.#options.run.failed(this.#call, error);
  }

  /** @returns false if the state has no such event: the call has ended, or waited often enough (W2). */
  #moves(type: WaitingEvent['type']): boolean {
    if (!this.#actor.getSnapshot().can({ type })) return false;
    this.#actor.send({ type });
    if (!this.isWaiting) for (const deadline of [this.#limit, this.#tick]) deadline?.cancel();
    return true;
  }
}

function isAccepted(said: InputAnswer): boolean {
  return 'result' in said && said.result['action'] === 'accept';
}
