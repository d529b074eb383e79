/**
 * A user's sign-in at the issuer of a server (MCP authorization; OAuth 2.1, 4.1): how the gateway identifies itself there, to which address the user is sent, and
 * how the issuer's answer is redeemed. The vault stores the state of a sign-in; the addresses that browsers see contain the minimum.
 */
import type { JsonWebKey } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type * as oauth from 'oauth4webapi';
import type { AuthorizationServer } from 'oauth4webapi';
import type { Challenge } from './challenge.ts';
import { discover } from './discovery.ts';
import type { Claim } from './lease.ts';
import { CredentialProblem, type Fetch } from './outbound.ts';
import { forgetRegistration, registeredAt, type WantedRegistration } from './registration.ts';
import { scopeUnion } from './scopes.ts';
import { newState } from './sealed-answer.ts';
import { canBind, newProofKey, Prover } from './proof-of-possession.ts';
import {
  asConfigured,
  isOfClient,
  notAccepted,
  requestTokens,
  revokeToken,
  TokenRefused,
  type ClientIdentity,
  type Tokens,
} from './token-request.ts';
import type { Kept, Vault } from './vault/vault.ts';

export interface SignInOptions {
  readonly fetch: Fetch;
  readonly vault: Vault;
  readonly url: string;
  readonly issuer: string | undefined;
  /** As which client the operator has registered the gateway at the issuer. */
  readonly client: ClientIdentity | undefined;
  /** Address of the gateway's client metadata document, for issuers that accept such an address as client id. */
  readonly clientDocument: string | undefined;
  readonly scope: string | undefined;
  /** Whether tokens are requested for this server only (RFC 8707). */
  readonly namesResource: boolean;
}

/** A user's connection to a server's account: tokens and their issuer, stored in the vault. */
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
  /** The user's name, as its own sign-in gives it, for showing to people. */
  readonly owner?: string | undefined;
  /** Of the user; left out by versions before this one. */
  readonly tenant?: string | undefined;
  /** The attempt that is refreshing the tokens. */
  readonly refreshing?: Claim | undefined;
}

/** A sign-in that was begun and not finished. */
export interface Begun extends Omit<Connection, 'tokens' | 'since' | 'owner' | 'tenant'> {
  readonly verifier: string;
  readonly redirectUri: string;
  /** Decrypts the issuer's answer (`sealed-answer.ts`). */
  readonly answerKey: JsonWebKey;
}

/**
 * @param wanted the server's demand when it refused a request.
 * @param before scopes that were requested before, which are requested again.
 * @param doubted client id of a sign-in from which the user has not come back: the issuer may not know it any more.
 * @throws {CredentialProblem}
 */
export async function beginSignIn(
  options: SignInOptions,
  redirectUri: string,
  wanted: Challenge,
  before: string | undefined,
  doubted?: string,
): Promise<{ readonly address: string; readonly state: string; readonly begun: Begun }> {
  const { fetch, url, issuer: pinned, scope: configured, namesResource } = options;
  const {
    server,
    resource: named,
    scopes,
    isProofWanted,
  } = await discover({ fetch, url, issuer: pinned, resourceMetadata: wanted.resourceMetadata });
  const {
    issuer,
    authorization_endpoint: endpoint,
    code_challenge_methods_supported: methods,
    scopes_supported: offered = [],
  } = server;
  if (endpoint === undefined) throw new CredentialProblem(`the issuer ${issuer} names no address to sign in at`);
  if (methods?.includes('S256') !== true)
    throw new CredentialProblem(
      `the issuer ${issuer} does not say that it takes PKCE with S256, without which a code could be used by others`,
    );
  const asked = scopeUnion(before, wanted.scope ?? configured ?? scopes);
  const scope = asked !== undefined && offered.includes('offline_access') ? scopeUnion(asked, 'offline_access') : asked;
  const client = await clientAt(options, server, { redirectUri, scope, doubted });
  const resource = namesResource ? named : undefined;
  const library = await import('oauth4webapi');
  const verifier = library.generateRandomCodeVerifier();
  const { state, answerKey } = newState();
  const address = new URL(endpoint);
  // OpenID providers give no refresh token otherwise (OpenID Connect Core, 11).
  const prompt = scope?.split(' ').includes('offline_access') === true ? 'consent' : undefined;
  const query = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    state,
    scope,
    resource,
    code_challenge: await library.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    prompt,
  };
  for (const [name, value] of Object.entries(query)) if (value !== undefined) address.searchParams.set(name, value);
  const proofKey =
    (isProofWanted === true || wanted.isProofWanted === true) && canBind(server) ? newProofKey() : undefined;
  return {
    address: address.href,
    state,
    begun: { url, issuer, server, client, resource, proofKey, scope, verifier, redirectUri, answerKey },
  };
}

/** Milliseconds that a page waits for the name of the issuer's host. */
const hostMs = 5_000;

/**
 * The host of a user's sign-in, for the page that leads there.
 * @param wanted as for `beginSignIn`.
 * @returns undefined where it cannot be found out now. Never rejects.
 */
