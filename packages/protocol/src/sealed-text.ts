/** Encrypted texts that are bound to a place: AES-256 in Galois/Counter Mode, with the nonce before and the tag behind, in base64url. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const cipher = 'aes-256-gcm';
export const sealingKeyBytes = 32;
export const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts bytes.
 * @param key of `sealingKeyBytes`.
 * @param place where they are stored or sent: they cannot be decrypted for another place.
 * @param nonce of `nonceBytes`, which must not be used for other bytes with this key. Default: random.
 */
export function sealBytes(key: Buffer, place: string, bytes: Buffer | string, nonce = randomBytes(nonceBytes)): string {
  const encrypt = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(place));
  return Buffer.concat([nonce, encrypt.update(bytes), encrypt.final(), encrypt.getAuthTag()]).toString('base64url');
}

/** @returns undefined for a text that was not encrypted for this place with one of the keys, or was changed. */
export function openSealed(keys: readonly Buffer[], place: string, sealed: string): Buffer | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  for (const key of keys) {
    const decrypt = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes))
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(-tagBytes));
    try {
      return Buffer.concat([decrypt.update(bytes.subarray(nonceBytes, -tagBytes)), decrypt.final()]);
    } catch {
      // It was encrypted with another key or for another place, or was changed.
    }
  }
  return undefined;
}
