/**
 * Answers a repeated change at the API with the answer of the first one (`Idempotency-Key`, draft-ietf-httpapi-idempotency-key-header): a client that
 * does not know whether a restart has happened repeats it with the same key, and it happens once.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ApiProblem } from './api-problem.ts';

/** Longer than scripts and pages retry. */
const keptMs = 10 * 60_000;
/** Bounds on the keys of one caller, and of all together. The oldest are dropped. */
const [maxOfCaller, maxInAll] = [64, 512];
const form = /^[\x21-\x7E]{1,200}$/;

interface Act {
  readonly who: string;
  readonly what: string;
  readonly at: number;
  readonly answer: Promise<unknown>;
}

export class RepeatedActs {
  readonly #now: () => number;
  readonly #acts = new Map<string, Act>();

  /** @param now in milliseconds, of a clock that is never set back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Makes a change, or waits for the answer of the same one. A failed change is dropped, so that it can be tried again.
   * @param key the header, as it was received.
   * @param who the caller: the same key of another caller is independent.
   * @param what the change (`actOf`): a key is valid for one.
   * @throws {ApiProblem} for a key that is malformed, or was used for another change (section 2.7 of the draft: 422).
   */
  once(key: string, who: string, what: string, act: () => Promise<unknown>): Promise<unknown> {
    if (!form.test(key))
      throw new ApiProblem(
        'invalid',
        'Idempotency-Key: expected 1 to 200 visible ASCII characters',
        'a UUID is a good one',
      );
    const id = JSON.stringify([who, key]);
    const known = this.#acts.get(id);
    if (known !== undefined && this.#now() - known.at < keptMs) {
      if (known.what !== what)
        throw new ApiProblem(
          'reused',
          'this Idempotency-Key was used for another act, or with another query or body',
          'take a new key for each act',
        );
      return known.answer;
    }
    this.#acts.delete(id);
    this.#forget(who);
    const answer = act();
    this.#acts.set(id, { who, what, at: this.#now(), answer });
    answer.catch(() => this.#acts.delete(id));
    return answer;
  }

  /** Makes room for one more key. */
  #forget(who: string): void {
    const own = [...this.#acts].filter(([, act]) => act.who === who);
    if (own.length >= maxOfCaller) this.#acts.delete((own[0] as [string, Act])[0]);
    else if (this.#acts.size >= maxInAll) this.#acts.delete(this.#acts.keys().next().value as string);
  }
}

/**
 * The meaning of a key: method, path, query, and a digest of the body, so that the same key with other content is not answered as if it were the first.
 * @param body as it was sent: bodies that mean the same and are written in another way differ.
 */
export function actOf({ method = '', url = '' }: Pick<IncomingMessage, 'method' | 'url'>, body: string): string {
  return `${method} ${url} ${createHash('sha256').update(body).digest('base64url')}`;
}
