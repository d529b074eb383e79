/** How a server with credentials, or with headers that name the caller, tells its callers apart. */
import type { ServerConfig } from '@omnibus/config';
import type { ServerName } from '@omnibus/protocol';
import { OwnerOffers } from '../../catalog/owner-offers.ts';
import { signInTool } from '../../catalog/sign-in-offer.ts';
import type { OwnIdentities } from '../../connection/identities.ts';
import type { ServerIdentities } from '../../feature.ts';
import { headersOf, markOf, type HeadersOf } from './caller-headers.ts';
import type { ServerCredentials } from './server-credentials.ts';
import type { UserAccounts } from './user-accounts.ts';

/** @param credentials undefined for a server that gets its configured headers only. */
export function identitiesOf(
  server: ServerName,
  config: ServerConfig,
  credentials: ServerCredentials | undefined,
): ServerIdentities {
  const users = credentials?.users;
  const headers = headersOf(server, config);
  const owned = users?.areSeveral === true ? users : undefined;
  const own = owned === undefined && headers === undefined ? undefined : ownOf(headers, owned, credentials);
  const standIn = signInTool(
    server,
    config.credentials?.kind === 'exchange' || config.credentials?.kind === 'enterprise',
  );
  return {
    base: credentials?.base,
    own,
    get wantsSignIn() {
      return users?.wantsSignIn === true;
    },
    catalog: {
      standIn: () => (users?.wantsSignIn === true ? standIn : undefined),
      isToldCallers: headers !== undefined,
      listsOfUsers:
        own === undefined
          ? undefined
          : (parts) =>
              new OwnerOffers({
                ...parts,
                standIn,
                wantsSignIn: (principal) => owned?.of(principal).wanted !== undefined,
              }),
    },
    async changed(principal) {
      const change = await users?.changed(principal);
      // A WebSocket shows credentials only when it is opened, so it would go on with those that are gone.
      const isStillShown = change === 'gone' && /^wss?:/i.test(config.url ?? '');
      if (change !== 'new' && change !== 'found' && !isStillShown) return undefined;
      return { of: owned === undefined ? 'all' : 'user', isInUse: change === 'found' };
    },
  };
}

function ownOf(
  headersFor: HeadersOf | undefined,
  owned: UserAccounts | undefined,
  credentials: ServerCredentials | undefined,
): OwnIdentities {
  return {
    of(context) {
      owned?.met?.(context);
      const made = headersFor?.(context);
      if (made !== undefined && 'fault' in made) return made;
      const { principal } = context;
      return {
        headers: made?.headers,
        credentials: () => (owned === undefined ? credentials?.base : owned.of(principal)),
        mark: markOf(made?.headers),
      };
    },
  };
}
