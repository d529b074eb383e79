/**
 * Checks the metadata of a client when it registers (RFC 7591) or in its metadata document: it uses the needed members, within bounds, and all others
 * are dropped. The kind of client follows from its redirect URIs, since these protect the user.
 */
import { withoutNulls } from '@omnibus/identity';
import { isLoopback, isObject, printable, redirectKind, type JsonObject } from '@omnibus/protocol';
import { anotherDevice, deviceGrant } from './device.ts';

const maxRedirectUris = 10;
const maxUriCharacters = 2_000;
const maxNameCharacters = 200;
const authMethods = ['none', 'client_secret_basic', 'client_secret_post'];

export type Described =
  | { readonly metadata: JsonObject }
  | { readonly problem: string; readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata' };

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

function isPage(home: unknown): home is string {
  return (
    typeof home === 'string' &&
    home.length <= maxUriCharacters &&
    URL.canParse(home) &&
    new URL(home).protocol === 'https:'
  );
}

// oxlint-disable-next-line complexity -- a check and a default for each member of RFC 7591, 2
export function describeClient(said: unknown): Described {
  if (!isObject(said)) return { error: 'invalid_client_metadata', problem: 'expected a JSON object' };
  // Some programs send every member that they know.
  const {
    redirect_uris: given,
    client_name: name,
    token_endpoint_auth_method: method,
    client_uri: home,
    grant_types: grants,
  } = withoutNulls(said);
  const usesDevice = Array.isArray(grants) && grants.includes(deviceGrant);
  // A program that is signed in on another device needs no redirect URI.
  const hasNone = usesDevice && (given === undefined || (Array.isArray(given) && given.length === 0));
  const uris = hasNone ? [] : given;
  if (!Array.isArray(uris) || (uris.length === 0 && !hasNone) || uris.length > maxRedirectUris)
    return { error: 'invalid_redirect_uri', problem: `expected 1 to ${maxRedirectUris} redirect_uris` };
  const kinds = new Set<string>();
  for (const uri of uris as readonly unknown[]) {
    const kind = redirectKind(uri);
    if ('problem' in kind) return { error: 'invalid_redirect_uri', problem: kind.problem };
    kinds.add(kind.kind);
  }
  // The consent page shows the name, so it must not contain invisible characters or change the direction of the text.
  const shown = typeof name === 'string' ? printable(name.slice(0, maxNameCharacters)) : '';
  if (method !== undefined && !authMethods.includes(method as string))
    return {
      error: 'invalid_client_metadata',
      problem: `token_endpoint_auth_method is one of ${authMethods.join(', ')}`,
    };
  return {
    metadata: {
      // A client with any redirect URI of a program counts as native, since some editors also have one of a web page.
      redirect_uris: uris,
      application_type: kinds.has('native') || hasNone ? 'native' : 'web',
      grant_types: [...(hasNone ? [] : ['authorization_code']), 'refresh_token', ...(usesDevice ? [deviceGrant] : [])],
      response_types: hasNone ? [] : ['code'],
      ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
      ...(shown === '' ? {} : { client_name: shown }),
      ...(isPage(home) ? { client_uri: home } : {}),
    },
  };
}
