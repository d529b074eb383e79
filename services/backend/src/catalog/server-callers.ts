/** How a server knows its callers: by credentials of their own, by headers that name them, or not at all. */
import type { ServerConfig } from '@omnibus/config';
import type { Principal, ServerName } from '@omnibus/protocol';
import { OwnerOffers } from './owner-offers.ts';
import type { CallersInCatalog } from './publisher-options.ts';
import { signInTool } from './sign-in-offer.ts';
import type { ServerCredentials } from '../transport/credentials/server-credentials.ts';
import { headersOf } from '../connection/caller-headers.ts';
import type { ConnectionPoolOptions } from '../connection/pool-options.ts';

export interface ServerCallers {
  /** For the connections to the server. */
  readonly pool: Pick<ConnectionPoolOptions, 'isOwned' | 'met' | 'headersFor'>;
  /** For its entry in the catalogue. */
  readonly catalog: CallersInCatalog;
  /**
   * A user's stored records have changed.
   * @returns the connections that have to be opened again: those of the user (`own`), or the one of all users (`shared`).
   */
  changed(principal: Principal): Promise<'own' | 'shared' | undefined>;
  /** Whether each user has connections and lists of their own. */
  readonly areSeveral: boolean;
}

export function callersOf({
  server,
  config,
  credentials,
}: {
  readonly server: ServerName;
  readonly config: ServerConfig;
  readonly credentials: ServerCredentials | undefined;
}): ServerCallers {
  const users = credentials?.users;
  const headersFor = headersOf(server, config);
  const areSeveral = users?.areSeveral === true;
  const owned = areSeveral ? users : undefined;
  const isOwned = owned !== undefined || headersFor !== undefined;
  const standIn = signInTool(
    server,
    config.credentials?.kind === 'exchange' || config.credentials?.kind === 'enterprise',
  );
  return {
    areSeveral,
    pool: {
      isOwned,
      headersFor,
      met: owned?.met === undefined ? undefined : (context) => owned.met?.(context),
    },
    catalog: {
      standIn: () => (users?.wantsSignIn === true ? standIn : undefined),
      isToldCallers: headersFor !== undefined,
      listsOfUsers: isOwned
        ? (parts) =>
            new OwnerOffers({
              ...parts,
              standIn,
              wantsSignIn: (principal) => owned?.of(principal).wanted !== undefined,
            })
        : undefined,
    },
    async changed(principal) {
      if ((await users?.changed(principal)) !== 'new') return undefined;
      return areSeveral ? 'own' : 'shared';
    },
  };
}
