/**
 * Proofs of keys (DPoP, RFC 9449) at the token endpoint. The library remembers them in the same way as assertions, by a digest of the client and the id; here they are
 * told apart, and counted by agent or address: users may share a client, so one of them must not use up the proofs of the others.
 */
import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { TokenBuckets } from '@omnibus/lifecycle';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { agentClientMark } from './agents/agents.ts';

/** Proofs of an agent at once, and then one a second. */
const ofAgent = { burst: 60, everyMs: 1_000, maxNames: 20_000 };
/** Proofs from an address, behind which may be many users. Only a request with a good code or refresh token is counted. */
const ofAddress = { burst: 600, everyMs: 100, maxNames: 10_000 };

export class TokenProofs {
  readonly #ctx: () => KoaContextWithOIDC | undefined;
  readonly #agents = new TokenBuckets(ofAgent);
  readonly #addresses = new TokenBuckets(ofAddress);

  /** @param ctx the request that the library serves now, with the address of its sender as `ip`. */
  constructor(ctx: () => KoaContextWithOIDC | undefined) {
    this.#ctx = ctx;
  }

  /** Whether an id that the library remembers is that of the proof of the present request, which the library has verified before. */
  isProof(id: string): boolean {
    const ctx = this.#ctx();
    const proof = ctx?.get('DPoP') ?? '';
    const client = ctx?.oidc.client?.clientId;
    if (proof === '' || client === undefined) return false;
    try {
      return hash('sha256', `${client}${String(decodeJwt(proof).jti)}`, 'base64url') === id;
    } catch {
      return false; // The library refuses the proof later.
    }
  }

  /** Seconds that the sender of the present request has to wait for its next proof; 0 if it may send one. */
  wait(): number {
    const ctx = this.#ctx();
    const client = ctx?.oidc.client?.clientId ?? '';
    return client.startsWith(agentClientMark) ? this.#agents.take(client) : this.#addresses.take(ctx?.ip ?? '');
  }
}
