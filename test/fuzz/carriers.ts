/** How a client's bytes reach the gateway: each carrier sends one message and says what was wrong with what came back, if anything was. */
import { parseAll, wrongWith } from './judge.ts';

/** A stream that ends only when its client goes: read for as long. */
export const standingMs = 300;

export interface Posted {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly method?: string;
  /** Of a request that is sent as it should be: exactly one answer has it. */
  readonly id?: number | undefined;
}

export interface Carrier extends AsyncDisposable {
  /**
   * Sends a message beside those that are on their way.
   * @returns what was wrong.
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

/** What takes back requests that are on their way: they may end without an answer. */
export function mayCancel(body: Buffer): boolean {
  return body.includes('notifications/cancelled');
}