export async function issuerHost(
  { fetch, url, issuer }: SignInOptions,
  wanted: Challenge,
): Promise<string | undefined> {
  const found = discover({ fetch, url, issuer, resourceMetadata: wanted.resourceMetadata })
    .then(({ server: { authorization_endpoint: endpoint } }) =>
      endpoint === undefined ? undefined : new URL(endpoint).host,
    )
    .catch(() => undefined);
  return Promise.race([found, delay(hostMs, undefined, { ref: false })]);
}

/** Errors in an issuer's answer that may be repeated, since they are words of the specifications (RFC 6749, 4.1.2.1; OpenID Connect Core, 3.1.2.6; RFC 8707, 2). */
const refusals: ReadonlySet<string> = new Set([
  'access_denied',
  'invalid_request',
  'invalid_scope',
  'invalid_target',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_response_type',
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
  'invalid_client',
]);
const refusalsOfClient: ReadonlySet<string> = new Set(['unauthorized_client', 'invalid_client']);

/**
 * @param query with which the issuer has sent the user back.
 * @throws {CredentialProblem} with a message without text of the query, which an attacker may have written (RFC 9207).
 */
export async function finishSignIn(
  { fetch, vault, client: configured }: Pick<SignInOptions, 'fetch' | 'vault' | 'client'>,
  { verifier, redirectUri, ...begun }: Begun,
  query: URLSearchParams,
): Promise<Connection> {
  const { url, issuer, server, client, resource, proofKey, scope } = begun;
  /** A registration unknown to the issuer is useless. */
  const inWords = async (problem: CredentialProblem, isClientRefused: boolean): Promise<CredentialProblem> =>
    isClientRefused && (await forgetRegistration(vault, issuer, client))
      ? new CredentialProblem(
          `${problem.message}. The gateway registers itself anew with the next sign-in: begin again`,
          { cause: problem },
        )
      : problem;
  const library = await import('oauth4webapi');
  const answer = answerOf(library, { ...server, issuer }, client, query);
  const code = answer?.get('code') ?? undefined;
  if (code === undefined) {
    const error = query.get('error') ?? '';
    const known = refusals.has(error) ? ` (${error})` : '';
    const problem =
      error === 'access_denied' ? 'it was declined at the issuer' : 'the sign-in did not go through at the issuer';
    throw await inWords(new CredentialProblem(`${problem}${known}`), refusalsOfClient.has(error));
  }
  const tokens = await requestTokens({
    fetch,
    server,
    client: asConfigured(configured, client),
    grant: 'authorization_code',
    parameters: { code, redirect_uri: redirectUri, code_verifier: verifier, resource },
    prover: proofKey === undefined ? undefined : new Prover(proofKey),
  }).catch(async (error: unknown) => {
    throw !(error instanceof TokenRefused)
      ? error
      : isOfClient(error) && configured !== undefined
        ? notAccepted(error, client)
        : await inWords(error, isOfClient(error));
  });
  return { url, issuer, server, client, resource, proofKey, scope, tokens, since: Date.now() };
}

/**
 * Checks the issuer's answer (RFC 9207). Its state has found the sign-in already.
 * @returns undefined for an error of the issuer.
 * @throws {CredentialProblem}
 */
function answerOf(
  library: typeof oauth,
  server: AuthorizationServer,
  { clientId }: ClientIdentity,
  query: URLSearchParams,
): URLSearchParams | undefined {
  try {
    return library.validateAuthResponse(server, { client_id: clientId }, query, library.skipStateCheck);
  } catch (error) {
    if (error instanceof library.AuthorizationResponseError) return undefined;
    throw new CredentialProblem('the answer does not come from the issuer that was asked', { cause: error });
  }
}

/**
 * Asks the issuer to revoke a user's refresh token, which could get new tokens, or the access token if there is no other.
 * @returns whether it did; undefined when it has no revocation endpoint, or there is no token. Never rejects.
 */
export async function revokeAtIssuer(
  { fetch, client: configured }: Pick<SignInOptions, 'fetch' | 'client'>,
  { server, client, tokens }: Connection,
): Promise<boolean | undefined> {
  if (tokens === undefined) return undefined;
  return revokeToken(
    { fetch, server, client: asConfigured(configured, client) },
    tokens.refreshToken ?? tokens.accessToken,
  ).catch(() => false);
}

/** @returns the connection; undefined if it is to a server at another address. */
export function connectionAt(kept: Kept<Connection> | undefined, url: string): Kept<Connection> | undefined {
  return kept?.value.url === url ? kept : undefined;
}

/** The gateway's identity at an issuer: the configured client id, the address of its metadata document, or a registration (MCP authorization, in this order). */
async function clientAt(
  { fetch, vault, client, clientDocument, issuer: pinned }: SignInOptions,
  server: AuthorizationServer,
  wanted: WantedRegistration,
): Promise<ClientIdentity> {
  const { issuer } = server;
  if (client !== undefined) {
    if (pinned !== undefined && pinned.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
      throw new CredentialProblem(`the gateway is registered at ${pinned}, and not at ${issuer}`);
    // A private key stays where the configuration has it.
    const { privateKey: _key, ...kept } = client;
    return kept;
  }
  if (server.client_id_metadata_document_supported === true && clientDocument !== undefined)
    return { clientId: clientDocument, method: 'none' };
  return registeredAt({ fetch, vault }, server, wanted);
}
