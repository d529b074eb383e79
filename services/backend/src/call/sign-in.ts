/** Calls that a server has refused because it does not know on whose behalf they are made. */
import type { Challenge } from '@omnibus/credentials';
import type { CallCommand, ExchangeContext, ExchangeMethod, ExchangeOutcome, GatewayFault, Principal, ServerName } from '@omnibus/protocol';

/** Where users are told to sign in. */
export interface SignInDesk {
  /** @param wanted what the server said when it refused. */
  ask(server: ServerName, wanted: Challenge, method: ExchangeMethod, context: ExchangeContext): Promise<ExchangeOutcome>;
}

/** What such a call is answered; undefined where it was refused for something else. */
export type AsksForSignIn = (command: CallCommand) => Promise<ExchangeOutcome> | undefined;

interface SignInOptions {
  readonly server: ServerName;
  readonly signIns: SignInDesk | undefined;
  readonly credentials: { readonly users?: { of(principal: Principal): { readonly wanted: Challenge | undefined } } } | undefined;
}

export function signInWith({ server, signIns, credentials }: SignInOptions): AsksForSignIn {
  return ({ method, context }) => {
    const wanted = credentials?.users?.of(context.principal).wanted;
    return wanted === undefined ? undefined : signIns?.ask(server, wanted, method, context);
  };
}

/** @returns undefined where the call has ended as `given` says. */
export function askedToSignIn(given: ExchangeOutcome, command: CallCommand, ask: AsksForSignIn): Promise<ExchangeOutcome> | undefined {
  // Who cannot be asked now is told what the server said.
  return given.kind === 'fault' && mayWantSignIn(given.fault) ? ask(command)?.catch(() => given) : undefined;
}

/** Nothing was done with the call then. */
function mayWantSignIn({ reason, data }: GatewayFault): boolean {
  return reason === 'upstream.unavailable' || (reason === 'upstream.refused' && (data?.['httpStatus'] === 401 || data?.['httpStatus'] === 403));
}
