/** Outcomes of calls of users that must sign in at the server first. */
import type { Challenge } from '@omnibus/credentials';
import type { CallCommand, ExchangeOutcome, InputAnswer, JsonObject, ServerName } from '@omnibus/protocol';

/** The address for the sign-in. */
export interface SignInDesk {
  /** @param wanted the server's demand in its refusal. */
  ask(server: ServerName, wanted: Challenge, command: CallCommand): Promise<SignInAnswer>;
}

/** What such a call comes to: an outcome, a question to its client first, or a wait for its user. */
export type SignInAnswer = ExchangeOutcome | WaitForSignIn | CodeQuestion;

/** A question to the client of a call, before the call. */
export interface CodeQuestion {
  readonly kind: 'question';
  /** Of `elicitation/create`. */
  readonly params: JsonObject;
  /** Never rejects. @returns undefined if the call can proceed now. */
  readonly answered: (answer: InputAnswer) => Promise<ExchangeOutcome | undefined>;
  /** As with a wait. */
  readonly done?: ExchangeOutcome | undefined;
}

/** A call that waits for its user's sign-in. */
interface WaitForSignIn {
  readonly kind: 'wait';
  /** Of `elicitation/create`, if the client gets a question to open the address; undefined otherwise. */
  readonly params: JsonObject | undefined;
  /** For the progress of the call, where the client wants that. */
  readonly message: string;
  /** The answer of a call that cannot wait (any longer). */
  readonly otherwise: ExchangeOutcome;
  /** The answer if the client does not open the address. */
  readonly declined: ExchangeOutcome;
  /** Whether a sign-in waits for the user's code. */
  readonly isCodeWanted: () => Promise<boolean>;
  /** The answer after the sign-in, if it is for the gateway alone. */
  readonly done?: ExchangeOutcome | undefined;
}
