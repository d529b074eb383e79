/**
 * Registrations of the gateway at issuers (RFC 7591), one for each issuer, stored in the vault. One is replaced when its secret has expired, when it lacks a
 * scope, since issuers may give a client no other scopes than those it was registered with, and when the issuer does not know it any more.
 */
import { isObject } from '@omnibus/protocol';
import type { AuthorizationServer } from 'oauth4webapi';
import { CredentialProblem, isLoopback, type Fetch } from './outbound.ts';
import { scopeUnion } from './scopes.ts';
import { sentBy, type ClientIdentity } from './token-request.ts';
import { placeOfSecret, type Vault } from './vault/vault.ts';

interface Registered {
  readonly client: ClientIdentity;
  readonly redirectUri: string;
  /** The scopes that it was registered with. */
  readonly scope: string | undefined;
  /** When its secret expires, in milliseconds since 1970; left out if never. */
  readonly expiresAt?: number | undefined;
  /** Time of registration, in milliseconds since 1970. */
  readonly at: number;
}

export interface WantedRegistration {
  readonly redirectUri: string;
  readonly scope: string | undefined;
  /** A client id that the issuer may not know any more. */
  readonly doubted: string | undefined;
}

/** The life of a sign-in. An issuer that does not send users back gets a further registration no sooner than this after the one before. */
const doubtfulAfterMs = 10 * 60_000;

/** The gateway's registration at an issuer, made if there is none that can be used. @throws {CredentialProblem} */
export async function registeredAt(
  { fetch, vault }: { readonly fetch: Fetch; readonly vault: Vault },
  server: AuthorizationServer,
  { redirectUri, scope, doubted }: WantedRegistration,
): Promise<ClientIdentity> {
  const { issuer } = server;
  const place = placeOfSecret('client', issuer);
  const known = (await vault.get<Registered>(place))?.value;
  const all = scopeUnion(known?.scope, scope);
  if (
    known !== undefined &&
    known.redirectUri === redirectUri &&
    all === scopeUnion(known.scope) &&
    Date.now() < (known.expiresAt ?? Infinity) &&
    !isDoubtful(known, doubted)
  )
    return known.client;
  const made = await register(fetch, server, redirectUri, all);
  await vault.put(place, issuer, { ...made, redirectUri, scope: all, at: Date.now() } satisfies Registered);
  return made.client;
}

/** Removes a registration that its issuer has refused. @returns whether it was the one in use. */
export async function forgetRegistration(vault: Vault, issuer: string, { clientId }: ClientIdentity): Promise<boolean> {
  const place = placeOfSecret('client', issuer);
  const known = await vault.get<Registered>(place);
  if (known?.value.client.clientId !== clientId) return false;
  return (await vault.take<Registered>(place, known.revision)) !== undefined;
}

function isDoubtful({ client, at }: Registered, doubted: string | undefined): boolean {
  return client.clientId === doubted && Date.now() - at >= doubtfulAfterMs;
}

/** @throws {CredentialProblem} */
async function register(
  fetch: Fetch,
  server: AuthorizationServer,
  redirectUri: string,
  scope: string | undefined,
): Promise<Pick<Registered, 'client' | 'expiresAt'>> {
  const { issuer, registration_endpoint: endpoint, token_endpoint_auth_methods_supported: supported = [] } = server;
  if (endpoint === undefined)
    throw new CredentialProblem(
      `the issuer ${issuer} registers nobody: register the gateway there, and set \`clientId\``,
    );
  const method = ['client_secret_basic', 'client_secret_post', 'none'].find(
    (each) => supported.length === 0 || supported.includes(each),
  );
  const library = await import('oauth4webapi');
  // The answer is read here: issuers answer 200, too, and leave out members that the library demands.
  const answer = await library.dynamicClientRegistrationRequest(
    server,
    {
      client_name: 'Omnibus',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: method,
      application_type: isLoopback(new URL(redirectUri).hostname) ? 'native' : 'web',
      scope,
    },
    sentBy(library, fetch),
  );
  const said: unknown = answer.status < 300 ? await answer.json().catch(() => undefined) : undefined;
  const {
    client_id: clientId,
    client_secret: clientSecret,
    client_secret_expires_at: expires,
    token_endpoint_auth_method: given,
  } = isObject(said) ? said : {};
  if (typeof clientId !== 'string' || clientId === '')
    throw new CredentialProblem(
      `the issuer ${issuer} did not register the gateway (HTTP ${answer.status}): register it there, and set \`clientId\``,
      { isPassing: answer.status >= 500 },
    );
  return {
    client: {
      clientId,
      clientSecret: typeof clientSecret === 'string' && clientSecret !== '' ? clientSecret : undefined,
      method: typeof given === 'string' ? given : method,
    },
    expiresAt: typeof expires === 'number' && expires > 0 ? expires * 1_000 : undefined,
  };
}
