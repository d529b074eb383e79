/** The form of the addresses that tokens are for, however clients write them. */

/**
 * The audience of a token for an address: scheme and host in lower case, no slash at the end (MCP authorization, Canonical Server URI). An address of the
 * gateway without the path of an endpoint means all servers.
 * @param base the path below which the gateway stands.
 */
export function audienceOf(address: string, base: string): string {
  const { origin, pathname } = new URL(address);
  const path = pathname.replace(/\/$/, '');
  return `${origin}${path === base || path === '' ? `${base}/mcp` : path}`;
}

/** The name of the endpoint that an audience is for; empty for that of all servers. */
export function endpointOf(audience: string, base: string): string {
  return /^\/(?:mcp|sse|ws)\/([^/]+)$/.exec(new URL(audience).pathname.slice(base.length))?.[1] ?? '';
}

/** Rewrites each `resource` of a request to the form of audiences: the library compares texts, and some clients add a slash at the end. */
export function withAudiences(form: URLSearchParams, base: string): URLSearchParams {
  const named = form.getAll('resource');
  form.delete('resource');
  // With a query or a fragment it is not an address of ours, and the library refuses it.
  for (const each of new Set(
    named.map((name) => (URL.canParse(name) && !/[?#]/.test(name) ? audienceOf(name, base) : name)),
  ))
    form.append('resource', each);
  return form;
}
