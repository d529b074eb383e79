/**
 * Which redirects are followed (RFC 9110, 15.4): those within the origin of the address, since requests contain credentials for that
 * origin. So a redirect to another host or port, and one from https to http, is refused.
 */

/** Redirects of one request that are followed. */
export const maxRedirects = 5;

export interface RedirectAnswer {
  readonly method: string;
  /** The requested address. */
  readonly address: string;
  readonly status: number;
  /** The header `Location`. */
  readonly location: unknown;
}

/** Statuses that keep method and body, and those that clients follow with GET. */
const keeping: ReadonlySet<number> = new Set([307, 308]);
const changing: ReadonlySet<number> = new Set([301, 302]);

/**
 * @returns the address to ask next, or why the redirect is not followed, in words of the gateway alone; undefined for a status that is no redirect.
 */
export function redirectOf({
  method,
  address,
  status,
  location,
}: RedirectAnswer): { readonly to: URL } | { readonly problem: string } | undefined {
  if (status < 300 || status >= 400 || status === 304) return undefined;
  const said = `the server redirects (HTTP ${status})`;
  if (!keeping.has(status) && !(changing.has(status) && method === 'GET'))
    return { problem: `${said} in a way that would lose the request; configure the address it redirects to` };
  if (typeof location !== 'string' || !URL.canParse(location, address))
    return { problem: `${said} and names no address` };
  const to = new URL(location, address);
  if (to.origin === new URL(address).origin) return { to };
  const isDowngrade = address.startsWith('https:') && to.protocol === 'http:';
  return {
    problem: `${said} ${isDowngrade ? 'from https to http' : 'to another origin'}, where its credentials are not sent; configure the address it redirects to`,
  };
}

interface Answer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: { cancel(): Promise<void> } | null;
}

/**
 * Gets a document, and follows redirects within the origin.
 * @param get sends one request without following redirects.
 * @returns the last answer, which is a redirect only if that is not followed.
 */
export async function getFollowing<Given extends Answer>(
  address: string,
  get: (address: string) => Promise<Given>,
): Promise<Given> {
  let current = address;
  for (let count = 0; ; count += 1) {
    const answer = await get(current);
    const next = redirectOf({
      method: 'GET',
      address: current,
      status: answer.status,
      location: answer.headers.get('location'),
    });
    if (next === undefined || 'problem' in next || count === maxRedirects) return answer;
    await answer.body?.cancel();
    current = next.to.href;
  }
}
