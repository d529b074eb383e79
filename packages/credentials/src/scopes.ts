/** Scopes, separated by blanks (RFC 6749, 3.3). */

/** The union of scopes, each once. @returns undefined where there are none. */
export function scopeUnion(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => (scope ?? '').split(' ')).filter((scope) => scope !== ''));
  return all.size === 0 ? undefined : [...all].join(' ');
}
