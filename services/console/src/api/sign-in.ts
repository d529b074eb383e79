/**
 * Signs the user of the page in as any MCP client does (MCP authorization 2025-11-25): the refused request names the metadata of the gateway, these the
 * issuer, where the page registers itself and sends its user. Tokens stay in the memory of the tab. While the user is away, the tab's session storage
 * holds what proves that it was this tab that began; it is removed when the user comes back.
 */

import type { Challenge, Granted } from './ask.ts';

/** Inputs of the token request. */
interface Begun {
  readonly issuer: string;
  /** Whether the issuer says its name in each answer (RFC 9207). */
  readonly saysIssuer: boolean;
  readonly tokenUrl: string;
  readonly client: string;
  readonly resource: string;
  readonly verifier: string;
  readonly state: string;
  readonly redirectUri: string;
  /** The fragment of the address from which the user went away. */
  readonly view: string;
}

type Members = Readonly<Record<string, unknown>>;

/** The name under which the tab's session storage has the started sign-in. */
const place = 'omnibus-sign-in';

/** Leaves the page for the issuer's. @throws {Error} in words for the user, when that is not possible. */
export async function beginSignIn({ metadata, scope, client: given }: Challenge): Promise<void> {
  const { authorization_servers: servers, resource } = await read(metadata);
  const issuer = Array.isArray(servers) ? textOf(servers[0]) : undefined;
  if (issuer === undefined || !URL.canParse(issuer) || typeof resource !== 'string')
    throw new Error('The gateway does not say where one signs in: enter a key or a token.');
  const found = await metadataOf(issuer);
  const [authorizeUrl, tokenUrl, registerUrl] = [
    textOf(found['authorization_endpoint']),
    textOf(found['token_endpoint']),
    textOf(found['registration_endpoint']),
  ];
  if (
    found['issuer'] !== issuer ||
    authorizeUrl === undefined ||
    tokenUrl === undefined ||
    !/^https?:/.test(authorizeUrl)
  )
    throw new Error(`${issuer} does not say how one signs in there.`);
  const methods = found['code_challenge_methods_supported'];
  if (!Array.isArray(methods) || !methods.includes('S256'))
    throw new Error(`${issuer} does not say that it knows PKCE, without which no code is safe.`);
  const redirectUri = `${location.origin}${location.pathname}`;
  const client = given ?? (await register(issuer, registerUrl, redirectUri));
  const [verifier, state] = [random(), random()];
  const begun: Begun = {
    issuer,
    saysIssuer: found['authorization_response_iss_parameter_supported'] === true,
    tokenUrl,
    client,
    resource,
    verifier,
    state,
    redirectUri,
    view: location.hash,
  };
  const address = new URL(authorizeUrl);
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: client,
    redirect_uri: redirectUri,
    state,
    resource,
    ...(scope === undefined ? {} : { scope }),
    code_challenge: base64url(
      new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))),
    ),
    code_challenge_method: 'S256',
  }))
    address.searchParams.set(name, value);
  sessionStorage.setItem(place, JSON.stringify(begun));
  location.assign(address);
}

/** @returns the client id. @throws {Error} in words for the user. */
async function register(issuer: string, registerUrl: string | undefined, redirectUri: string): Promise<string> {
  if (registerUrl === undefined)
    throw new Error(
      `${issuer} registers no clients. Somebody who looks after the gateway can register this page there, and write its client id as auth.admin.clientId; or enter a key or a token.`,
    );
  const { client_id: client } = await read(
    registerUrl,
    JSON.stringify({
      client_name: 'Omnibus console',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    }),
  );
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
  const said = answer.get('iss');
  if (said !== begun.issuer && (said !== null || begun.saysIssuer))
    throw new Error(
      `The answer is not of ${begun.issuer}, where the sign-in began; nothing of it was used. Sign in again.`,
    );
  const code = answer.get('code');
  if (code === null)
    throw new Error(
      `You were not signed in: ${answer.get('error_description') ?? answer.get('error') ?? 'the issuer does not say why'}.`,
    );
  return granted(
    begun,
    await requestToken(begun, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: begun.redirectUri,
      code_verifier: begun.verifier,
    }),
  );
}

function granted(begun: Begun, said: Members, before?: string): Granted {
  const token = textOf(said['access_token']);
  const refreshToken = textOf(said['refresh_token']) ?? before;
  if (token === undefined) throw new Error(`${begun.issuer} has given no token.`);
  return {
    token,
    async renew() {
      if (refreshToken === undefined) return undefined;
      try {
        return granted(
          begun,
          await requestToken(begun, { grant_type: 'refresh_token', refresh_token: refreshToken }),
          refreshToken,
        );
      } catch (error) {
        if (error instanceof Refused) return undefined;
        throw error;
      }
    },
  };
}

function requestToken(
  { tokenUrl, client, resource }: Begun,
  grant: Readonly<Record<string, string>>,
): Promise<Members> {
  return read(tokenUrl, new URLSearchParams({ ...grant, client_id: client, resource }));
}

/** The metadata of an issuer, which are those of OAuth (RFC 8414), or of OpenID Connect alone. @throws {Error} in words for the user. */
async function metadataOf(issuer: string): Promise<Members> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  // Where there is nothing, an issuer may answer without the headers that let a page see that.
  return read(`${origin}/.well-known/oauth-authorization-server${path}`).catch(() =>
    read(`${origin}${path}/.well-known/openid-configuration`),
  );
}

/** The issuer has refused the request. */
class Refused extends Error {}

/** The members of the answer to a GET, or with `body` to a POST. @throws {Refused} for a status of 400 to 499. @throws {Error} in words for the user. */
async function read(address: string, body?: string | URLSearchParams): Promise<Members> {
  const { host } = new URL(address);
  let answer: Response;
  try {
    answer = await fetch(address, {
      credentials: 'omit',
      redirect: 'error',
      headers: {
        accept: 'application/json',
        ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
      },
      ...(body === undefined ? {} : { method: 'POST', body }),
    });
  } catch {
    // The browser does not tell a page why.
    throw new Error(
      `${host} does not answer this page. If the gateway is there: does it run, and is ${location.origin} one of security.allowedOrigins? Another issuer may not let this page register and ask it (CORS): that is set where its client is registered there (auth.admin.clientId). Else enter a key or a token.`,
    );
  }
  const said = (await answer.json().catch(() => ({}))) as Members;
  const words = `${host} answers HTTP ${answer.status}: ${textOf(said['error_description']) ?? textOf(said['error']) ?? 'it does not say why'}`;
  if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) throw new Refused(words);
  if (!answer.ok) throw new Error(words);
  return said;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));
const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
