/**
 * The way back in when nobody is left who has the role `admin`: whoever proves that he has the sealing key of the gateway is given a token for
 * this process and a quarter of an hour. The proof answers a question that this process has asked, so there is nothing to keep or to replay.
 */
import { createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SealingKeys } from '../sealing-key.ts';

/** A question is answered by a command at once. */
const questionMs = 60_000;
const tokenMs = 15 * 60_000;
/** Tokens that are good at one time; the oldest goes first. Each is asked for by somebody who has the key. */
const maxTokens = 16;
const prefix = 'oma_';

/** What whoever has the key answers to a question. */
export function recoveryProof(key: Buffer, question: string): string {
  return createHmac('sha256', Buffer.from(hkdfSync('sha256', key, '', 'omnibus admin recovery', 32))).update(question).digest('base64url');
}

export class Recovery {
  readonly #keys: SealingKeys;
  readonly #own = randomBytes(32);
  /** Answered questions, until when they could be answered again. */
  readonly #answered = new Map<string, number>();
  /** By digest, until when each is good. */
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

  /** @returns a token, and until when it is good; undefined when the proof is none. */
  answer(question: string, proof: string): { readonly token: string; readonly until: number } | undefined {
    const now = this.#now();
    const cut = question.lastIndexOf('.');
    const text = question.slice(0, Math.max(0, cut));
    const until = Number(text.split('.', 1)[0]);
    if (!equal(this.#sign(text), question.slice(cut + 1)) || !(until > now) || this.#answered.has(question)) return undefined;
    if (!this.#keys.some((key) => equal(recoveryProof(key, question), proof))) return undefined;
    forget(this.#answered, now);
    this.#answered.set(question, until);
    const token = `${prefix}${randomBytes(32).toString('base64url')}`;
    if (this.#tokens.size >= maxTokens) this.#tokens.delete(this.#tokens.keys().next().value as string);
    this.#tokens.set(hash('sha256', token), now + tokenMs);
    return { token, until: now + tokenMs };
  }

  /** Whether an `Authorization` header holds a token that was given here, and is good still. */
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
