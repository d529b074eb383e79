/**
 * A user's sign-in at the issuer of a server (MCP authorization; OAuth 2.1, 4.1): how the gateway identifies itself there, to which address the user is sent, and
 * how the issuer's answer is redeemed. The state of a sign-in is stored in the vault; the addresses that browsers see contain only what they must.
 */
import { createHash, randomBytes, type JsonWebKey } from 'node:crypto';
import { isObject } from '@omnibus/protocol';
import type { AuthorizationServer } from 'oauth4webapi';
import type { Challenge } from './challenge.ts';
import { discover } from './discovery.ts';
import { CredentialProblem, isLoopback, type Fetch } from './outbound.ts';
import { newState } from './sealed-answer.ts';
import { canBind, newProofKey, Prover } from './proof-of-possession.ts';
import { requestTokens, revokeToken, type ClientIdentity, type Tokens } from './token-request.ts';
import { placeOfSecret, type Kept, type Vault } from './vault/vault.ts';

export interface SignInOptions {
  readonly fetch: Fetch;
  readonly vault: Vault;
  /** The address of the MCP server. */
  readonly url: string;
  readonly issuer: string | undefined;
  /** The client id under which the operator has registered the gateway at the issuer. */
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  /** Address of the gateway's client metadata document, for issuers that accept such an address as client id. */
  readonly clientDocument: string | undefined;
  readonly scope: string | undefined;
  /** Whether tokens are requested for this server only (RFC 8707). */
  readonly namesResource: boolean;
}

/** A user's connection to a server's account: his tokens and where they are from, stored in the vault. */
export interface Connection {
  /** The address of the MCP server that the tokens are for; its name may stand for another server later. */
  readonly url: string;
  readonly issuer: string;
  readonly server: AuthorizationServer;
  readonly client: ClientIdentity;
  readonly resource: string | undefined;
  /** The key that the tokens are bound to; left out for tokens that are not (`proof-of-possession.ts`). */
  readonly proofKey?: JsonWebKey | undefined;
  /** All scopes that were ever requested. */
  readonly scope: string | undefined;
  /** Undefined after the issuer or the server has refused them. */
  readonly tokens: Tokens | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** The user's name, as his own sign-in gives it, for showing to people. */
  readonly owner?: string | undefined;
  /** The attempt that is refreshing the tokens, and the time until which no other attempt begins. */
  readonly refreshing?: { readonly by: string; readonly until: number } | undefined;
}

/** A sign-in that was begun and not finished. */
export interface Begun extends Omit<Connection, 'tokens' | 'since' | 'owner'> {
  readonly verifier: string;
  readonly redirectUri: string;
  /** Decrypts the issuer's answer (`sealed-answer.ts`); left out by versions that were sent it as it was. */
  readonly answerKey?: JsonWebKey;
}

interface Registered {
  readonly client: ClientIdentity;
  readonly redirectUri: string;
}

/**
 * @param wanted the server's demand when it refused a request.
 * @param before scopes that were requested before, which are requested again.
 * @throws {CredentialProblem}
 */
