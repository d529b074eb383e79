/** What calls come to whose user must sign in at the server first. */
import type { Challenge } from '@omnibus/credentials';
import type { CallCommand, ExchangeOutcome, InputAnswer, JsonObject, ServerName } from '@omnibus/protocol';

/** Where users are told to sign in. */
export interface SignInDesk {
  /** @param wanted what the server said when it refused. */
  ask(server: ServerName, wanted: Challenge, command: CallCommand): Promise<SignInAnswer>;
}

/** What such a call comes to: an outcome, a question to its client first, or a wait for its user. */
export type SignInAnswer =
  | ExchangeOutcome
  | WaitForSignIn
  | {
      readonly kind: 'question';
      /** Of `elicitation/create`. */
      readonly params: JsonObject;
      /** Never rejects. @returns undefined where the call can be made now. */
      readonly answered: (answer: InputAnswer) => Promise<ExchangeOutcome | undefined>;
      /** As with a wait. */
      readonly done?: ExchangeOutcome | undefined;
    };

/** A call that is made when its user has signed in. */
interface WaitForSignIn {
  readonly kind: 'wait';
  /** Of `elicitation/create`, where the client is asked to open the address; undefined where it is told otherwise. */
  readonly params: JsonObject | undefined;
  /** For the progress of the call, where the client wants that. */
  readonly message: string;
  /** What the call is answered where it cannot wait (any longer). */
  readonly otherwise: ExchangeOutcome;
  /** What it is answered where the client does not open the address. */
  readonly declined: ExchangeOutcome;
  /** Whether somebody has signed in, and the user must confirm that with a code. */
  readonly isCodeWanted: () => Promise<boolean>;
  /** What it is answered after the sign-in, if it is for the gateway and no server must be called. */
  readonly done?: ExchangeOutcome | undefined;
}
