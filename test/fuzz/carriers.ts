/** The transports of clients in this suite: each carrier sends one message, and returns the problem of the answer, if there is one. */
import { parseAll, wrongWith } from './judge.ts';

/** How long a stream is read that ends only when its client leaves. */
export const standingMs = 300;

export interface Posted {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly method?: string;
  /** Id of a request that is sent unchanged: it must get exactly one answer. */
  readonly id?: number | undefined;
}

export interface Carrier extends AsyncDisposable {
  /**
   * Sends a message while others are open.
   * @returns the problem, if there is one.
   */
  send(posted: Posted): Promise<string | undefined>;
}

export function firstWrong(texts: readonly string[]): string | undefined {
  for (const message of parseAll(texts)) {
    const problem = wrongWith(message);
    if (problem !== undefined) return `${problem}: ${JSON.stringify(message).slice(0, 500)}`;
  }
  return undefined;
}

/** Whether a message may cancel open requests, which then may end without an answer. */
export function mayCancel(body: Buffer): boolean {
  return body.includes('notifications/cancelled');
}
