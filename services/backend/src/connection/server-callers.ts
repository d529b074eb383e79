/** How a server knows its callers: by credentials of their own, by headers that name them, or not at all. */
import type { ServerConfig } from '@omnibus/config';
import type { Principal, ServerName } from '@omnibus/protocol';
import type { ServerCredentials } from '../transport/credentials/server-credentials.ts';
import { headersOf } from './caller-headers.ts';
import type { ConnectionPoolOptions } from './pool-options.ts';

/** Inputs of a server's entry in the catalogue. */
export interface CallersInCatalog {
  /** Whether the server demands credentials over the shared connection. */
  readonly wantsSignIn: () => boolean;
  /** Whether the server is called with tokens made from those of its callers. */
  readonly isMadeFromCallers: boolean;
  /** Of a user, where each is called for in its own name; undefined elsewhere. */
  readonly ownerWantsSignIn: ((principal: Principal) => boolean) | undefined;
  /** Whether headers name the caller. */
  readonly isToldCallers: boolean;
}

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
  return {
    areSeveral,
    pool: {
      isOwned,
      headersFor,
      met: owned?.met === undefined ? undefined : (context) => owned.met?.(context),
    },
    catalog: {
      wantsSignIn: () => users?.wantsSignIn === true,
      isMadeFromCallers: config.credentials?.kind === 'exchange' || config.credentials?.kind === 'enterprise',
      isToldCallers: headersFor !== undefined,
      ownerWantsSignIn: isOwned ? (principal) => owned?.of(principal).wanted !== undefined : undefined,
    },
    async changed(principal) {
      if ((await users?.changed(principal)) !== 'new') return undefined;
      return areSeveral ? 'own' : 'shared';
    },
  };
}
