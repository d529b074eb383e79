/** The path below which a gateway stands at its public address, such as `/team` of `https://mcp.example.com/team`. */

/** @param publicUrl without a slash at its end. @returns the empty text for an address without a path. */
export function basePathOf(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
}

const wellKnown = /^\/\.well-known\/[\w-]+/;

/**
 * The path of a request as the gateway serves it, without the path below which it stands. A document that describes an address stands at the path that is
 * inserted before that of the address: `/.well-known/oauth-protected-resource/team/mcp` (RFC 9728, 3.1; RFC 8414, 3.1).
 * @param path of the request, with its query.
 * @param base of `basePathOf`, not empty.
 * @returns undefined for a path that is not below it.
 */
export function pathBelow(path: string, base: string): string | undefined {
  const document = wellKnown.exec(path)?.[0] ?? '';
  const rest = path.slice(document.length);
  if (!rest.startsWith(base)) return undefined;
  const inside = rest.slice(base.length);
  if (document !== '') return inside === '' || /^[/?]/.test(inside) ? `${document}${inside}` : undefined;
  return inside === '' || inside.startsWith('?') ? `/${inside}` : inside.startsWith('/') ? inside : undefined;
}
