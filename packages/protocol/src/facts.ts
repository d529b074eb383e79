/** The proven facts about a caller, as the edge passes them to the code that decides about access. */
import type { Principal, WorkerId } from './ids.ts';

/** The issuer of API keys: the gateway itself vouches for the subject of a key. */
export const keyIssuer = 'omnibus:keys';

/** The identity of a user or program: exact texts, compared as they are. */
export interface Subject {
  /** The party that vouches for the name: the issuer of a token, or a constant of ours for other kinds of authentication. */
  readonly issuer: string;
  /** The caller's name at the issuer. Never an e-mail address, which may pass to another person. */
  readonly subject: string;
}

/** A party that acts for the subject of a token. */
export interface Actor extends Subject {
  /** Of an agent of the gateway's own authorization server: the name of the grant that it had when it got the token. Left out of any other party. */
  readonly grant?: string | undefined;
}

export interface Facts extends Subject {
  readonly principal: Principal;
  /** The principal of the subject alone; only where others act for it. */
  readonly ofSubject?: Principal | undefined;
  readonly tenant: string | undefined;
  /** The parties that act for the subject; the one that sent the request comes first (RFC 8693, 4.1). */
  readonly actors: readonly Actor[];
  readonly groups: readonly string[];
  /** Claims of the token that servers may get (`claims` of its issuer), by name; left out if none are configured. */
  readonly claims?: Readonly<Record<string, string>> | undefined;
  readonly scopes: readonly string[];
  /** The client of the token. */
  readonly client: string | undefined;
  /** Time in milliseconds since 1970 at which the proof expires; undefined for one that does not. */
  readonly expiresAt: number | undefined;
  /** The id of the API key that was the proof. */
  readonly key: string | undefined;
  /**
   * The tools that the key may use, as patterns of rules (`server/tool`); everything else is hidden from its holder. Left out of a key without this
   * restriction.
   */
  readonly tools?: readonly string[] | undefined;
  /** Set for callers that cannot request scopes; left out for tokens of an issuer that grants scopes. */
  readonly isUnscoped?: true;
  /** The id of the user's consent, which the user may withdraw; only in tokens of our own authorization server. */
  readonly grant?: string | undefined;
  /** The agent of the gateway's own authorization server that sent the request, for itself or for the subject; left out for all others. */
  readonly agent?: string | undefined;
  /** Grants (`access.grants`) that the caller has now; only session workers add them, when they decide by rules. */
  readonly grants?: readonly string[] | undefined;
  /** The edge that holds the token by which the caller is known, where a server is called with tokens made from it; left out otherwise. */
  readonly at?: WorkerId | undefined;
}
