/**
 * Signs the user of this machine in to a gateway, as an MCP client does (MCP authorization 2025-11-25): the gateway names the issuer of the tokens that it
 * accepts, and the token is obtained there with a browser and a loopback redirect (RFC 8252), or with a code that is typed on another device (RFC 8628).
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readChallenge } from '@omnibus/credentials';
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import type { Configuration } from 'openid-client';
import { openBrowser, showsPages } from '../desktop/browser.ts';
import { discovered, discoveryOptions, inWords, isHere, reach, SignInProblem } from './issuer.ts';
import { keptClient, keptOf } from './issued.ts';
import type { Kept } from './kept-tokens.ts';

export interface SignInOptions {
  /** Address of the gateway's endpoint. */
  readonly url: string;
  /** Client id that was registered by hand, where the authorization server has no dynamic registration. */
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Scopes to request in addition to those that the gateway names. */
  readonly scopes?: readonly string[] | undefined;
  /** Whether to sign in by a code that is typed on another device; `auto`: if this machine has no display and the authorization server supports it. */
  readonly usesDevice: boolean | 'auto';
  readonly opensBrowser: boolean;
  /** Called before a sign-in of the user, if one is needed. */
  readonly prepare?: () => Promise<void>;
  /** Tells the user what to do. */
  readonly say: (text: string) => void;
}

/** Milliseconds that a user has to sign in. */
const userMs = 10 * 60_000;
const path = '/callback';
/** A request that has no effect, to see whether the gateway answers 401. */
const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** The challenge of a gateway that requires a token. */
interface Guarded {
  /** Resource that a token must be issued for (RFC 8707). */
  readonly resource: string;
  readonly issuer: string;
  readonly scope: string | undefined;
}

/**
 * Finds out whether a gateway requires a token, and which issuer gives it.
 * @returns undefined when it requires none.
 * @throws {SignInProblem}
 */
async function findIssuer(url: string): Promise<Guarded | undefined> {
  const answer = await reach(url, { method: 'POST', headers: json, body: ping });
  await answer.body?.cancel();
  if (isNoEndpoint(answer.status))
    throw new SignInProblem(
      `${url} answers HTTP ${answer.status}, as no endpoint of a gateway does: is the address right?`,
      'unreachable',
    );
  if (answer.status !== 401) return undefined;
  const challenge = readChallenge(answer.headers.get('www-authenticate') ?? undefined);
  const { resourceMetadata: named } = challenge;
  const { origin, pathname } = new URL(url);
  // The metadata have to be at the origin of the gateway: it must not send the user's client elsewhere.
  if (named !== undefined && (!URL.canParse(named) || new URL(named).origin !== origin))
    throw new SignInProblem(
      `${url} names metadata of another host: ${printable(named)}; use the address under which it is known, which begins with ${URL.canParse(named) ? new URL(named).origin : 'that'}`,
    );
  const address = named ?? `${origin}/.well-known/oauth-protected-resource${pathname.replace(/\/$/, '')}`;
  const metadata = (await (
    await reach(address, { headers: { accept: 'application/json' } })
  )
    .json()
    .catch(() => undefined)) as unknown;
  if (
    !isObject(metadata) ||
    !Array.isArray(metadata['authorization_servers']) ||
    typeof metadata['authorization_servers'][0] !== 'string'
  )
    throw new SignInProblem(
      `${url} wants to know who asks, and does not say where one signs in: give an API key in OMNIBUS_TOKEN, or with --header "Authorization: Bearer ..." where a command has that`,
      'forbidden',
    );
  const { resource } = metadata;
  if (typeof resource !== 'string' || canonical(resource) !== canonical(url))
    throw new SignInProblem(`${address} is about ${String(resource)}, and not about ${url}; use that address`);
  const issuer = metadata['authorization_servers'][0] as string;
  if (!URL.canParse(issuer) || (new URL(issuer).protocol !== 'https:' && !isHere(issuer)))
    throw new SignInProblem(
      `${url} names ${JSON.stringify(printable(issuer))} as the place to sign in, which is no https:// address`,
    );
  return { resource, issuer, scope: challenge.scope ?? scopesOf(metadata) };
}

/** Whether a status says that there is nothing at an address, or something else. A gateway that requires no token answers a ping, or misses a session (400). */
const isNoEndpoint = (status: number): boolean => [403, 404, 405, 410].includes(status) || status >= 500;

/**
 * Whether a gateway accepts a token now: one that has not expired may have been revoked.
 * @throws {SignInProblem} when it cannot be reached.
 */
