/**
 * Seals ids and states that the gateway gives to clients and takes back later, so that nobody else can read, make or change them. A sealed text
 * is bound to its purpose, so that one kind is never accepted as another.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

type Purpose = 'task' | 'task-cursor' | 'task-input' | 'request-state';

const cipher = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** Bound on the number of keys; a rotation needs two for a while. */
const maxKeys = 16;

/** A command that makes a key, for messages. */
export const sealingKeyRecipe = 'openssl rand -base64 32';

/**
 * Parses keys as an operator writes them: base64, separated by commas or white space. The first one seals, all of them open.
 * @throws {Error} that names the position of a wrong key, and no part of it.
 */
export function parseSealingKeys(text: string): readonly [Buffer, ...Buffer[]] {
  const written = text.split(/[\s,]+/).filter((key) => key !== '');
  if (written.length === 0) throw new Error(`there is no key in it; make one: ${sealingKeyRecipe}`);
  if (written.length > maxKeys) throw new Error(`it has ${written.length} keys; ${maxKeys} are allowed`);
  const [first, ...more] = written.map((key, index) => {
    const which = written.length === 1 ? 'the key' : `key ${index + 1} of ${written.length}`;
    if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(key)) throw new Error(`${which} is not base64; make one: ${sealingKeyRecipe}`);
    const bytes = Buffer.from(key, 'base64');
    if (bytes.length < keyBytes)
      throw new Error(`${which} has ${bytes.length} bytes; at least ${keyBytes} are needed: ${sealingKeyRecipe}`);
    return bytes;
  });
  return [first as Buffer, ...more];
}

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
