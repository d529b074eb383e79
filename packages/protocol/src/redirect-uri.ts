/**
 * Redirect URIs of clients: the answer to a sign-in is sent to them, so a wrong one gives a sign-in to another (RFC 9700, 4.1). The same holds for
 * clients in the configuration and of those that register.
 */

const maxUriCharacters = 2_000;
const loopback = /^(localhost|127\.0\.0\.1|\[::1\])$/;
/** Characters that no address has (RFC 3986, 2): parsers leave some of them out, or read others in their place. */
const noUri = /[^\x21-\x7E]|[\\"<>^`{|}]/;
/** Schemes that a browser would handle itself, or programs that every machine has and that take no answers. */
const dangerousSchemes = new Set([
  'javascript:',
  'data:',
  'vbscript:',
  'blob:',
  'about:',
  'file:',
  'ftp:',
  'ws:',
  'wss:',
  'mailto:',
  'view-source:',
  'filesystem:',
  'intent:',
  'chrome:',
  'tel:',
  'sms:',
  'facetime:',
  'ms-msdt:',
  'ms-search:',
  'search-ms:',
  'smb:',
  'ssh:',
  'telnet:',
  'ldap:',
  'ldaps:',
  'jar:',
]);

/** Whether a redirect URI leads to a program on the user's own machine, which may use any port (RFC 8252, 7.3). */
export function isLoopback(uri: string): boolean {
  return URL.canParse(uri) && new URL(uri).protocol === 'http:' && loopback.test(new URL(uri).hostname);
}

/** The kind of a client with this redirect URI: a page of the web, or a program on a machine. @returns the problem, in words, if it must not be used. */
export function redirectKind(uri: unknown): { readonly kind: 'web' | 'native' } | { readonly problem: string } {
  if (typeof uri !== 'string' || uri.length > maxUriCharacters || noUri.test(uri) || !URL.canParse(uri))
    return { problem: 'a redirect URI is not a valid address' };
  const { protocol, username, password, hash } = new URL(uri);
  // A browser that is sent to "https:host" stays at this server, and reads the host as a path.
  if (/^https?:(?!\/\/[^/])/i.test(uri)) return { problem: 'a redirect URI has no host: expected https://HOST/...' };
  if (hash !== '' || uri.includes('#')) return { problem: 'a redirect URI has a fragment' };
  if (username !== '' || password !== '') return { problem: 'a redirect URI names a user' };
  if (protocol === 'https:') return { kind: 'web' };
  if (protocol === 'http:')
    return isLoopback(uri) ? { kind: 'native' } : { problem: 'a redirect URI with http:// must be a loopback address' };
  return dangerousSchemes.has(protocol) ? { problem: `a redirect URI must not use ${protocol}` } : { kind: 'native' };
}
