/** Tokens of our own authorization server: verified with its keys as they are here, without asking anybody, and good until they are taken back. */
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { JsonObject } from '@omnibus/protocol';
import type { Facts } from './facts.ts';
import { Issuer } from './issuers/issuer.ts';

/** What is known of the authorization server in this process. */
export interface OwnServer {
  readonly issuer: string;
  publicKeys(): { readonly keys: readonly JsonObject[] };
  /** @param grant the claim `grant_id` of a token. */
  isRevoked(grant: string): boolean;
  /** Calls back when keys have changed, or something was revoked. */
  onChanged(listener: () => void): void;
}

/** How tokens of ours say what they say: a user of a provider may have a tenant, and one of our own file has none. */
export const ownTokenNames = { tokenType: 'at+jwt', subject: 'sub', groups: 'groups', tenant: 'tenant', mayLackTenant: true } as const;

export class OwnTokens {
  readonly issuer: Issuer;
  readonly #server: OwnServer;
  #keys: JWTVerifyGetKey;

  constructor(server: OwnServer, changed: () => void) {
    this.#server = server;
    this.#keys = this.#read();
    this.issuer = new Issuer({ issuer: server.issuer, algorithms: ['ES256'], ...ownTokenNames }, () => undefined, (header, token) => this.#keys(header, token));
    server.onChanged(() => {
      this.#keys = this.#read();
      changed();
    });
  }

  /** Whether what a token of ours stands for is good still. */
  holds({ issuer, grant }: Facts): boolean {
    return issuer !== this.#server.issuer || (grant !== undefined && !this.#server.isRevoked(grant));
  }

  #read(): JWTVerifyGetKey {
    return createLocalJWKSet(this.#server.publicKeys() as unknown as JSONWebKeySet);
  }
}
