/** Tokens of the gateway's own authorization server: verified with its keys in this process, without a request, and valid until they expire or are revoked. */
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { JsonObject } from '@omnibus/protocol';
import type { Facts } from './facts.ts';
import { Issuer } from './issuers/issuer.ts';

/** What this process knows of the authorization server. */
export interface OwnServer {
  readonly issuer: string;
  /** Left out in a process that does not run the server: there its keys are fetched like those of any other issuer. */
  publicKeys?(): { readonly keys: readonly JsonObject[] };
  /** @param grant the claim `grant_id` of a token. @param subject of the token. */
  isRevoked(grant: string, subject: string): boolean;
  /** Calls back when keys have changed or a consent was revoked. */
  onChanged(listener: () => void): void;
}

/** The claim of these tokens with the id of a user's record in the file. */
export const recordClaim = 'omnibus_user';
/** The claim with the issuer of the user, in a token of an agent that acts for a user of another issuer. */
export const issuerClaim = 'omnibus_issuer';
/** The claim with the claims of such a user that servers may get. */
export const toldClaim = 'omnibus_claims';

/** The form of these tokens: users of a provider may have a tenant, and users of the file have none. */
const names = {
  algorithms: ['ES256'],
  tokenType: 'at+jwt',
  subject: 'sub',
  groups: 'groups',
  tenant: 'tenant',
  mayLackTenant: true,
  record: recordClaim,
  agent: 'agent:',
  origin: issuerClaim,
  told: toldClaim,
} as const;

export class OwnTokens {
  readonly issuer: Issuer;
  readonly #server: OwnServer;

  /**
   * @param changed gets whether a key was removed, so that tokens that were verified with it are none any more.
   * @param failed gets the reason, in words, why keys cannot be fetched, if they must be.
   */
  constructor(server: OwnServer, changed: (isKeyGone: boolean) => void, failed: (problem: string) => void) {
    this.#server = server;
    const { issuer } = server;
    let keys = this.#read();
    let ids = this.#ids();
    this.issuer = new Issuer(
      { issuer, jwksUri: `${issuer}/.well-known/jwks.json`, ...names },
      { noKeys: failed, noAnswer: failed },
      keys === undefined ? undefined : (header, token) => (keys as JWTVerifyGetKey)(header, token),
    );
    server.onChanged(() => {
      const before = ids;
      keys = this.#read();
      ids = this.#ids();
      changed(before.some((id) => !ids.includes(id)));
    });
  }

  /** Whether the consent behind a token is still valid, its user is still there, and so are the agents that act for the user. */
  holds({ issuer, grant, subject, actors }: Facts): boolean {
    if (actors.some((actor) => actor.grant !== undefined && this.#server.isRevoked(actor.grant, actor.subject)))
      return false;
    return issuer !== this.#server.issuer || (grant !== undefined && !this.#server.isRevoked(grant, subject));
  }

  #ids(): readonly unknown[] {
    return this.#server.publicKeys?.().keys.map(({ kid }) => kid) ?? [];
  }

  #read(): JWTVerifyGetKey | undefined {
    const set = this.#server.publicKeys?.();
    return set === undefined ? undefined : createLocalJWKSet(set as unknown as JSONWebKeySet);
  }
}
