/** Calls that a server has refused because it does not know on whose behalf they are made. */
import type { Challenge } from '@omnibus/credentials';
import type { CallCommand, ExchangeOutcome, GatewayFault, InputAnswer, JsonObject, Principal, ServerName } from '@omnibus/protocol';

/** Where users are told to sign in. */
export interface SignInDesk {
  /** @param wanted what the server said when it refused. */
  ask(server: ServerName, wanted: Challenge, command: CallCommand): Promise<SignInAnswer>;
}

/** What such a call comes to: an outcome, or a question to its client first. */
export type SignInAnswer = ExchangeOutcome | {
  readonly kind: 'question';
  /** Of `elicitation/create`. */
  readonly params: JsonObject;
  /** Never rejects. @returns undefined where the call can be made now. */
  readonly answered: (answer: InputAnswer) => Promise<ExchangeOutcome | undefined>;
};

/** What such a call is answered; undefined where it was refused for something else. */
export type AsksForSignIn = (command: CallCommand) => Promise<SignInAnswer> | undefined;

interface SignInOptions {
  readonly server: ServerName;
  readonly signIns: SignInDesk | undefined;
  /** Hears of users who are asked to sign in. */
  readonly asked: (principal: Principal) => void;
  readonly credentials: { readonly users?: { of(principal: Principal): { readonly wanted: Challenge | undefined } } } | undefined;
}

export function signInWith({ server, signIns, asked, credentials }: SignInOptions): AsksForSignIn {
  return (command) => {
    const { principal } = command.context;
    const wanted = credentials?.users?.of(principal).wanted;
    if (wanted === undefined) return undefined;
    asked(principal);
    return signIns?.ask(server, wanted, command);
  };
}

/** @returns undefined where the call has ended as `given` says. */
export function askedToSignIn(given: ExchangeOutcome, command: CallCommand, ask: AsksForSignIn): Promise<SignInAnswer> | undefined {
  // Who cannot be asked now is told what the server said.
  return given.kind === 'fault' && mayWantSignIn(given.fault) ? ask(command)?.catch(() => given) : undefined;
}

/** Nothing was done with the call then. */
function mayWantSignIn({ reason, data }: GatewayFault): boolean {
  return reason === 'upstream.unavailable' || (reason === 'upstream.refused' && (data?.['httpStatus'] === 401 || data?.['httpStatus'] === 403));
}
