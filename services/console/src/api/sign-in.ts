/**
 * Signs the user of the page in as any MCP client does (MCP authorization 2025-11-25): the refused request names the metadata of the gateway, these the
 * issuer, where the page registers itself and sends its user. Tokens stay in the memory of the tab. While the user is away, the tab's session storage
 * holds what proves that it was this tab that began; it is removed when the user comes back.
 */
import * as oauth from 'oauth4webapi';
import type { Challenge, Granted } from './ask.ts';
import { signedOut } from './signed-out.ts';

/** Inputs of the token request. */
interface Begun {
  readonly server: oauth.AuthorizationServer;
  readonly client: string;
  readonly resource: string;
  readonly verifier: string;
  readonly state: string;
  readonly redirectUri: string;
  /** The fragment of the address from which the user went away. */
  readonly view: string;
}

/** The name under which the tab's session storage has the started sign-in. */
const place = 'omnibus-sign-in';
/** The browser itself blocks requests from a page over TLS to addresses without. */
const options = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: ask } as const;

/** Leaves the page for the issuer's. @throws {Error} in words for the user, when that is not possible. */
export async function beginSignIn({ metadata, scope, client: given }: Challenge): Promise<void> {
  const { authorization_servers: servers, resource } = (await (await ask(metadata)).json()) as Members;
  const issuer = Array.isArray(servers) ? textOf(servers[0]) : undefined;
  if (issuer === undefined || !URL.canParse(issuer) || typeof resource !== 'string')
    throw new Error('The gateway does not say where one signs in: enter a key or a token.');
  const server = await metadataOf(issuer);
  const { authorization_endpoint: authorizeUrl, code_challenge_methods_supported: methods } = server;
  if (authorizeUrl === undefined || server.token_endpoint === undefined || !/^https?:/.test(authorizeUrl))
    throw new Error(`${issuer} does not say how one signs in there.`);
  if (methods?.includes('S256') !== true)
    throw new Error(`${issuer} does not say that it knows PKCE, without which no code is safe.`);
  const redirectUri = `${location.origin}${location.pathname}`;
  const client = given ?? (await register(server, redirectUri));
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
  const address = new URL(authorizeUrl);
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: client,
    redirect_uri: redirectUri,
    state,
    resource,
    ...(scope === undefined ? {} : { scope }),
    // OpenID Connect Core 3.1.2.1: the issuer asks for the name again, although its own session continues.
    ...(sessionStorage.getItem(signedOut) === null ? {} : { prompt: 'login' }),
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }))
    address.searchParams.set(name, value);
  const begun: Begun = { server, client, resource, verifier, state, redirectUri, view: location.hash };
  sessionStorage.setItem(place, JSON.stringify(begun));
  location.assign(address);
}

/** @returns the client id. @throws {Error} in words for the user. */
async function register(server: oauth.AuthorizationServer, redirectUri: string): Promise<string> {
  const { issuer } = server;
  if (server.registration_endpoint === undefined)
    throw new Error(
      `${issuer} registers no clients. Somebody who looks after the gateway can register this page there, and write its client id as auth.admin.clientId; or enter a key or a token.`,
    );
  const made = await oauth.dynamicClientRegistrationRequest(
    server,
    {
      client_name: 'Omnibus console',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    options,
  );
  const { client_id: client } = (await made.json().catch(() => ({}))) as Members;
  if (typeof client !== 'string') throw new Error(`${issuer} has not registered this page.`);
  return client;
}

/**
 * Takes the issuer's answer out of the address, and exchanges its code for a token.
 * @throws {Error} in words for the user.
 */
export async function finishSignIn(): Promise<Granted> {
  const answer = new URLSearchParams(location.search);
  const kept = sessionStorage.getItem(place);
  sessionStorage.removeItem(place);
  const begun = kept === null ? undefined : (JSON.parse(kept) as Begun);
  history.replaceState(null, '', `${location.pathname}${begun?.view ?? ''}`);
  if (begun === undefined || answer.get('state') !== begun.state)
    throw new Error(
      'This tab has not begun the sign-in that was answered; nothing of the answer was used. Sign in again.',
    );
  const { server, redirectUri, verifier } = begun;
  const client = { client_id: begun.client };
  const code = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    codeIn(begun, answer),
    redirectUri,
    verifier,
    { ...options, additionalParameters: { resource: begun.resource } },
  );
  const said = await oauth.processAuthorizationCodeResponse(server, client, code);
  // Until a token has come, each new attempt asks for the name again.
  sessionStorage.removeItem(signedOut);
  return granted(begun, said);
}

