import { signInName } from '@omnibus/protocol';
import type { ServerFeature, ServerParts } from '../../feature.ts';
import type { SignInDesk } from './sign-in-answer.ts';
import { CallSignIns } from './call-sign-ins.ts';
import { signInWith } from './sign-in.ts';
import type { UserAccounts } from './user-accounts.ts';

/** Calls of users that must sign in first. @param desk undefined for a server without sign-ins: its users get the reason why calls are impossible. */
export function callSignIns(
  { server, wheel, questions, catalog }: ServerParts,
  users: UserAccounts,
  desk: SignInDesk | undefined,
): CallSignIns {
  return new CallSignIns({
    wheel,
    questions,
    signIn: signInWith({
      server,
      signIns: desk,
      credentials: { users },
      // Whether a user sees a tool of that name in place of the server's tools, until the sign-in.
      isStandIn: (name, principal) =>
        name === signInName && (catalog.owners?.showsStandIn(principal) ?? catalog.record.wantsSignIn === true),
      asked: (principal) => catalog.owners?.refused(principal),
    }),
  });
}

export function featureOf(step: CallSignIns): ServerFeature {
  return {
    name: 'sign-in',
    step,
    get waiting() {
      return step.waiting;
    },
    userChanged: (principal) => step.changed(principal),
  };
}
