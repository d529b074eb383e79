/** Who a caller is, once that is proven: the same person is the same principal however often a token changes. */
import { hash } from 'node:crypto';
import type { GatewayFault, Principal } from '@omnibus/protocol';

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

/** Somebody, or why nobody is believed to be there. */
export type Verdict = Facts | { readonly fault: GatewayFault };

/** Of a principal: 192 bits of the digest, which nobody finds a second name for. */
const keyCharacters = 32;

/**
 * The key of a principal, which can stand in subjects and keys. Each part is told with its length, so that no two names have one text.
 * An agent that acts for somebody is not that person, and is somebody of its own.
 */
export function principalOf({ issuer, subject }: Subject, tenant?: string, actors: readonly Subject[] = []): Principal {
  const parts = [tenant ?? '', issuer, subject, ...actors.flatMap((actor) => [actor.issuer, actor.subject])];
  return `p_${hash('sha256', parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join(''), 'base64url').slice(0, keyCharacters)}` as Principal;
}
