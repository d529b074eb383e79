/** What is known of a caller once it is proven, as it goes from the edge to those who decide. */
import type { Principal } from './ids.ts';

/** What names somebody: exact texts, compared as they are. */
export interface Subject {
  /** Who vouches: the address of a token's issuer, or a word of our own for other ways. */
  readonly issuer: string;
  /** The name the issuer knows the caller by, never an e-mail address, which changes hands. */
  readonly subject: string;
}

export interface Facts extends Subject {
  readonly principal: Principal;
  readonly tenant: string | undefined;
  /** Who acts for the subject, the one that sent the request first (RFC 8693, 4.1). */
  readonly actors: readonly Subject[];
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
  /** The program that the token was given to. */
  readonly client: string | undefined;
  /** Milliseconds since 1970 from which on the proof is none; undefined for one without an end. */
  readonly expiresAt: number | undefined;
  /** The API key that proved it. */
  readonly key: string | undefined;
  /** What the user has allowed, and may take back: of tokens of our own authorization server. */
  readonly grant?: string | undefined;
}
