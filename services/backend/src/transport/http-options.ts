import type { Dispatcher } from 'undici';

/** What every transport over HTTP needs to know. */
export interface HttpOptions {
  readonly url: string;
  /** The operator's own headers; they win over nothing that the protocol sets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Connections of the whole process, by origin: servers behind one address share them. */
  readonly dispatcher: Dispatcher;
  readonly maxMessageBytes: number;
  readonly openTimeoutMs: number;
}
