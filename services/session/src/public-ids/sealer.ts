/**
 * Seals ids and states that the gateway gives to clients and takes back later, so that no other can read, make or change them. A sealed text
 * is bound to its purpose, so that one kind is never accepted as another.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

type Purpose = 'task' | 'task-cursor' | 'task-input' | 'request-state' | 'result';

const cipher = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
interface DerivedKeys {
  readonly key: Buffer;
  readonly nonceKey: Buffer;
}

export class Sealer {
  readonly #sealing: DerivedKeys;
  readonly #opening: readonly DerivedKeys[];

  /** @param secrets at least 32 random bytes each, the same in every process of one gateway; the first one seals. Default: a random one. */
  constructor(secrets: readonly [Buffer, ...Buffer[]] = [randomBytes(keyBytes)]) {
    const derive = (secret: Buffer, info: string): Buffer =>
      Buffer.from(hkdfSync('sha256', secret, '', info, keyBytes));
    const derived = (secret: Buffer): DerivedKeys => ({
      key: derive(secret, 'omnibus seal'),
      nonceKey: derive(secret, 'omnibus nonce'),
    });
    this.#sealing = derived(secrets[0]);
    this.#opening = [this.#sealing, ...secrets.slice(1).map(derived)];
  }

  /** Seals a value. The result is the same for the same purpose and value: the nonce is derived from them, so it repeats only with them. */
  seal(purpose: Purpose, value: string): string {
    const nonce = createHmac('sha256', this.#sealing.nonceKey)
      .update(`${purpose}\n${value}`)
      .digest()
      .subarray(0, nonceBytes);
    const encrypt = createCipheriv(cipher, this.#sealing.key, nonce).setAAD(Buffer.from(purpose));
    return Buffer.concat([nonce, encrypt.update(value, 'utf8'), encrypt.final(), encrypt.getAuthTag()]).toString(
      'base64url',
    );
  }

  /** @returns undefined for a text that was not sealed by this gateway for this purpose. */
  open(purpose: Purpose, sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    // Node reads base64 leniently, and one state must not have two spellings.
    if (bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== sealed) return undefined;
    for (const { key } of this.#opening) {
      const decrypt = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes))
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(-tagBytes));
      try {
        return Buffer.concat([decrypt.update(bytes.subarray(nonceBytes, -tagBytes)), decrypt.final()]).toString('utf8');
      } catch {
        // Of another key, not ours, or tampered with.
      }
    }
    return undefined;
  }
}
