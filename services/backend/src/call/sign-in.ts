/** Calls that a server has refused because it does not know on whose behalf they are made. */
import type { Challenge } from '@omnibus/credentials';
import { fault, type CallCommand, type ExchangeOutcome, type GatewayFault, type InputAnswer, type JsonObject, type Principal, type ServerName } from '@omnibus/protocol';

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

/** How calls and sign-ins of users meet. */
export interface CallSignIn {
  readonly ask: AsksForSignIn;
  /** The outcome of a call that is for the gateway: of the tool that stands for a sign-in. The server has no such tool, and would answer that. */
  readonly refusal: (command: CallCommand) => ExchangeOutcome | undefined;
}

interface SignInOptions {
  readonly server: ServerName;
  readonly signIns: SignInDesk | undefined;
  /** Whether a tool of that name is shown to a user in the place of the server's tools, until he has signed in. */
  readonly isStandIn: (name: unknown, principal: Principal) => boolean;
  /** Hears of users who are asked to sign in. */
  readonly asked: (principal: Principal) => void;
  readonly credentials: { readonly users?: { of(principal: Principal): { readonly wanted: Challenge | undefined } } } | undefined;
}

export function signInWith({ server, signIns, isStandIn, asked, credentials }: SignInOptions): CallSignIn {
  const wantedBy = (principal: Principal): Challenge | undefined => credentials?.users?.of(principal).wanted;
  return {
    ask(command) {
      const { principal } = command.context;
      const wanted = wantedBy(principal);
      if (wanted === undefined) return undefined;
      asked(principal);
      return signIns?.ask(server, wanted, command);
    },
    refusal({ method, params, context: { principal } }) {
      if (signIns === undefined || method !== 'tools/call' || !isStandIn(params['name'], principal)) return undefined;
      if (wantedBy(principal) !== undefined) return { kind: 'fault', fault: fault('upstream.unavailable', `server "${server}" wants a sign-in`, { server }) };
      // His lists are about to be read.
      return { kind: 'result', result: { content: [{ type: 'text', text: `You are signed in to "${server}".` }], isError: false } };
    },
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
