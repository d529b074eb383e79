/** What the requests to a server are given, and by whom. */
import type { Challenge } from './challenge.ts';

export type SentHeaders = Readonly<Record<string, string>>;

/** Where the headers come from that show a server on whose behalf it is called. Names of headers are in lower case. */
export interface HeaderSource {
  /** What is good now; undefined where it has to be asked for. */
  readonly current: SentHeaders | undefined;
  /** @throws {CredentialProblem} where none can be had. */
  ask(): Promise<SentHeaders>;
  /**
   * The server has refused a request that carried these, before it did anything.
   * @returns whether the request is worth repeating with others.
   */
  refused(sent: SentHeaders, challenge: Challenge): Promise<boolean>;
  /** The request was made again with these, and refused again. */
  gaveUp(sent: SentHeaders, challenge: Challenge): Promise<void>;
  /** What must not come back in a server's words. */
  readonly secrets: readonly string[];
}
