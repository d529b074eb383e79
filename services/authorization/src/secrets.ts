/** Encrypts and signs with keys that are derived from the gateway's sealing key, so that access to the bus gives no access to the stored values. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

const cipher = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

export class Secrets {
  /** The first key encrypts, all of them decrypt. */
  readonly #sealing: readonly [Buffer, ...Buffer[]];
  /** Keys that sign cookies; the first one signs. */
  readonly cookieKeys: readonly string[];
  /** Makes nonces for proofs of keys, the same at all edges. */
  readonly nonceSecret: Buffer;
  readonly #formKey: Buffer;

  /** @param keys the sealing keys, the same in every edge. Default: a new key, for a gateway of one process. */
  constructor(keys: readonly [Buffer, ...Buffer[]] = [randomBytes(keyBytes)]) {
    const derive = (key: Buffer, purpose: string): Buffer =>
      Buffer.from(hkdfSync('sha256', key, '', `omnibus authorization ${purpose}`, keyBytes));
    const [first, ...more] = keys;
    this.#sealing = [derive(first, 'store'), ...more.map((key) => derive(key, 'store'))];
    this.cookieKeys = keys.map((key) => derive(key, 'cookies').toString('base64url'));
    this.#formKey = derive(first, 'forms');
    this.nonceSecret = derive(first, 'nonces');
  }

  /** @param place where the text is stored or sent: it cannot be decrypted for another place. */
  seal(place: string, text: string): string {
    const nonce = randomBytes(nonceBytes);
    const encrypt = createCipheriv(cipher, this.#sealing[0], nonce).setAAD(Buffer.from(place));
    return Buffer.concat([nonce, encrypt.update(text, 'utf8'), encrypt.final(), encrypt.getAuthTag()]).toString(
      'base64url',
    );
  }

  /** @returns undefined for a text that was not encrypted here for this place. */
  open(place: string, sealed: string): string | undefined {
    return openedBy(this.#sealing, place, sealed);
  }

  /** Whether a text was encrypted with the first key, so that the others are not needed for it. */
  isUpToDate(place: string, sealed: string): boolean {
    return openedBy([this.#sealing[0]], place, sealed) !== undefined;
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

function openedBy(keys: readonly Buffer[], place: string, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  for (const key of keys) {
    const decrypt = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes))
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(-tagBytes));
    try {
      return Buffer.concat([decrypt.update(bytes.subarray(nonceBytes, -tagBytes)), decrypt.final()]).toString('utf8');
    } catch {
      // It was encrypted with another key, is not ours, or was changed.
    }
  }
  return undefined;
}
