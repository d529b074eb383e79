/** Encrypts and signs with keys that are derived from the gateway's sealing key, so that access to the bus gives no access to the stored values. */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { openSealed, sealBytes, sealingKeyBytes } from '@omnibus/protocol';

export class Secrets {
  /** The first key encrypts, all of them decrypt. */
  readonly #sealing: readonly [Buffer, ...Buffer[]];
  /** Keys that sign cookies; the first one signs. */
  readonly cookieKeys: readonly string[];
  /** Makes nonces for proofs of keys, the same at all edges. */
  readonly nonceSecret: Buffer;
  readonly #formKey: Buffer;

  /** @param keys the sealing keys, the same in every edge. Default: a new key, for a gateway of one process. */
  constructor(keys: readonly [Buffer, ...Buffer[]] = [randomBytes(sealingKeyBytes)]) {
    const derive = (key: Buffer, purpose: string): Buffer =>
      Buffer.from(hkdfSync('sha256', key, '', `omnibus authorization ${purpose}`, sealingKeyBytes));
    const [first, ...more] = keys;
    this.#sealing = [derive(first, 'store'), ...more.map((key) => derive(key, 'store'))];
    this.cookieKeys = keys.map((key) => derive(key, 'cookies').toString('base64url'));
    this.#formKey = derive(first, 'forms');
    this.nonceSecret = derive(first, 'nonces');
  }

  /** @param place where the text is stored or sent: it cannot be decrypted for another place. */
  seal(place: string, text: string): string {
    return sealBytes(this.#sealing[0], place, text);
  }

  /** @returns undefined for a text that was not encrypted here for this place. */
  open(place: string, sealed: string): string | undefined {
    return openSealed(this.#sealing, place, sealed)?.toString();
  }

  /** Whether a text was encrypted with the first key, so that the others are not needed for it. */
  isUpToDate(place: string, sealed: string): boolean {
    return openSealed([this.#sealing[0]], place, sealed) !== undefined;
  }

  /** The token of a form, which proves that the form comes from a page of this server. @param of the sign-in that the form belongs to. */
  formToken(of: string): string {
    return createHmac('sha256', this.#formKey).update(of).digest('base64url');
  }

  isFormToken(of: string, given: unknown): boolean {
    const [right, said] = [Buffer.from(this.formToken(of)), Buffer.from(typeof given === 'string' ? given : '')];
    return right.length === said.length && timingSafeEqual(right, said);
  }
}
