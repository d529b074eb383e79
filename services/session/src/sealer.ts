/**
 * What the gateway hands out and takes back later: ids and states that nobody else can read, make or change. A sealed text
 * names its purpose, so that one kind never passes for another.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { BusError, secretsBucket, type Bus } from '@omnibus/bus';

type Purpose = 'task' | 'task-cursor' | 'request-state';

const cipher = 'aes-256-gcm';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const secretName = 'sealing-key';

export class Sealer {
  readonly #key: Buffer;
  readonly #nonceKey: Buffer;

  /** @param secret at least 32 random bytes, the same in every process of one gateway. */
  constructor(secret: Buffer) {
    const derive = (info: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', info, keyBytes));
    this.#key = derive('omnibus seal');
    this.#nonceKey = derive('omnibus nonce');
  }

  /** The same for the same purpose and value: a nonce made of what is sealed repeats only with it. */
  seal(purpose: Purpose, value: string): string {
    const nonce = createHmac('sha256', this.#nonceKey).update(`${purpose}\n${value}`).digest().subarray(0, nonceBytes);
    const encrypt = createCipheriv(cipher, this.#key, nonce).setAAD(Buffer.from(purpose));
    return Buffer.concat([nonce, encrypt.update(value, 'utf8'), encrypt.final(), encrypt.getAuthTag()]).toString('base64url');
  }

  /** @returns undefined for what was not sealed here for this purpose. */
  open(purpose: Purpose, sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    // Node reads base64 leniently, and one state must not have two spellings.
    if (bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== sealed) return undefined;
    const decrypt = createDecipheriv(cipher, this.#key, bytes.subarray(0, nonceBytes)).setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-tagBytes));
    try {
      return Buffer.concat([decrypt.update(bytes.subarray(nonceBytes, -tagBytes)), decrypt.final()]).toString('utf8');
    } catch {
      return undefined; // Not ours, or tampered with.
    }
  }
}

/** The sealer of this gateway: the first process makes the secret, the others find it. */
export async function sharedSealer(bus: Bus): Promise<Sealer> {
  const secrets = await bus.keyValue(secretsBucket);
  try {
    await secrets.create(secretName, randomBytes(keyBytes).toString('base64url'));
  } catch (error) {
    if (!(error instanceof BusError) || error.kind !== 'revision-conflict') throw error;
  }
  const secret = await secrets.get(secretName);
  if (secret === undefined) throw new Error('the sealing key has vanished from the bus');
  return new Sealer(Buffer.from(secret.value, 'base64url'));
}
