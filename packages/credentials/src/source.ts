/** The credentials that requests to a server carry, and where they come from. */
import type { Challenge } from './challenge.ts';

export type SentHeaders = Readonly<Record<string, string>>;

/** A source of the headers with the identity of a call. Names of headers are in lower case. */
export interface HeaderSource {
  /** Headers that are valid now; undefined when they must be requested. */
  readonly current: SentHeaders | undefined;
  /** Obtains headers. @throws {CredentialProblem} when there are none. */
  ask(): Promise<SentHeaders>;
  /**
   * Called when the server has refused a request with these headers, without executing it.
   * @returns whether there are other headers with which to repeat the request.
   */
  refused(sent: SentHeaders, challenge: Challenge): Promise<boolean>;
  /**
   * Called when the request was repeated with these headers, and refused again.
   * @returns whether there are others all the same: these were only found for the repetition, and not obtained for it.
   */
  gaveUp(sent: SentHeaders, challenge: Challenge): Promise<boolean>;
  /** The proof that a request needs besides these headers; undefined for tokens that are not bound to a key. @param body of the request; undefined for none. */
  prove?(sent: SentHeaders, method: string, address: string, body?: string): SentHeaders | undefined;
  /** Called with the nonce that the next proof for that address must contain. */
  noteNonce?(address: string, nonce: string): void;
  /** Whether an answer says, other than by 401, that these credentials were refused and nothing was executed. @param header gives a header of the answer by its lower-case name. */
  isRefusal?(status: number, header: (name: string) => unknown): boolean;
  /** Texts that are removed from the server's messages. */
  readonly secrets: readonly string[];
}
