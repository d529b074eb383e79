/** One request to an issuer's token endpoint (RFC 6749, 4 to 6), with the authentication of the client. */
import { importPKCS8 } from 'jose';
import { objectIn } from '@omnibus/protocol';
import type * as oauth from 'oauth4webapi';
import type { AuthorizationServer, Client, ClientAuth } from 'oauth4webapi';
import { CredentialProblem, isTrustworthy, type Fetch } from './outbound.ts';
import type { Prover } from './proof-of-possession.ts';

/** How the gateway identifies itself to an issuer. */
export interface ClientIdentity {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** Signs assertions (RFC 7523, 2.2): PKCS #8, PEM. */
  readonly privateKey?: string | undefined;
  readonly algorithm?: string | undefined;
  /** The authentication method that was registered at the issuer; chosen by the issuer's metadata when left out. */
  readonly method?: string | undefined;
}

/** The same in the words of a configuration. */
type ClientOptions = Omit<ClientIdentity, 'method'> & { readonly clientAuthentication?: string | undefined };

/** As which client the gateway asks an issuer, by the options of a configuration. */
export function clientOf({
  clientId,
  clientSecret,
  privateKey,
  algorithm,
  clientAuthentication: method,
}: ClientOptions): ClientIdentity {
  return { clientId, clientSecret, privateKey, algorithm, method };
}

export interface Tokens {
  readonly accessToken: string;
  /** Milliseconds since 1970; undefined when the issuer does not say. */
  readonly expiresAt: number | undefined;
  readonly refreshToken: string | undefined;
  readonly scope: string | undefined;
  /** Milliseconds from the answer of the issuer to `expiresAt`; left out if that is undefined. */
  readonly lifeMs?: number;
  /** Whether the access token is bound to the key of the request (RFC 9449). */
  readonly isBound?: boolean;
}

export interface TokenRequest {
  readonly fetch: Fetch;
  readonly server: AuthorizationServer;
  readonly client: ClientIdentity;
  readonly grant: string;
  readonly parameters: Readonly<Record<string, string | undefined>>;
  /** Proves that the requester has the key that the tokens are to be bound to; left out for tokens that are not. */
  readonly prover?: Prover | undefined;
  /** The type of token that is expected, where it is no access token (`issued_token_type`, RFC 8693, 2.2.1); it is not sent to servers. */
  readonly issues?: string | undefined;
}

/** The issuer refuses the credential in the request, such as a refresh token; repeating the request does not help. */
export class TokenRefused extends CredentialProblem {
  /** The error code of RFC 6749, 5.2, or another word of letters, digits and signs. */
  readonly code: string;

  constructor(issuer: string, code: string) {
    super(`the issuer ${issuer} gives no token: ${code}`);
    this.code = code;
  }
}

/** The answer is not from the issuer: it is from a proxy, or the endpoint has moved. It says nothing about the credential in the request. */
export class NoIssuerThere extends CredentialProblem {}

/** Whether an issuer refuses the client itself, whatever it has presented (RFC 6749, 5.2). */
export function isOfClient({ code }: TokenRefused): boolean {
  return code === 'invalid_client' || code === 'unauthorized_client' || code === 'HTTP 401';
}

/** The client of the configuration as it is now, where a client that was noted with tokens is that one. */
export function asConfigured(configured: ClientIdentity | undefined, noted: ClientIdentity): ClientIdentity {
  return configured?.clientId === noted.clientId ? configured : noted;
}

/** A problem that the operator must fix. */
export function notAccepted(refused: TokenRefused, { clientId }: ClientIdentity): CredentialProblem {
  return new CredentialProblem(
    `${refused.message}: it does not accept the gateway as its client "${clientId}"; see \`clientId\`, \`clientSecret\` and \`clientAuthentication\` of the server's \`credentials\``,
    { cause: refused },
  );
}

