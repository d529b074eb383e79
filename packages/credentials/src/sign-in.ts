/**
 * A user's sign-in at the issuer of a server (MCP authorization; OAuth 2.1, 4.1): how the gateway is known there, where the user is sent, and
 * what he brings back. What has begun is kept in the vault; nothing of it is in the addresses that browsers see but what has to be.
 */
import { createHash, randomBytes } from 'node:crypto';
import { isObject } from '@omnibus/protocol';
import type { AuthorizationServer } from 'oauth4webapi';
import type { Challenge } from './challenge.ts';
import { discover } from './discovery.ts';
import { CredentialProblem, isLoopback, type Fetch } from './outbound.ts';
import { requestTokens, revokeToken, type ClientIdentity, type Tokens } from './token-request.ts';
import { placeOfSecret, type Kept, type Vault } from './vault/vault.ts';

export interface SignInOptions {
  readonly fetch: Fetch;
  readonly vault: Vault;
  /** Of the MCP server. */
  readonly url: string;
  readonly issuer: string | undefined;
  /** As the operator has registered the gateway there. */
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  /** Where a document describes the gateway, for issuers that take such an address as a name. */
  readonly clientDocument: string | undefined;
  readonly scope: string | undefined;
}

/** What a user has connected: kept in the vault, for him and the server. */
export interface Connection {
  /** Of the MCP server that it is for: another may have its name by now. */
  readonly url: string;
  readonly issuer: string;
  readonly server: AuthorizationServer;
  readonly client: ClientIdentity;
  readonly resource: string | undefined;
  /** All that was ever asked for. */
  readonly scope: string | undefined;
  /** Undefined once they are refused. */
  readonly tokens: Tokens | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Whose it is, for people: how his own sign-in names him. */
  readonly owner?: string | undefined;
  /** Which attempt asks for others just now, and until when nobody else does. */
  readonly refreshing?: { readonly by: string; readonly until: number } | undefined;
}

/** A sign-in on its way. */
export interface Begun extends Omit<Connection, 'tokens' | 'since' | 'owner'> {
  readonly verifier: string;
  readonly redirectUri: string;
}

interface Registered {
  readonly client: ClientIdentity;
  readonly redirectUri: string;
}

const random = (): string => randomBytes(32).toString('base64url');

/**
 * @param wanted what the server said when it refused.
 * @param before what was asked for before, which is asked for again.
 * @throws {CredentialProblem}
 */
export async function beginSignIn(options: SignInOptions, redirectUri: string, wanted: Challenge, before: string | undefined): Promise<{ readonly address: string; readonly state: string; readonly begun: Begun }> {
  const { fetch, url, issuer: pinned, scope: configured } = options;
  const { server, resource, scopes } = await discover({ fetch, url, issuer: pinned, resourceMetadata: wanted.resourceMetadata });
  const { issuer, authorization_endpoint: endpoint, code_challenge_methods_supported: methods, scopes_supported: offered = [] } = server;
  if (endpoint === undefined) throw new CredentialProblem(`the issuer ${issuer} names no address to sign in at`);
  if (methods?.includes('S256') !== true) throw new CredentialProblem(`the issuer ${issuer} does not say that it takes PKCE with S256, without which a code could be used by others`);
  const asked = scopeUnion(before, wanted.scope ?? configured ?? scopes);
  const scope = asked !== undefined && offered.includes('offline_access') ? scopeUnion(asked, 'offline_access') : asked;
  const client = await clientAt(options, server, redirectUri, scope);
  const [verifier, state] = [random(), random()];
  const address = new URL(endpoint);
  const query = { response_type: 'code', client_id: client.clientId, redirect_uri: redirectUri, state, scope, resource, code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' };
  for (const [name, value] of Object.entries(query)) if (value !== undefined) address.searchParams.set(name, value);
  return { address: address.href, state, begun: { url, issuer, server, client, resource, scope, verifier, redirectUri } };
}

/**
 * @param query with which the issuer has sent the user back.
 * @throws {CredentialProblem} without a word of the issuer's: whoever sent the user may have written it (RFC 9207).
 */
export async function finishSignIn(fetch: Fetch, { verifier, redirectUri, ...begun }: Begun, query: URLSearchParams): Promise<Connection> {
  const { url, issuer, server, client, resource, scope } = begun;
  const iss = query.get('iss');
  if (iss === null ? server.authorization_response_iss_parameter_supported === true : iss !== issuer) throw new CredentialProblem('the answer does not come from the issuer that was asked');
  const code = query.get('code');
  if (code === null || query.has('error')) throw new CredentialProblem('the sign-in did not go through at the issuer');
  const tokens = await requestTokens({ fetch, server, client, grant: 'authorization_code', parameters: { code, redirect_uri: redirectUri, code_verifier: verifier, resource } });
  return { url, issuer, server, client, resource, scope, tokens, since: Date.now() };
}

/**
 * Has the issuer take back what a user was given: the refresh token, by which others would come, and else the access token.
 * @returns whether it did; undefined where it has no address for that, or nothing was left. Never rejects.
 */
export async function revokeAtIssuer(fetch: Fetch, { server, client, tokens }: Connection): Promise<boolean | undefined> {
  if (tokens === undefined) return undefined;
  return revokeToken({ fetch, server, client }, tokens.refreshToken ?? tokens.accessToken).catch(() => false);
}

/** @returns undefined for what was connected to a server at another address, which is as good as nothing. */
export function connectionAt(kept: Kept<Connection> | undefined, url: string): Kept<Connection> | undefined {
  return kept?.value.url === url ? kept : undefined;
}

/** Scopes of both, each once. */
export function scopeUnion(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => (scope ?? '').split(' ')).filter((scope) => scope !== ''));
  return all.size === 0 ? undefined : [...all].join(' ');
}

/** How the gateway is known at an issuer: as its operator says, by the address of a document, or as it registers itself (MCP authorization, in this order). */
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
