/**
 * The answer of an issuer on its way from the edge, to which a browser brings it, to a backend worker: it has the code with which tokens are got, so the
 * bus between them must not show it. The state of a sign-in, which the browser brings back too, is a public key, and the private key is stored with the sign-in in the
 * vault. Any edge can encrypt for it (RFC 7516, ECDH-ES), and readers of the bus cannot decrypt.
 */
import { generateKeyPairSync, type JsonWebKey } from 'node:crypto';

const [algorithm, encryption] = ['ECDH-ES', 'A256GCM'];

/** Makes the state of a sign-in: 256 random bits. @returns it, and the private key for answers with it. */
export function newState(): { readonly state: string; readonly answerKey: JsonWebKey } {
  const answerKey = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  return { state: answerKey.x as string, answerKey };
}

/**
 * Encrypts an answer for the sign-in that its `state` names.
 * @param query of the address to which the issuer has sent the browser.
 * @returns undefined for an invented state, which names no key.
 */
export async function sealAnswer(query: URLSearchParams): Promise<string | undefined> {
  const x = query.get('state') ?? '';
  if (!/^[\w-]{43}$/.test(x)) return undefined;
  const { CompactEncrypt, importJWK } = await import('jose');
  try {
    const key = await importJWK({ kty: 'OKP', crv: 'X25519', x }, algorithm);
    return await new CompactEncrypt(Buffer.from(query.toString()))
      .setProtectedHeader({ alg: algorithm, enc: encryption })
      .encrypt(key);
  } catch {
    return undefined; // The state is invented: there is no such key.
  }
}

/** @returns the query; undefined for a text that was not encrypted for this key. */
export async function openAnswer(answerKey: JsonWebKey, sealed: string): Promise<URLSearchParams | undefined> {
  const { compactDecrypt, importJWK } = await import('jose');
  try {
    const { plaintext } = await compactDecrypt(sealed, await importJWK(answerKey, algorithm), {
      keyManagementAlgorithms: [algorithm],
      contentEncryptionAlgorithms: [encryption],
    });
    return new URLSearchParams(Buffer.from(plaintext).toString());
  } catch {
    return undefined; // A sender on the bus has invented it.
  }
}
