/**
 * Seals ids and states that the gateway gives to clients and takes back later, so that no other can read, make or change them. A sealed text
 * is bound to its purpose, so that one kind is never accepted as another.
 */
import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { nonceBytes, openSealed, sealBytes, sealingKeyBytes } from '@omnibus/protocol';

type Purpose = 'task' | 'task-cursor' | 'task-input' | 'request-state' | 'result';

export class Sealer {
  /** The first one seals. */
  readonly #keys: readonly [Buffer, ...Buffer[]];
  readonly #nonceKey: Buffer;

  /** @param secrets at least 32 random bytes each, the same in every process of one gateway; the first one seals. Default: a random one. */
  constructor(secrets: readonly [Buffer, ...Buffer[]] = [randomBytes(sealingKeyBytes)]) {
    const derive = (secret: Buffer, info: string): Buffer =>
      Buffer.from(hkdfSync('sha256', secret, '', info, sealingKeyBytes));
    const [first, ...more] = secrets;
    this.#keys = [derive(first, 'omnibus seal'), ...more.map((secret) => derive(secret, 'omnibus seal'))];
    this.#nonceKey = derive(first, 'omnibus nonce');
  }

  /** Seals a value. The result is the same for the same purpose and value: the nonce is derived from them, so it repeats only with them. */
  seal(purpose: Purpose, value: string): string {
    const nonce = createHmac('sha256', this.#nonceKey).update(`${purpose}\n${value}`).digest().subarray(0, nonceBytes);
    return sealBytes(this.#keys[0], purpose, value, nonce);
  }

  /** @returns undefined for a text that was not sealed by this gateway for this purpose. */
  open(purpose: Purpose, sealed: string): string | undefined {
    // Node reads base64 leniently, and one state must not have two spellings.
    return Buffer.from(sealed, 'base64url').toString('base64url') === sealed
      ? openSealed(this.#keys, purpose, sealed)?.toString()
      : undefined;
  }
}
