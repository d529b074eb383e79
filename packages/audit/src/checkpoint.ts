/**
 * Checkpoints are signed positions of chains, for a second place: an attacker able to rewrite a file of records can rewrite its chain too, but not the
 * checkpoints stored elsewhere. The key is an Ed25519 key as PEM, with a public part for verification, or a secret for HMAC-SHA256.
 */
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  sign,
  timingSafeEqual,
  verify,
  type KeyObject,
} from 'node:crypto';
import { objectIn } from '@omnibus/protocol';
import type { Head } from './chain.ts';

export interface Checkpoint extends Head {
  readonly time: string;
  readonly alg: 'Ed25519' | 'HMAC-SHA256';
  /** Names the key: the beginning of its digest. */
  readonly key: string;
  readonly signature: string;
}

/** A key that signs and verifies checkpoints. */
export interface CheckpointKey {
  readonly id: string;
  /** The secret, also for digests of recorded values; undefined for an Ed25519 key. */
  readonly secret: Buffer | undefined;
  sign(head: Head, time: string): Checkpoint;
  verify(checkpoint: Checkpoint): boolean;
}

const minSecretBytes = 32;

/**
 * Reads a key.
 * @param text a PEM with an Ed25519 key, private to sign or public to verify; or base64 of at least 32 random bytes.
 * @throws {Error} in words for the operator.
 */
export function readCheckpointKey(text: string): CheckpointKey {
  return text.includes('-----BEGIN') ? signingKey(text) : secretKey(Buffer.from(text.trim(), 'base64'));
}

function wordsOf({ writer, seq, hash }: Head, time: string): Buffer {
  return Buffer.from(`omnibus checkpoint\n${writer}\n${seq}\n${hash}\n${time}`);
}

function idOf(bytes: Buffer): string {
  return createHash('sha256').update('omnibus audit key').update(bytes).digest('base64url').slice(0, 12);
}

function secretKey(secret: Buffer): CheckpointKey {
  if (secret.length < minSecretBytes)
    throw new Error(`expected a PEM with an Ed25519 key, or base64 of at least ${minSecretBytes} random bytes`);
  const id = idOf(secret);
  const mac = (head: Head, time: string): Buffer => createHmac('sha256', secret).update(wordsOf(head, time)).digest();
  return {
    id,
    secret,
    sign: (head, time) => ({
      ...head,
      time,
      alg: 'HMAC-SHA256',
      key: id,
      signature: mac(head, time).toString('base64url'),
    }),
    verify(checkpoint) {
      const [given, right] = [Buffer.from(checkpoint.signature, 'base64url'), mac(checkpoint, checkpoint.time)];
      return checkpoint.alg === 'HMAC-SHA256' && given.length === right.length && timingSafeEqual(given, right);
    },
  };
}

function signingKey(pem: string): CheckpointKey {
  const isPrivate = pem.includes('PRIVATE KEY');
  const own: KeyObject | undefined = isPrivate ? createPrivateKey(pem) : undefined;
  const open = createPublicKey(own ?? pem);
  if (open.asymmetricKeyType !== 'ed25519')
    throw new Error('expected an Ed25519 key: openssl genpkey -algorithm ed25519');
  const id = idOf(open.export({ type: 'spki', format: 'der' }));
  return {
    id,
    secret: undefined,
    sign(head, time) {
      if (own === undefined) throw new Error('a public key cannot sign');
      return {
        ...head,
        time,
        alg: 'Ed25519',
        key: id,
        signature: sign(null, wordsOf(head, time), own).toString('base64url'),
      };
    },
    verify: (checkpoint) =>
      checkpoint.alg === 'Ed25519' &&
      verify(null, wordsOf(checkpoint, checkpoint.time), open, Buffer.from(checkpoint.signature, 'base64url')),
  };
}

/** @returns undefined for a line that is not a checkpoint. */
export function readCheckpoint(line: string): Checkpoint | undefined {
  const { writer, seq, hash, time, alg, key, signature } = objectIn(line) ?? {};
  const isWhole =
    [writer, hash, time, alg, key, signature].every((member) => typeof member === 'string') &&
    Number.isSafeInteger(seq);
  return isWhole ? ({ writer, seq, hash, time, alg, key, signature } as Checkpoint) : undefined;
}
