/** Tokens of our own authorization server: verified with its keys as they are here, without asking anybody, and good until they are taken back. */
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { JsonObject } from '@omnibus/protocol';
import type { Facts } from './facts.ts';
import { Issuer } from './issuers/issuer.ts';

/** What is known of the authorization server in this process. */
export interface OwnServer {
  readonly issuer: string;
  /** Left out in a process that has no part of it: there its keys are asked for like those of any other issuer. */
  publicKeys?(): { readonly keys: readonly JsonObject[] };
  /** @param grant the claim `grant_id` of a token. */
  isRevoked(grant: string): boolean;
  /** Calls back when keys have changed, or something was revoked. */
  onChanged(listener: () => void): void;
}

/** How tokens of ours say what they say: a user of a provider may have a tenant, and one of our own file has none. */
const names = { algorithms: ['ES256'], tokenType: 'at+jwt', subject: 'sub', groups: 'groups', tenant: 'tenant', mayLackTenant: true } as const;

export class OwnTokens {
  readonly issuer: Issuer;
  readonly #server: OwnServer;

  /** @param failed hears in words why keys cannot be had, where they are asked for. */
  constructor(server: OwnServer, changed: () => void, failed: (problem: string) => void) {
    this.#server = server;
    const { issuer } = server;
    let keys = this.#read();
    this.issuer = new Issuer({ issuer, jwksUri: `${issuer}/.well-known/jwks.json`, ...names }, failed, keys === undefined ? undefined : (header, token) => (keys as JWTVerifyGetKey)(header, token));
    server.onChanged(() => {
      keys = this.#read();
      changed();
    });
  }

  /** Whether what a token of ours stands for is good still. */
  holds({ issuer, grant }: Facts): boolean {
    return issuer !== this.#server.issuer || (grant !== undefined && !this.#server.isRevoked(grant));
  }

  #read(): JWTVerifyGetKey | undefined {
    const set = this.#server.publicKeys?.();
    return set === undefined ? undefined : createLocalJWKSet(set as unknown as JSONWebKeySet);
  }
}