/** Checks that the answer comes from the issuer that was asked (RFC 9207), and grants. @throws {Error} in words for the user. */
function codeIn({ server, client, state }: Begun, answer: URLSearchParams): URLSearchParams {
  try {
    return oauth.validateAuthResponse(server, { client_id: client }, answer, state);
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError)
      throw new Error(`You were not signed in: ${error.error_description ?? error.error}.`, { cause: error });
    throw new Error(
      `The answer is not of ${server.issuer}, where the sign-in began; nothing of it was used. Sign in again.`,
      { cause: error },
    );
  }
}

function granted(begun: Begun, said: oauth.TokenEndpointResponse, before?: string): Granted {
  const refreshToken = said.refresh_token ?? before;
  return {
    token: said.access_token,
    renew: () => (refreshToken === undefined ? Promise.resolve(undefined) : renewed(begun, refreshToken)),
  };
}

/** @returns undefined if the issuer gives no further token. */
async function renewed(begun: Begun, refreshToken: string): Promise<Granted | undefined> {
  const { server, resource } = begun;
  const client = { client_id: begun.client };
  try {
    const answer = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refreshToken, {
      ...options,
      additionalParameters: { resource },
    });
    return granted(begun, await oauth.processRefreshTokenResponse(server, client, answer), refreshToken);
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

/** The metadata of an issuer, which are those of OAuth (RFC 8414), or of OpenID Connect alone. @throws {Error} in words for the user. */
async function metadataOf(issuer: string): Promise<oauth.AuthorizationServer> {
  const address = new URL(issuer);
  const found = async (algorithm: 'oauth2' | 'oidc'): Promise<oauth.AuthorizationServer> =>
    oauth.processDiscoveryResponse(address, await oauth.discoveryRequest(address, { ...options, algorithm }));
  // Where there is nothing, an issuer may answer without the headers that let a page see that.
  const said = await found('oauth2').catch(() => found('oidc'));
  if (said.issuer !== issuer) throw new Error(`${issuer} does not say how one signs in there.`);
  return said;
}

/** The issuer has refused the request. */
class Refused extends Error {}

/** @throws {Refused} for a status of 400 to 499. @throws {Error} in words for the user. */
async function ask(
  address: string,
  request: Partial<oauth.CustomFetchOptions<string, unknown>> = {},
): Promise<Response> {
  const { host } = new URL(address);
  let answer: Response;
  try {
    answer = await fetch(address, { ...(request as RequestInit), credentials: 'omit', redirect: 'error' });
  } catch {
    // The browser does not tell a page why.
    throw new Error(
      `${host} does not answer this page. If the gateway is there: does it run, and is ${location.origin} one of security.allowedOrigins? Another issuer may not let this page register and ask it (CORS): that is set where its client is registered there (auth.admin.clientId). Else enter a key or a token.`,
    );
  }
  if (answer.ok) return answer;
  const said = (await answer.json().catch(() => ({}))) as Members;
  const words = `${host} answers HTTP ${answer.status}: ${textOf(said['error_description']) ?? textOf(said['error']) ?? 'it does not say why'}`;
  throw answer.status < 500 && answer.status !== 429 ? new Refused(words) : new Error(words);
}

type Members = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
