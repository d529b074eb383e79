/** What the era of a client means for its calls, as `featuresOf` tells what a revision means: code asks for one of these, and never for the era. */
import type { ExchangeContext } from './exchange.ts';

export interface Manner {
  /** Whether the key of the caller outlives the request: later requests have the same key, and the client hears what belongs to no request. */
  readonly lasts: boolean;
  /** Whether each request names the log level that its client wants. */
  readonly namesLevel: boolean;
  /** Whether the client answers what a server demands by another request (2026-07-28 basic/patterns, Multi Round-Trip Requests). */
  readonly asksAgain: boolean;
}

const ofSessions: Manner = { lasts: true, namesLevel: false, asksAgain: false };
const ofRequests: Manner = { lasts: false, namesLevel: true, asksAgain: true };

export function mannerOf({ standsAlone }: Pick<ExchangeContext, 'standsAlone'>): Manner {
  return standsAlone ? ofRequests : ofSessions;
}
