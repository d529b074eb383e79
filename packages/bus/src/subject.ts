import { isToken } from '@omnibus/protocol';
import type { Shape } from './shapes/shape.ts';

declare const payload: unique symbol;

interface Shapes {
  readonly request: Shape<unknown>;
  readonly reply?: Shape<unknown>;
}

/**
 * A place on the bus with the type of what is sent there and of what is answered. Made only in `subjects.ts`.
 *
 * `family` is the same for all subjects of one kind: the bounded label of metrics.
 */
export interface Subject<Request, Reply = never> {
  readonly name: string;
  readonly family: string;
  /** Several hear a request and any may answer: one that fails says nothing (B6). */
  readonly isForEveryone?: true;
  /** What came over NATS has to look like; in one process payloads come from our own code, by reference. */
  readonly shapes?: Shapes;
  readonly [payload]?: { readonly request: Request; readonly reply: Reply };
}

/** The first tokens of every subject of the gateway. */
export const root = 'omnibus.v1';

/** All subjects of a family, as NATS writes it. */
export function allOf(family: string, tokens: number): string {
  return [root, family, ...Array.from({ length: tokens }, () => '*')].join('.');
}

/** @throws {Error} when a token could change the shape of the subject. NATS clients accept an empty token, so we check. */
export function subject<Request, Reply = never>(family: string, ...tokens: readonly string[]): Subject<Request, Reply> {
  for (const token of tokens) {
    if (!isToken(token)) throw new Error(`bus subject ${family}: ${JSON.stringify(token)} is no valid token`);
  }
  return { name: tokens.length === 0 ? `${root}.${family}` : `${root}.${family}.${tokens.join('.')}`, family };
}

/** The same subject, for a request that everybody hears at once. */
export function forEveryone<Request, Reply>(asked: Subject<Request, Reply>): Subject<Request, Reply> {
  return { ...asked, isForEveryone: true };
}
