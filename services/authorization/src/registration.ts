/**
 * Checks the metadata of a client when it registers (RFC 7591) or in its metadata document: the needed members are taken, within bounds, and all others
 * are dropped. The kind of client follows from its redirect URIs, since these protect the user.
 */
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import { anotherDevice, deviceGrant } from './device.ts';

const maxRedirectUris = 10;
const maxUriCharacters = 2_000;
const maxNameCharacters = 200;
const authMethods = ['none', 'client_secret_basic', 'client_secret_post'];
const loopback = /^(localhost|127\.0\.0\.1|\[::1\])$/;
/** Characters that no address has (RFC 3986, 2): parsers leave some of them out, or read others in their place. */
const noUri = /[^\x21-\x7E]|[\\"<>^`{|}]/;
/** Schemes that a browser would handle itself, or programs that every machine has and that take no answers. */
const dangerousSchemes = new Set(['javascript:', 'data:', 'vbscript:', 'blob:', 'about:', 'file:', 'ftp:', 'ws:', 'wss:', 'mailto:', 'view-source:', 'filesystem:', 'intent:', 'chrome:', 'tel:', 'sms:', 'facetime:', 'ms-msdt:', 'ms-search:', 'search-ms:', 'smb:', 'ssh:', 'telnet:', 'ldap:', 'ldaps:', 'jar:']);

export type Described = { readonly metadata: JsonObject } | { readonly problem: string; readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata' };

/** Whether a redirect URI leads to a program on the user's own machine, which may use any port (RFC 8252, 7.3). */
export function isLoopback(uri: string): boolean {
  return URL.canParse(uri) && new URL(uri).protocol === 'http:' && loopback.test(new URL(uri).hostname);
}

/** The place that the answer to a client's request goes to, as text. */
export function answerPlace({ redirect_uri: uri }: Readonly<Record<string, unknown>>): string {
  return typeof uri === 'string' ? redirectHost(uri) : anotherDevice;
}

/** The place that a redirect leads to, as text: a host, or the whole address where it has none. */
export function redirectHost(uri: string): string {
  if (!URL.canParse(uri)) return uri;
  const { protocol, hostname, host } = new URL(uri);
  if (isLoopback(uri)) return hostname;
  return protocol === 'https:' ? host : protocol;
}

export function describeClient(said: unknown): Described {
  if (!isObject(said)) return { error: 'invalid_client_metadata', problem: 'expected a JSON object' };
  const { redirect_uris: given, client_name: name, token_endpoint_auth_method: method, client_uri: home, grant_types: grants } = said;
  const usesDevice = Array.isArray(grants) && grants.includes(deviceGrant);
  // A program that is signed in on another device needs no redirect URI.
  const hasNone = usesDevice && (given === undefined || (Array.isArray(given) && given.length === 0));
  const uris = hasNone ? [] : given;
  if (!Array.isArray(uris) || (uris.length === 0 && !hasNone) || uris.length > maxRedirectUris) return { error: 'invalid_redirect_uri', problem: `expected 1 to ${maxRedirectUris} redirect_uris` };
  const kinds = new Set<string>();
  for (const uri of uris as readonly unknown[]) {
    const kind = kindOf(uri);
    if ('problem' in kind) return { error: 'invalid_redirect_uri', problem: kind.problem };
    kinds.add(kind.kind);
  }
  // The name is shown where a user decides about trust, so it must not contain invisible characters or change the direction of the text.
  const shown = typeof name === 'string' ? printable(name.slice(0, maxNameCharacters)) : '';
  if (method !== undefined && !authMethods.includes(method as string)) return { error: 'invalid_client_metadata', problem: `token_endpoint_auth_method is one of ${authMethods.join(', ')}` };
  return {
    metadata: {
      // A client with any redirect URI of a program counts as native, since some editors also have one of a web page.
      redirect_uris: uris, application_type: kinds.has('native') || hasNone ? 'native' : 'web',
      grant_types: [...(hasNone ? [] : ['authorization_code']), 'refresh_token', ...(usesDevice ? [deviceGrant] : [])], response_types: hasNone ? [] : ['code'],
      ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
      ...(shown === '' ? {} : { client_name: shown }),
      ...(typeof home === 'string' && home.length <= maxUriCharacters && URL.canParse(home) && new URL(home).protocol === 'https:' ? { client_uri: home } : {}),
    },
  };
}

function kindOf(uri: unknown): { readonly kind: 'web' | 'native' } | { readonly problem: string } {
  if (typeof uri !== 'string' || uri.length > maxUriCharacters || noUri.test(uri) || !URL.canParse(uri)) return { problem: 'a redirect URI is not a valid address' };
  const { protocol, username, password, hash } = new URL(uri);
  // A browser that is sent to "https:host" stays at this server, and reads the host as a path.
  if (/^https?:(?!\/\/[^/])/i.test(uri)) return { problem: 'a redirect URI has no host: expected https://HOST/...' };
  if (hash !== '' || uri.includes('#')) return { problem: 'a redirect URI has a fragment' };
  if (username !== '' || password !== '') return { problem: 'a redirect URI names a user' };
  if (protocol === 'https:') return { kind: 'web' };
  if (protocol === 'http:') return isLoopback(uri) ? { kind: 'native' } : { problem: 'a redirect URI with http:// must be a loopback address' };
  return dangerousSchemes.has(protocol) ? { problem: `a redirect URI must not use ${protocol}` } : { kind: 'native' };
}
