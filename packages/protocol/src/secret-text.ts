/**
 * Secrets that a text shows by their form: tokens with a known beginning, credentials of a header, users of addresses, and values with a name that suggests a
 * secret. Strangers choose such texts, so each pattern does a bounded amount of work for each character.
 */

/** Tokens with a known beginning, and JSON Web Tokens (RFC 7519). */
export const tokenPattern =
  /\b(?:sk-|pk-|rk-|sk_live_|sk_test_|rk_live_|whsec_|omk_|ghp_|gho_|ghs_|ghu_|ghr_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|npm_|eyJ[\w-]{6,300}\.)[\w.-]{10,4000}/g;

/** `name=value` and `name: value` with a name that suggests a secret, in prose, JSON, headers and query strings. */
const assignment =
  /((?:[\w.-]{0,64}(?:password|passwd|passphrase|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credentials?|authorization|cookie))["']?\s{0,3}[:=]\s{0,3})(?:(?:bearer|basic)\s+)?(?:"[^"]{1,2000}"|'[^']{1,2000}'|[^\s"',;&]{1,2000})/gi;
/** Credentials of an Authorization header (RFC 9110, 11.4). */
const scheme = /\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi;
/** A password may have "/", "?" and "#" as a person writes it, where what follows the ":" is no port. */
const userInfo =
  /\b([a-z][a-z0-9+.-]{0,20}:\/\/)(?:[^\s/@]{1,500}|[^\s/@:?#]{1,200}:(?!\d{1,5}[/?#])[^\s@"'<>]{1,500})@/gi;

/** Whether a text has a token with a known beginning. */
export function hasToken(text: string): boolean {
  return text.search(tokenPattern) !== -1;
}

/** Replaces each secret of a text by the mark; what names it stays. */
export function withoutSecrets(text: string, mark: string): string {
  return text
    .replace(userInfo, (_all, before: string) => `${before}${mark}@`)
    .replace(scheme, (_all, kind: string) => `${kind} ${mark}`)
    .replace(assignment, (_all, before: string) => `${before}${mark}`)
    .replace(tokenPattern, () => mark);
}
