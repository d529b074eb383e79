/** Calls that a server has refused for lack of a user's credentials. */
import { insufficientScope, type Challenge } from '@omnibus/credentials';
import {
  fault,
  insteadOfKey,
  isObject,
  printable,
  signInName,
  type CallCommand,
  type ExchangeOutcome,
  type GatewayFault,
  type Principal,
  type ServerName,
} from '@omnibus/protocol';
import type { SignInAnswer, SignInDesk } from './sign-in-answer.ts';

/** The answer to such a call; undefined if it was refused for another reason. */
export type AsksForSignIn = (command: CallCommand, refused: GatewayFault) => Promise<SignInAnswer> | undefined;

/** How calls and sign-ins of users meet. */
export interface CallSignIn {
  readonly ask: AsksForSignIn;
  /** Whether there are no credentials of that user that the server accepts, as far as is known. */
  readonly isWanted: (principal: Principal) => boolean;
  /** The outcome of a call that is for the gateway: of the tool that stands for a sign-in. The server has no such tool, and would answer that. */
  readonly refusal: (command: CallCommand) => ExchangeOutcome | undefined;
}

interface SignInOptions {
  readonly server: ServerName;
  readonly signIns: SignInDesk | undefined;
  /** Whether a user sees a tool of that name in place of the server's tools, until the sign-in. */
  readonly isStandIn: (name: unknown, principal: Principal) => boolean;
  /** Hears of users that must sign in. */
  readonly asked: (principal: Principal) => void;
  readonly credentials:
    | {
        readonly users?: {
          of(principal: Principal): {
            readonly wanted: Challenge | undefined;
            readonly lacking?: Challenge | undefined;
          };
        };
      }
    | undefined;
}

/** Whether the tool that stands for a sign-in is called instead of another one. A client may send this key too; with a call of another tool it has no meaning. */
function isInsteadOf({ params: { name, _meta: meta } }: CallCommand): boolean {
  return name === signInName && isObject(meta) && meta[insteadOfKey] !== undefined;
}

/** The answer of the `connect` tool to a signed-in user. */
function answerOf(server: ServerName, isInstead: boolean): ExchangeOutcome {
  const text = isInstead
    ? `You are signed in to "${server}" now. The tool was not called before that: call it again.`
    : `You are signed in to "${server}".`;
  return { kind: 'result', result: { content: [{ type: 'text', text }], isError: isInstead } };
}

export function signInWith({ server, signIns, isStandIn, asked, credentials }: SignInOptions): CallSignIn {
  const wantedBy = (principal: Principal): Challenge | undefined => credentials?.users?.of(principal).wanted;
  const isForStandIn = (command: CallCommand): boolean =>
    command.method === 'tools/call' &&
    (isInsteadOf(command) || isStandIn(command.params['name'], command.context.principal));
  const signedIn = (command: CallCommand): ExchangeOutcome => answerOf(server, isInsteadOf(command));
  /** A user with too few rights at the server, although the issuer got the request for them: another sign-in would not change that. */
  const lackOf = (principal: Principal): ExchangeOutcome | undefined => {
    const lacking = credentials?.users?.of(principal).lacking;
    if (lacking === undefined || wantedBy(principal) !== undefined) return undefined;
    const rights =
      lacking.scope === undefined ? 'more rights' : `the scope ${JSON.stringify(printable(lacking.scope, 200))}`;
    return {
      kind: 'fault',
      fault: fault(
        'upstream.refused',
        `server "${server}" demands ${rights} (${insufficientScope}). Its issuer was asked for that when its user signed in, and the server does not accept what the issuer gave. If users did not allow it, they end the connection (omnibus connections revoke ${server}) and sign in again. Otherwise an operator of the server must give them these rights.`,
        { server, httpStatus: 403 },
      ),
    };
  };
  return {
    ask(command, { message }) {
      const { principal } = command.context;
      const wanted = wantedBy(principal);
      // Other refusals say nothing of rights.
      if (wanted === undefined) {
        const lack = message.includes(insufficientScope) ? lackOf(principal) : undefined;
        return lack === undefined ? undefined : Promise.resolve(lack);
      }
      asked(principal);
      const done = isForStandIn(command) ? signedIn(command) : undefined;
      return signIns
        ?.ask(server, wanted, command)
        .then((answer) => (answer.kind === 'wait' || answer.kind === 'question' ? { ...answer, done } : answer));
    },
    isWanted: (principal) => wantedBy(principal) !== undefined,
    refusal(command) {
      if (signIns === undefined || !isForStandIn(command)) return undefined;
      // The lists of a user that has signed in are about to be read, if the server gives them.
      const lack = lackOf(command.context.principal);
      if (lack !== undefined) return lack;
      return wantedBy(command.context.principal) === undefined
        ? signedIn(command)
        : { kind: 'fault', fault: fault('upstream.unavailable', `server "${server}" wants a sign-in`, { server }) };
    },
  };
}

/** @returns undefined where the call has ended as `given` says. */
export function askedToSignIn(
  given: ExchangeOutcome,
  command: CallCommand,
  ask: AsksForSignIn,
): Promise<SignInAnswer> | undefined {
  // A client without questions gets the server's message.
  return given.kind === 'fault' && mayWantSignIn(given.fault)
    ? ask(command, given.fault)?.catch(() => given)
    : undefined;
}

/** Nothing was done with the call then. */
function mayWantSignIn({ reason, data }: GatewayFault): boolean {
  return (
    reason === 'upstream.unavailable' ||
    (reason === 'upstream.refused' && (data?.['httpStatus'] === 401 || data?.['httpStatus'] === 403))
  );
}