export async function isTaken(url: string, { accessToken }: Kept): Promise<boolean> {
  const answer = await reach(url, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${accessToken}` },
    body: ping,
  });
  await answer.body?.cancel();
  return answer.status !== 401;
}

/** Signs in. @returns undefined where the gateway requires no token. @throws {SignInProblem} */
export async function signIn(options: SignInOptions): Promise<Kept | undefined> {
  const guarded = await findIssuer(options.url);
  if (guarded === undefined) return undefined;
  await options.prepare?.();
  const { scopes = [] } = options;
  const wanted =
    scopes.length === 0
      ? guarded
      : { ...guarded, scope: [guarded.scope, ...scopes].filter((each) => each !== undefined).join(' ') };
  return inWords(async () =>
    (await prefersDevice(options, wanted)) ? byDevice(options, wanted) : byBrowser(options, wanted),
  );
}

async function byBrowser(options: SignInOptions, { resource, issuer, scope }: Guarded): Promise<Kept> {
  const client = await import('openid-client');
  const arrival = new AbortController();
  let arrived: (url: URL) => void = () => undefined;
  const answer = new Promise<URL>((resolve) => {
    arrived = resolve;
  });
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', redirectUri);
    const isAnswer = url.pathname === path && url.searchParams.get('state') === state;
    answerBrowser(response, isAnswer);
    if (isAnswer) arrived(url);
  });
  const state = client.randomState();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const timer = setTimeout(() => arrival.abort(), userMs);
  try {
    const configuration = await registered(options, issuer, redirectUri);
    if (!configuration.serverMetadata().supportsPKCE())
      throw new SignInProblem(`${issuer} does not say that it knows PKCE, without which no code is safe`);
    const verifier = client.randomPKCECodeVerifier();
    const address = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      state,
      resource,
      ...(scope === undefined ? {} : { scope }),
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    options.say(`sign in with your browser: ${address.href}`);
    if (options.opensBrowser) openBrowser(address.href);
    const ended = once(arrival.signal, 'abort').then((): never => {
      throw new SignInProblem('nobody has signed in for ten minutes', 'timeout');
    });
    const url = await Promise.race([answer, ended]);
    checkSender(url.searchParams.get('iss'), configuration, issuer);
    return keptOf(
      await client.authorizationCodeGrant(
        configuration,
        url,
        { pkceCodeVerifier: verifier, expectedState: state },
        { resource },
      ),
      keptClient(configuration, issuer),
    );
  } finally {
    clearTimeout(timer);
    server.close();
    server.closeIdleConnections();
  }
}

/** @param isAnswer whether the browser came back from the sign-in, and not from elsewhere. */
function answerBrowser(response: ServerResponse, isAnswer: boolean): void {
  response
    .writeHead(isAnswer ? 200 : 404, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-store',
      connection: 'close',
    })
    .end(
      `<!doctype html><html lang="en"><title>Omnibus</title><p id="${isAnswer ? 'done' : 'nothing'}">${isAnswer ? 'You may close this page and go back to the program.' : 'There is nothing here.'}</p></html>`,
    );
}

/**
 * An answer of another authorization server than the asked one is ignored, whatever else it says (RFC 9207, 2.4).
 * @throws {SignInProblem}
 */
function checkSender(said: string | null, configuration: Configuration, issuer: string): void {
  if (said === issuer) return;
  const { authorization_response_iss_parameter_supported: says } = configuration.serverMetadata();
  if (said !== null)
    throw new SignInProblem(
      `the browser came back from ${JSON.stringify(printable(said, 200))}, and not from ${issuer}, where the sign-in began (iss): nothing of it was used. Sign in again; if that repeats, the issuer says a wrong name, or somebody interferes`,
    );
  if (says === true)
    throw new SignInProblem(
      `the browser came back without the name of the issuer (iss), which ${issuer} always gives: nothing of the answer was used. Sign in again`,
    );
}

/** Whether to sign in by a code that is typed on another device. */
async function prefersDevice({ usesDevice }: SignInOptions, { issuer }: Guarded): Promise<boolean> {
  if (usesDevice !== 'auto') return usesDevice;
  if (showsPages()) return false;
  const configuration = await discovered(issuer, 'unregistered', undefined);
  return configuration.serverMetadata().device_authorization_endpoint !== undefined;
}

async function byDevice(options: SignInOptions, { resource, issuer, scope }: Guarded): Promise<Kept> {
  const client = await import('openid-client');
  const configuration = await registered(options, issuer, 'http://127.0.0.1/callback', [
    'urn:ietf:params:oauth:grant-type:device_code',
  ]);
  if (configuration.serverMetadata().device_authorization_endpoint === undefined)
    throw new SignInProblem(
      `${issuer} has no sign-in by a code that is typed elsewhere; sign in with a browser, without --device`,
    );
  const device = await client.initiateDeviceAuthorization(configuration, {
    resource,
    ...(scope === undefined ? {} : { scope }),
  });
  const { verification_uri: page, user_code: code, verification_uri_complete: complete } = device;
  // The server is untrusted: its words must not control the terminal.
  options.say(
    `open ${printable(page)} anywhere and type ${printable(code)}${complete === undefined ? '' : `, or open ${printable(complete)}`}`,
  );
  return keptOf(
    await client.pollDeviceAuthorizationGrant(configuration, device, { resource }),
    keptClient(configuration, issuer),
  );
}

async function registered(
  { clientId, clientSecret }: SignInOptions,
  issuer: string,
  redirectUri: string,
  moreGrants: readonly string[] = [],
): Promise<Configuration> {
  if (clientId !== undefined) return discovered(issuer, clientId, clientSecret);
  const client = await import('openid-client');
  const options = await discoveryOptions(client, issuer);
  const metadata = {
    client_name: 'Omnibus command line',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token', ...moreGrants],
    response_types: ['code'],
  };
  try {
    return await client.dynamicClientRegistration(new URL(issuer), metadata, client.None(), options);
  } catch (error) {
    throw new SignInProblem(
      `no client could be registered at ${issuer} (${(error as Error).message}); register one there for ${redirectUri.replace(/:\d+\//, '/')} and give it with --client-id`,
      'forbidden',
      { cause: error },
    );
  }
}

function scopesOf({ scopes_supported: supported }: JsonObject): string | undefined {
  return Array.isArray(supported) && supported.length > 0 ? supported.join(' ') : undefined;
}

function canonical(address: string): string {
  return URL.canParse(address) ? new URL(address).href.replace(/\/$/, '') : address;
}