export async function beginSignIn(options: SignInOptions, redirectUri: string, wanted: Challenge, before: string | undefined): Promise<{ readonly address: string; readonly state: string; readonly begun: Begun }> {
  const { fetch, url, issuer: pinned, scope: configured, namesResource } = options;
  const { server, resource: named, scopes, isProofWanted } = await discover({ fetch, url, issuer: pinned, resourceMetadata: wanted.resourceMetadata });
  const { issuer, authorization_endpoint: endpoint, code_challenge_methods_supported: methods, scopes_supported: offered = [] } = server;
  if (endpoint === undefined) throw new CredentialProblem(`the issuer ${issuer} names no address to sign in at`);
  if (methods?.includes('S256') !== true) throw new CredentialProblem(`the issuer ${issuer} does not say that it takes PKCE with S256, without which a code could be used by others`);
  const asked = scopeUnion(before, wanted.scope ?? configured ?? scopes);
  const scope = asked !== undefined && offered.includes('offline_access') ? scopeUnion(asked, 'offline_access') : asked;
  const client = await clientAt(options, server, redirectUri, scope);
  const resource = namesResource ? named : undefined;
  const verifier = randomBytes(32).toString('base64url');
  const { state, answerKey } = newState();
  const address = new URL(endpoint);
  const query = { response_type: 'code', client_id: client.clientId, redirect_uri: redirectUri, state, scope, resource, code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' };
  for (const [name, value] of Object.entries(query)) if (value !== undefined) address.searchParams.set(name, value);
  const proofKey = (isProofWanted === true || wanted.isProofWanted === true) && canBind(server) ? newProofKey() : undefined;
  return { address: address.href, state, begun: { url, issuer, server, client, resource, proofKey, scope, verifier, redirectUri, answerKey } };
}

/**
 * @param query with which the issuer has sent the user back.
 * @throws {CredentialProblem} whose message repeats no text from the query, which anybody can have written (RFC 9207).
 */
export async function finishSignIn(fetch: Fetch, { verifier, redirectUri, ...begun }: Begun, query: URLSearchParams): Promise<Connection> {
  const { url, issuer, server, client, resource, proofKey, scope } = begun;
  const iss = query.get('iss');
  if (iss === null ? server.authorization_response_iss_parameter_supported === true : iss !== issuer) throw new CredentialProblem('the answer does not come from the issuer that was asked');
  const code = query.get('code');
  if (code === null || query.has('error')) throw new CredentialProblem('the sign-in did not go through at the issuer');
  const tokens = await requestTokens({ fetch, server, client, grant: 'authorization_code', parameters: { code, redirect_uri: redirectUri, code_verifier: verifier, resource }, prover: proofKey === undefined ? undefined : new Prover(proofKey) });
  return { url, issuer, server, client, resource, proofKey, scope, tokens, since: Date.now() };
}

/**
 * Asks the issuer to revoke a user's refresh token, with which new tokens could be got, or his access token if he has no other.
 * @returns whether it did; undefined when it has no revocation endpoint, or there is no token. Never rejects.
 */
export async function revokeAtIssuer(fetch: Fetch, { server, client, tokens }: Connection): Promise<boolean | undefined> {
  if (tokens === undefined) return undefined;
  return revokeToken({ fetch, server, client }, tokens.refreshToken ?? tokens.accessToken).catch(() => false);
}

/** @returns the connection; undefined if it is to a server at another address. */
export function connectionAt(kept: Kept<Connection> | undefined, url: string): Kept<Connection> | undefined {
  return kept?.value.url === url ? kept : undefined;
}

/** The union of scopes, each once. */
export function scopeUnion(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => (scope ?? '').split(' ')).filter((scope) => scope !== ''));
  return all.size === 0 ? undefined : [...all].join(' ');
}

/** The gateway's identity at an issuer: the configured client id, the address of its metadata document, or a registration (MCP authorization, in this order). */
async function clientAt({ fetch, vault, clientId, clientSecret, clientDocument, issuer: pinned }: SignInOptions, server: AuthorizationServer, redirectUri: string, scope: string | undefined): Promise<ClientIdentity> {
  const { issuer } = server;
  if (clientId !== undefined) {
    if (pinned !== undefined && pinned.replace(/\/$/, '') !== issuer.replace(/\/$/, '')) throw new CredentialProblem(`the gateway is registered at ${pinned}, and not at ${issuer}`);
    return { clientId, clientSecret };
  }
  if (server.client_id_metadata_document_supported === true && clientDocument !== undefined) return { clientId: clientDocument, method: 'none' };
  const place = placeOfSecret('client', issuer);
  const known = (await vault.get<Registered>(place))?.value;
  if (known?.redirectUri === redirectUri) return known.client;
  const client = await register(fetch, server, redirectUri, scope);
  await vault.put(place, issuer, { client, redirectUri } satisfies Registered);
  return client;
}

/** RFC 7591. @throws {CredentialProblem} */
async function register(fetch: Fetch, server: AuthorizationServer, redirectUri: string, scope: string | undefined): Promise<ClientIdentity> {
  const { issuer, registration_endpoint: endpoint, token_endpoint_auth_methods_supported: supported = [] } = server;
  if (endpoint === undefined) throw new CredentialProblem(`the issuer ${issuer} registers nobody: register the gateway there, and set \`clientId\``);
  const method = ['client_secret_basic', 'client_secret_post', 'none'].find((each) => supported.length === 0 || supported.includes(each));
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept': 'application/json' },
    body: JSON.stringify({
      client_name: 'Omnibus', redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
      token_endpoint_auth_method: method, application_type: isLoopback(new URL(redirectUri).hostname) ? 'native' : 'web', scope,
    }),
  });
  const said: unknown = answer.status < 300 ? await answer.json().catch(() => undefined) : undefined;
  const { client_id: clientId, client_secret: clientSecret, token_endpoint_auth_method: given } = isObject(said) ? said : {};
  if (typeof clientId !== 'string' || clientId === '') throw new CredentialProblem(`the issuer ${issuer} did not register the gateway (HTTP ${answer.status}): register it there, and set \`clientId\``, { isPassing: answer.status >= 500 });
  return { clientId, clientSecret: typeof clientSecret === 'string' && clientSecret !== '' ? clientSecret : undefined, method: typeof given === 'string' ? given : method };
}
