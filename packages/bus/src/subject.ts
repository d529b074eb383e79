import { isToken } from '@omnibus/protocol';
import type { Shape } from './shapes/shape.ts';

declare const payload: unique symbol;

interface Shapes {
  readonly request: Shape<unknown>;
  readonly reply?: Shape<unknown>;
}

/**
 * An address on the bus, with the types of its messages and replies. Made only in `subjects.ts`.
 *
 * `family` is the same for all subjects of one kind: the bounded label of metrics.
 */
export interface Subject<Request, Reply = never> {
  readonly name: string;
  readonly family: string;
  /** Whether several processes receive a request and any of them may answer: a failure of one of them is not reported (B6). */
  readonly isForEveryone?: true;
  /** The shapes of messages over NATS; in one process payloads come from our own code, by reference. */
  readonly shapes?: Shapes;
  readonly [payload]?: { readonly request: Request; readonly reply: Reply };
}

/** The first tokens of every subject of the gateway. */
export const root = 'omnibus.v1';

/** All subjects of a family, in the notation of NATS. */
export function allOf(family: string, tokens: number): string {
  return [root, family, ...Array.from({ length: tokens }, () => '*')].join('.');
}

/** @throws {Error} when a token could change the structure of the subject. NATS clients accept an empty token, so we check. */
export function subject<Request, Reply = never>(family: string, ...tokens: readonly string[]): Subject<Request, Reply> {
  for (const token of tokens) {
    if (!isToken(token)) throw new Error(`bus subject ${family}: ${JSON.stringify(token)} is no valid token`);
  }
  return { name: tokens.length === 0 ? `${root}.${family}` : `${root}.${family}.${tokens.join('.')}`, family };
}

/** The same subject, for a request that all receivers get at once. */
export function forEveryone<Request, Reply>(asked: Subject<Request, Reply>): Subject<Request, Reply> {
  return { ...asked, isForEveryone: true };
}
