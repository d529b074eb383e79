/**
 * A token on its way from the process that obtained it to the one that uses it: encrypted to a key of the receiver (JWE, RFC 7516, by ECDH-ES and
 * A256GCM), so that no other reader of the bus learns it. It names its server and user, and is used for no others.
 */
import { CompactEncrypt, compactDecrypt, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import type { JsonWebKey } from 'node:crypto';

export interface GivenToken {
  readonly server: string;
  readonly principal: string;
  /** The value of the header `Authorization`. */
  readonly authorization: string;
  /** Milliseconds since 1970 until which it may be used. */
  readonly until: number;
  /** The key that the token is bound to; left out for one that is not (`proof-of-possession.ts`). */
  readonly proofKey?: JsonWebKey;
}

const [management, content] = ['ECDH-ES', 'A256GCM'];

/** @param key of the receiver, as `TokenReceiver` gives it. @throws {Error} when that is no such key. */
export async function sealToken(key: JWK, given: GivenToken): Promise<string> {
  const recipient = await importJWK({ kty: 'EC', crv: 'P-256', x: key.x, y: key.y } as JWK, management);
  return new CompactEncrypt(Buffer.from(JSON.stringify(given)))
    .setProtectedHeader({ alg: management, enc: content })
    .encrypt(recipient);
}

export class TokenReceiver {
  #pair: ReturnType<typeof generateKeyPair> | undefined;

  /** The key to which senders encrypt. It is of this process, and never stored. */
  async key(): Promise<JWK> {
    return exportJWK((await this.#keys()).publicKey);
  }

  /** @throws {Error} for a token that was encrypted to another key, or is for another server or user. */
  async open(sealed: string, server: string, principal: string): Promise<GivenToken> {
    const { plaintext } = await compactDecrypt(sealed, (await this.#keys()).privateKey, {
      keyManagementAlgorithms: [management],
      contentEncryptionAlgorithms: [content],
    });
    const given = JSON.parse(Buffer.from(plaintext).toString()) as GivenToken;
    if (given.server !== server || given.principal !== principal)
      throw new Error('the token is for another server or another user');
    return given;
  }

  #keys(): ReturnType<typeof generateKeyPair> {
    return (this.#pair ??= generateKeyPair(management, { crv: 'P-256' }));
  }
}