/** @throws {CredentialProblem} */
export async function requestTokens({
  fetch,
  server,
  client,
  grant,
  parameters,
  prover,
  issues,
}: TokenRequest): Promise<Tokens> {
  const { issuer, token_endpoint: endpoint } = server;
  if (endpoint === undefined || !isTrustworthy(endpoint))
    throw new CredentialProblem(`the issuer ${issuer} names no address for tokens`);
  const library = await import('oauth4webapi');
  const given = Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const answer = await library.genericTokenEndpointRequest(
    server,
    { client_id: client.clientId } satisfies Client,
    await authentication(library, server, client),
    grant,
    given,
    sentBy(library, (address, { method = 'POST', headers, body } = {}) =>
      withProof(prover, method, address, (proof) =>
        fetch(address, { method, headers: { ...headers, ...proof }, ...(body === undefined ? {} : { body }) }),
      ),
    ),
  );
  const sent = [
    ...Object.entries(given).flatMap(([name, value]) => (spoken.has(name) ? [] : [value])),
    client.clientSecret ?? [],
  ].flat();
  return tokensIn(answer, issuer, prover !== undefined, sent, issues);
}

/** Parameters that are no secrets. */
const spoken = new Set([
  'scope',
  'resource',
  'audience',
  'redirect_uri',
  'requested_token_type',
  'subject_token_type',
  'actor_token_type',
]);

/** Sends a request with a proof, and once more where the issuer wants a nonce in it (RFC 9449, 8). */
async function withProof(
  prover: Prover | undefined,
  method: string,
  address: string,
  send: (proof: Readonly<Record<string, string>>) => Promise<Response>,
): Promise<Response> {
  if (prover === undefined) return send({});
  const answer = await send({ dpop: prover.of(method, address) });
  const nonce = answer.headers.get('dpop-nonce');
  if (nonce === null) return answer;
  prover.note(address, nonce);
  const said = answer.status === 400 || answer.status === 401 ? objectIn(await answer.clone().text()) : undefined;
  return said?.['error'] === 'use_dpop_nonce' ? send({ dpop: prover.of(method, address) }) : answer;
}

/**
 * Asks an issuer to revoke a token (RFC 7009).
 * @returns whether it did; undefined when it has no revocation endpoint.
 * @throws {CredentialProblem} when it does not answer.
 */
export async function revokeToken(
  { fetch, server, client }: Pick<TokenRequest, 'fetch' | 'server' | 'client'>,
  token: string,
): Promise<boolean | undefined> {
  const { revocation_endpoint: endpoint } = server;
  if (endpoint === undefined || !isTrustworthy(endpoint)) return undefined;
  const library = await import('oauth4webapi');
  const answer = await library.revocationRequest(
    server,
    { client_id: client.clientId },
    await authentication(library, server, client),
    token,
    sentBy(library, fetch),
  );
  return answer.status === 200;
}

/** How the library sends its requests. Addresses were checked when they were read, and are checked again when they are connected to. */
export function sentBy(
  library: typeof oauth,
  fetch: Fetch,
): oauth.HttpRequestOptions<'POST', URLSearchParams | string> {
  return {
    [library.allowInsecureRequests]: true,
    [library.customFetch]: (address, { method, headers, body }) =>
      fetch(address, { method, headers, body: String(body) }),
  };
}

async function authentication(
  library: typeof oauth,
  server: AuthorizationServer,
  { clientSecret, privateKey, algorithm, method }: ClientIdentity,
): Promise<ClientAuth> {
  const supported = server.token_endpoint_auth_methods_supported ?? [];
  if (privateKey !== undefined) {
    const alg = algorithm ?? 'ES256';
    const key = await importPKCS8(privateKey, alg).catch((error: unknown) => {
      throw new CredentialProblem(`the private key cannot be read as one for ${alg}: PKCS #8 in PEM is expected`, {
        cause: error,
      });
    });
    return library.PrivateKeyJwt(key);
  }
  if (clientSecret === undefined || method === 'none') return library.None();
  // An issuer that names no method takes `client_secret_basic` (RFC 8414, 2).
  const chosen =
    method ??
    (supported.length === 0 || supported.includes('client_secret_basic') || !supported.includes('client_secret_post')
      ? 'client_secret_basic'
      : 'client_secret_post');
  return chosen === 'client_secret_post' ? library.ClientSecretPost(clientSecret) : basic(clientSecret);
}

