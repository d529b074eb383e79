/** Addresses that tokens are for, however clients write them. */

/**
 * What a token for an address says that it is for: scheme and host in small letters, no slash at the end (MCP authorization, Canonical Server
 * URI). Who names the gateway without a path means all of it.
 */
export function audienceOf(address: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname === '/' ? '/mcp' : pathname.replace(/\/$/, '')}`;
}

/** Writes each `resource` of a request as tokens say it: the library compares them as texts, and clients add a slash here and leave it out there. */
export function withAudiences(form: URLSearchParams): URLSearchParams {
  const named = form.getAll('resource');
  form.delete('resource');
  // With a query or a fragment it is none of ours, which is for the library to say.
  for (const each of named) form.append('resource', URL.canParse(each) && !/[?#]/.test(each) ? audienceOf(each) : each);
  return form;
}
