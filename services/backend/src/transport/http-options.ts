import type { Dispatcher } from 'undici';
import type { MessageLimits } from './incoming.ts';
import type { ReadingShare } from './reading-budget.ts';

/** What every transport over HTTP needs to know. */
export interface HttpOptions {
  readonly url: string;
  /** Headers from the configuration. A header that the protocol sets is never replaced by one of them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Connections of the whole process, by origin: servers behind one address share them. */
  readonly dispatcher: Pick<Dispatcher, 'dispatch'>;
  readonly limits: MessageLimits;
  /** The share of memory that the server's answers may take while they are read. */
  readonly reading: ReadingShare;
  readonly openTimeoutMs: number;
}

/** Header names in lower case, so that one of the protocol's replaces the operator's. */
export function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
