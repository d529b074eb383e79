/** The headers with the tokens of a user, and their lifetime. */
import type { Tokens } from './token-request.ts';

/** A token is not used this shortly before it expires, since it might expire on its way. */
const longestMarginMs = 30_000;

/** Milliseconds before its end in which a token is not used; one with a short life is used for half of it. */
export const marginOf = ({ lifeMs = Infinity }: Tokens): number => Math.min(longestMarginMs, lifeMs / 2);

export const authorizationOf = ({ accessToken, isBound }: Tokens): string =>
  `${isBound === true ? 'DPoP' : 'Bearer'} ${accessToken}`;

export const isExpired = ({ expiresAt = Infinity }: Tokens): boolean => Date.now() >= expiresAt;

/** Whether a token need not be replaced yet. */
export function isGood(tokens: Tokens): boolean {
  return Date.now() < (tokens.expiresAt ?? Infinity) - marginOf(tokens);
}