/**
 * RFC 6749, 2.3.1: both are encoded as forms are, before the colon joins them. Forms leave `*-._` as they are (WHATWG URL, urlencoded serializing); the
 * library writes these as `%2D` and the like, which issuers that compare without decoding do not know.
 */
function basic(secret: string): ClientAuth {
  const encoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1);
  return (_server, client, _body, headers) =>
    headers.set(
      'authorization',
      `Basic ${Buffer.from(`${encoded(client.client_id)}:${encoded(secret)}`).toString('base64')}`,
    );
}

/** Errors by which an issuer says that it cannot answer now, some of them with a status of its own (RFC 6749, 4.1.2.1; RFC 8628, 3.5). */
const passing: ReadonlySet<string> = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);

/** @throws {CredentialProblem} */
async function tokensIn(
  answer: Response,
  issuer: string,
  canBeBound: boolean,
  sent: readonly string[],
  issues: string | undefined,
): Promise<Tokens> {
  // An answer that is no object has neither a token nor an error.
  const said = objectIn(await answer.text()) ?? {};
  const { error } = said;
  if (answer.status !== 200 || (typeof error === 'string' && error !== ''))
    throw refusalOf(answer.status, typeof error === 'string' ? error : '', issuer, sent);
  const {
    access_token: accessToken,
    token_type: type,
    issued_token_type: issued,
    expires_in: life,
    refresh_token: refreshToken,
    scope,
  } = said;
  if (typeof accessToken !== 'string' || !/^[\x21-\x7E]{1,16384}$/.test(accessToken))
    throw new CredentialProblem(`the issuer ${issuer} answers with no token that fits into a header`);
  if (issues !== undefined && issued !== issues)
    throw new CredentialProblem(`the issuer ${issuer} gives a token of another type than ${issues}`);
  // Some issuers leave the type out; a token of another type would have to be sent in another way.
  const kind = type === undefined ? 'bearer' : typeof type === 'string' ? type.toLowerCase() : '';
  const isBound = canBeBound && kind === 'dpop';
  if (issues === undefined && !isBound && kind !== 'bearer')
    throw new CredentialProblem(`the issuer ${issuer} gives tokens of a kind that is not known here`);
  return {
    ...(isBound ? { isBound } : {}),
    accessToken,
    ...endOf(life),
    refreshToken: typeof refreshToken === 'string' && refreshToken !== '' ? refreshToken : undefined,
    scope: typeof scope === 'string' ? scope : undefined,
  };
}

/** @param seconds `expires_in`. @returns no end if the issuer gives none that makes sense. */
function endOf(seconds: unknown): Pick<Tokens, 'expiresAt' | 'lifeMs'> {
  const lifeMs = 1_000 * Number(seconds);
  return seconds !== undefined && Number.isFinite(lifeMs) && lifeMs > 0
    ? { expiresAt: Date.now() + lifeMs, lifeMs }
    : { expiresAt: undefined };
}

/** @param error the code of the answer; empty without one. @param sent texts that the issuer may repeat, and that are not shown. */
function refusalOf(status: number, error: string, issuer: string, sent: readonly string[]): CredentialProblem {
  if (status >= 500 || status === 429 || passing.has(error))
    return new CredentialProblem(
      `the issuer ${issuer} answers HTTP ${status}${passing.has(error) ? ` (${error})` : ''}`,
      { isPassing: true },
    );
  if (error === '' && status !== 400 && status !== 401)
    return new NoIssuerThere(`the issuer ${issuer} answers HTTP ${status} at its address for tokens`, {
      isPassing: true,
    });
  return new TokenRefused(issuer, isCode(error, sent) ? error : `HTTP ${status}`);
}

/** Whether an error is a code that may be shown, and does not repeat what was sent, as some issuers do. */
function isCode(error: string, sent: readonly string[]): boolean {
  return (
    /^[\x21\x23-\x5B\x5D-\x7E]{1,60}$/.test(error) && !sent.some((each) => each.includes(error) || error.includes(each))
  );
}
