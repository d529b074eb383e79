/**
 * Recovery without a user with the role `admin`: a holder of the gateway's sealing key gets a token for
 * this process, valid for a quarter of an hour. The proof answers a challenge from this process, so it cannot be replayed.
 */
import { createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SealingKeys } from '@omnibus/identity';

/** How long a challenge is valid: a command answers it at once. */
const questionMs = 60_000;
const tokenMs = 15 * 60_000;
/** Bound on valid tokens; the oldest is dropped first. Only holders of the key can ask for one. */
const maxTokens = 16;
const prefix = 'oma_';

/** The proof with which a holder of the key answers a challenge. */
export function recoveryProof(key: Buffer, question: string): string {
  return createHmac('sha256', Buffer.from(hkdfSync('sha256', key, '', 'omnibus admin recovery', 32)))
    .update(question)
    .digest('base64url');
}

export class Recovery {
  readonly #keys: SealingKeys;
  readonly #own = randomBytes(32);
  /** Challenges that were answered, with the time until which they could be answered again. */
  readonly #answered = new Map<string, number>();
  /** The expiry of each token, by digest. */
  readonly #tokens = new Map<string, number>();
  readonly #now: () => number;

  constructor(keys: SealingKeys, now: () => number = Date.now) {
    this.#keys = keys;
    this.#now = now;
  }

  question(): string {
    const text = `${this.#now() + questionMs}.${randomBytes(16).toString('base64url')}`;
    return `${text}.${this.#sign(text)}`;
  }

  /** @returns a token and its expiry; undefined when the proof is wrong. */
  answer(question: string, proof: string): { readonly token: string; readonly until: number } | undefined {
    const now = this.#now();
    const cut = question.lastIndexOf('.');
    const text = question.slice(0, Math.max(0, cut));
    const until = Number(text.split('.', 1)[0]);
    if (!equal(this.#sign(text), question.slice(cut + 1)) || !(until > now) || this.#answered.has(question))
      return undefined;
    if (!this.#keys.some((key) => equal(recoveryProof(key, question), proof))) return undefined;
    forget(this.#answered, now);
    this.#answered.set(question, until);
    const token = `${prefix}${randomBytes(32).toString('base64url')}`;
    if (this.#tokens.size >= maxTokens) this.#tokens.delete(this.#tokens.keys().next().value as string);
    this.#tokens.set(hash('sha256', token), now + tokenMs);
    return { token, until: now + tokenMs };
  }

  /** Whether an `Authorization` header holds a valid token of this process. */
  holds(authorization: string | undefined): boolean {
    const token = authorization?.replace(/^bearer /i, '') ?? '';
    const until = token.startsWith(prefix) ? this.#tokens.get(hash('sha256', token)) : undefined;
    return until !== undefined && this.#now() < until;
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#own).update(text).digest('base64url');
  }
}

function equal(right: string, said: string): boolean {
  const [one, other] = [Buffer.from(right), Buffer.from(said)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function forget(until: Map<string, number>, now: number): void {
  for (const [key, end] of until) if (end <= now) until.delete(key);
}
