/** The settings of oidc-provider. Those that look unnecessary are needed by some client or by the specification. */
import type {
  Configuration,
  KoaContextWithOIDC,
  interactionPolicy as policies,
  errors as providerErrors,
} from 'oidc-provider';
import { recordClaim } from '@omnibus/identity';
import { printable, redirectKind, type JsonObject, basePathOf } from '@omnibus/protocol';
import { consentSlackMs } from './adapter.ts';
import type { ClientDocuments } from './client-documents.ts';
import { anotherDevice, deviceFeature, deviceGrant, devicePaths, deviceSeconds } from './device.ts';
import { proofAlgorithms } from '@omnibus/identity';
import type { AgentTokens } from './agents/agent-tokens.ts';
import type { Delegations } from './exchange/delegations.ts';
import { answerPlace, describeClient } from './registration.ts';
import type { People, Person } from './people.ts';
import { sendPage, wordsPage, type Page } from './pages.ts';
import type { FurtherScope } from './further-scope.ts';
import { Revocations } from './revocations.ts';
import type { Secrets } from './secrets.ts';
import type { SigningKey } from './signing-keys.ts';

/** The client id of the account page, which signs users in like any client. */
export const accountClient = 'omnibus-account';
/** The path to which users return after a sign-in to the gateway, for their sign-in at an upstream server. */
export const connectBack = '/connect/back';

export interface Rules {
  readonly publicUrl: string;
  /** Scopes that are announced to clients and that tokens get. */
  readonly scopes: readonly string[];
  readonly moreScopes: readonly FurtherScope[];
  readonly accessTokenMs: number;
  readonly signInMs: number;
  readonly registration: 'open' | 'token' | 'off';
  readonly registrationToken?: string | undefined;
  /** Whether proofs of keys (DPoP) need a nonce. */
  readonly needsNonce?: boolean;
  readonly clientDocuments: boolean;
  readonly documentHosts: readonly string[];
  readonly clients: readonly {
    readonly id: string;
    readonly name?: string | undefined;
    readonly secret?: string | undefined;
    readonly redirectUris: readonly string[];
  }[];
}

export interface Parts {
  readonly rules: Rules;
  readonly secrets: Secrets;
  readonly keys: readonly SigningKey[];
  readonly people: People;
  readonly adapter: NonNullable<Configuration['adapter']>;
  readonly policy: typeof policies;
  /** The library's error for an address that tokens cannot be issued for. */
  readonly errors: typeof providerErrors;
  readonly documents: ClientDocuments;
  readonly agents: AgentTokens;
  /** Undefined where no agent can act for a user. */
  readonly delegations: Delegations | undefined;
  /** The audience for a resource; undefined for an address that is not of this gateway. */
  readonly audienceOf: (resource: string) => string | undefined;
  /** The user of a token or session; undefined for a user that no longer exists. With `isAsked` the gateway asks the provider. */
  readonly personOf: (subject: string, isAsked: boolean, signedInAt?: number) => Promise<Person | undefined>;
}

const codeSeconds = 60;
const interactionSeconds = 10 * 60;

export function settingsOf(parts: Parts): Configuration {
  const { rules, keys, people, adapter, policy, documents, agents } = parts;
  const { publicUrl, scopes, moreScopes } = rules;
  return {
    adapter,
    jwks: { keys: keys.map(({ jwk }) => jwk) as NonNullable<Configuration['jwks']>['keys'][number][] },
    clients: [ownClient(publicUrl), ...rules.clients.map(listedClient)] as NonNullable<
      Configuration['clients']
    >[number][],
    // The library's default is RS256, and none of our keys is an RSA key.
    clientDefaults: {
      id_token_signed_response_alg: 'ES256',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
    },
    enabledJWA: {
      idTokenSigningAlgValues: ['ES256'],
      clientAuthSigningAlgValues: [...proofAlgorithms],
      dPoPSigningAlgValues: [...proofAlgorithms],
    },
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    assertJwtClientAuthClaimsAndHeader: (_ctx, claims) => agents.checkAssertion(claims),
    ...tokensOf(parts),
    responseTypes: ['code'],
    scopes: [
      'openid',
      'offline_access',
      ...new Set([...scopes, ...moreScopes.filter(({ isAnnounced }) => isAnnounced).map(({ name }) => name)]),
    ],
    claims: { openid: ['sub', 'name', 'groups'] },
    discovery: { service_documentation: `${publicUrl}/account` } as NonNullable<Configuration['discovery']>,
    pkce: { required: () => true },
    features: featuresOf(parts),
    routes: {
      authorization: '/authorize',
      token: '/token',
      registration: '/register',
      revocation: '/revoke',
      device_authorization: devicePaths.authorization,
      code_verification: devicePaths.page,
      jwks: '/.well-known/jwks.json',
    },
    rotateRefreshToken: true,
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token') && client.clientId !== accountClient,
    // Signing out of the account page does not end the access of programs; users withdraw that separately.
    expiresWithSession: () => false,
    cookies: cookiesOf(parts),
    interactions: {
      policy: consentPolicy(policy, people),
      url: (_ctx, { uid }) => `${basePathOf(publicUrl)}/interaction/${uid}`,
    },
    loadExistingGrant: (ctx) => existingGrant(ctx),
    ...accountsOf(parts),
    fetch: (url, options) => documents.fetch(typeof url === 'string' ? url : new Request(url).url, options),
    renderError: (ctx, out) => renderError(ctx, out, documents),
  };
}

/** How long tokens are valid, and the claims of agents. */
function tokensOf({ rules, agents, delegations }: Parts): Pick<Configuration, 'formats' | 'ttl'> {
  return {
    formats: {
      customizers: {
        jwt: (ctx, token, parts) => agents.customize(token, parts, delegations?.found(ctx)?.subject),
      },
    },
    ttl: {
      ...lifetimesOf(rules),
      ClientCredentials: (ctx, token) => agents.secondsOf(token.clientId, delegations?.found(ctx)?.token.expiresAt),
    },
  };
}

function featuresOf(parts: Parts): NonNullable<Configuration['features']> {
  const { rules, errors, documents, agents, delegations, audienceOf } = parts;
  const { publicUrl, scopes, moreScopes, accessTokenMs } = rules;
  return {
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    dPoP: {
      enabled: true,
      nonceSecret: parts.secrets.nonceSecret,
      requireNonce: () => parts.rules.needsNonce === true,
    },
    registration: {
      enabled: rules.registration !== 'off',
      issueRegistrationAccessToken: false,
      ...(rules.registration === 'token' ? { initialAccessToken: rules.registrationToken } : {}),
    },
    deviceFlow: deviceFeature(basePathOf(publicUrl)),
    revocation: { enabled: true },
    clientCredentials: { enabled: agents.isOn },
    // The draft is pinned: a newer one could come with a minor version of the library and break clients.
    clientIdMetadataDocument: {
      enabled: rules.clientDocuments,
      ack: 'draft-02',
      allowFetch: (ctx: KoaContextWithOIDC, id: string) => documents.mayFetch(id, ctx.req, ctx.ip),
      cacheDuration: { min: 60, max: 3_600 },
    },
    resourceIndicators: {
      enabled: true,
      // Clients of 2025-03-26 send no resource: they mean the address of all servers.
      async defaultResource(ctx, client, oneOf) {
        if (oneOf !== undefined) return [oneOf].flat()[0] as string;
        const delegation = await delegations?.verify(ctx);
        const ofUser = delegation === undefined ? undefined : delegations?.resourceOf(delegation);
        return agents.resourceOf(client?.clientId) ?? ofUser ?? `${publicUrl}/mcp`;
      },
      useGrantedResource: () => true,
      async getResourceServerInfo(ctx, resource, client) {
        const delegation = await delegations?.verify(ctx);
        const audience = audienceOf(resource);
        if (audience === undefined) throw new errors.InvalidTarget('there is no such resource at this gateway');
        agents.checkResource(client.clientId, audience);
        if (delegation !== undefined) delegations?.checkResource(delegation, audience);
        const ofClient = agents.scopesOf(client.clientId) ?? moreScopes.map(({ name }) => name);
        return {
          scope: (delegation?.scopes ?? [...scopes, ...ofClient]).join(' '),
          audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: seconds(accessTokenMs),
          jwt: { sign: { alg: 'ES256' } },
        };
      },
    },
  } as NonNullable<Configuration['features']>;
}

function seconds(ms: number): number {
  return Math.max(1, Math.round(ms / 1_000));
}

function lifetimesOf({ accessTokenMs, signInMs }: Rules): NonNullable<Configuration['ttl']> {
  return {
    AuthorizationCode: codeSeconds,
    DeviceCode: deviceSeconds,
    Interaction: interactionSeconds,
    IdToken: seconds(accessTokenMs),
    Session: seconds(signInMs),
    Grant: seconds(signInMs + consentSlackMs(signInMs)),
    RefreshToken: seconds(signInMs),
    AccessToken: (ctx, token) => {
      const endsAt = (ctx.oidc.account as unknown as AccountOf | undefined)?.person.upstream?.endsAt ?? Infinity;
      const lasts = token.resourceServer?.accessTokenTTL ?? seconds(accessTokenMs);
      return Math.max(1, Math.min(lasts, Math.floor((endsAt - Date.now()) / 1_000)));
    },
  };
}

function cookiesOf({ rules: { publicUrl }, secrets }: Parts): NonNullable<Configuration['cookies']> {
  const base = basePathOf(publicUrl);
  const secure = publicUrl.startsWith('https:');
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, overwrite: true, secure } as const;
  return {
    keys: [...secrets.cookieKeys],
    names: {
      session: `${cookiePrefixOf(publicUrl)}omnibus-session`,
      interaction: 'omnibus-interaction',
      resume: 'omnibus-resume',
    },
    long: { ...cookie, path: base === '' ? '/' : base },
    short: cookie,
  };
}

/** How users are found, and what tokens say about them. */
function accountsOf({ personOf, agents, delegations }: Parts): Pick<Configuration, 'findAccount' | 'extraTokenClaims'> {
  return {
    async findAccount(ctx, subject, token) {
      // Without a token this is the session of a browser, which lasts no longer than that at the provider.
      const person = await personOf(
        subject,
        token === undefined || token.kind === 'RefreshToken',
        token === undefined ? ctx.oidc.session?.loginTs : undefined,
      );
      return person === undefined ? undefined : accountOf(person);
    },
    async extraTokenClaims(ctx, token) {
      if (token.kind === 'ClientCredentials') return delegations?.found(ctx)?.claims ?? agents.claimsOf(token.clientId);
      const subject = 'accountId' in token ? token.accountId : undefined;
      const person =
        (ctx.oidc.account as unknown as AccountOf | undefined)?.person ??
        (subject === undefined ? undefined : await personOf(subject, false));
      const grantId = 'grantId' in token ? token.grantId : undefined;
      return {
        ...(person === undefined || person.groups.length === 0 ? {} : { groups: person.groups }),
        ...(person?.tenant === undefined ? {} : { tenant: person.tenant }),
        ...(person?.record === undefined ? {} : { [recordClaim]: person.record }),
        ...(grantId === undefined ? {} : { grant_id: Revocations.nameOf(grantId) }),
      };
    },
  };
}

/** Answers a browser with a page about an error that cannot be sent to the client. */
function renderError(ctx: KoaContextWithOIDC, out: unknown, documents: ClientDocuments): void {
  const { error, error_description: description = '' } = out as {
    readonly error: string;
    readonly error_description?: string;
  };
  const { client_id: client } = ctx.query;
  const problem = typeof client === 'string' ? documents.problemOf(client, ctx.req) : undefined;
  const id = printable(String(client)).slice(0, 200);
  ctx.respond = false;
  ctx.res.statusCode = ctx.status;
  sendPage(
    ctx.res,
    ctx.status,
    problem !== undefined
      ? wordsPage(
          'This did not work',
          `The document that describes the program, ${id}, cannot be used: ${problem}.`,
          beginAgain,
        )
      : error === 'invalid_client' && client !== undefined
        ? unknownClientPage(id)
        : wordsPage('This did not work', description === '' ? error : `${error}: ${description}`, beginAgain),
  );
}

/** A cookie for the whole host can be bound to it; one for a path below it only to https (RFC 6265bis, 4.1.3). */
function cookiePrefixOf(publicUrl: string): string {
  if (!publicUrl.startsWith('https:')) return '';
  return basePathOf(publicUrl) === '' ? '__Host-' : '__Secure-';
}

const beginAgain = 'Go back to the program that sent you here, and begin again.';

/** To begin again does not help: the program would send the same client id. */
function unknownClientPage(id: string): Page {
  const advice = /^https?:/i.test(id)
    ? 'The address of a document about a program begins with https://, has a path, and neither a user, a fragment nor dots for other folders.'
    : 'It may have been forgotten here since it registered. Let the program forget its sign-in here and register anew: sign out in the program, or remove this gateway there and add it again.';
  return wordsPage('This program is not known', `No program with the client id ${id} is known here.`, advice);
}

interface AccountOf {
  readonly person: Person;
}

function accountOf(person: Person): {
  readonly accountId: string;
  readonly person: Person;
  claims: () => Promise<{ sub: string }>;
} {
  return {
    accountId: person.subject,
    person,
    claims: () => Promise.resolve({ sub: person.subject, name: person.name, groups: person.groups }),
  };
}

function ownClient(publicUrl: string): JsonObject {
  return {
    client_id: accountClient,
    client_name: 'your account page',
    redirect_uris: [`${publicUrl}/account`, `${publicUrl}${connectBack}`],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code'],
    response_types: ['code'],
  };
}

function listedClient({ id, name, secret, redirectUris }: Rules['clients'][number]): JsonObject {
  // A program signs in without a browser where it has none; a page of the web never does, and an attacker could send a user a code in its name.
  const isProgram = redirectUris.map(redirectKind).some((each) => 'kind' in each && each.kind === 'native');
  const described = describeClient({
    redirect_uris: redirectUris,
    client_name: name,
    ...(isProgram ? { grant_types: [deviceGrant] } : {}),
    token_endpoint_auth_method: secret === undefined ? 'none' : 'client_secret_basic',
  });
  if ('problem' in described) throw new Error(`auth.server.clients: ${id}: ${described.problem}`);
  return { ...described.metadata, client_id: id, ...(secret === undefined ? {} : { client_secret: secret }) };
}

/** The consent for a client, if it is of the signed-in user. A sign-in to the account page needs no consent. */
async function existingGrant(
  ctx: KoaContextWithOIDC,
): Promise<InstanceType<KoaContextWithOIDC['oidc']['provider']['Grant']> | undefined> {
  const { client, session, provider, result, account } = ctx.oidc;
  if (client === undefined) return undefined;
  const grantId =
    (result?.['consent'] as { readonly grantId?: string } | undefined)?.grantId ?? session?.grantIdFor(client.clientId);
  const found = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  // Otherwise the consent is of another user of this browser.
  if (found !== undefined && found.accountId === account?.accountId) return found;
  if (client.clientId !== accountClient || account === undefined) return undefined;
  const grant = new provider.Grant({ clientId: accountClient, accountId: account.accountId });
  grant.addOIDCScope('openid');
  await grant.save();
  return grant;
}

/** Asks for consent again where a client wants the answer sent to another host than before, and demands a new sign-in of a user that no longer exists. */
function consentPolicy({ base, Check }: typeof policies, people: People): ReturnType<typeof policies.base> {
  const prompts = base();
  prompts
    .get('login')
    ?.checks.add(
      new Check(
        'account_gone',
        'the user is none any more',
        (ctx) => ctx.oidc.session?.accountId !== undefined && ctx.oidc.account === undefined,
      ),
    );
  prompts.get('consent')?.checks.add(
    new Check('redirect_new', 'the answer goes elsewhere than before', async (ctx) => {
      const { client, account, grant, params, result } = ctx.oidc as typeof ctx.oidc & {
        readonly grant?: { readonly jti: string };
      };
      if (client?.clientId === accountClient || result?.['consent'] !== undefined || account === undefined)
        return false;
      const known = (await people.allowed(account.accountId)).find(({ grantId }) => grantId === grant?.jti);
      const place = answerPlace(params ?? {});
      // A code may have come from an attacker, so its user must confirm each time.
      return place === anotherDevice || known?.redirectHosts.includes(place) !== true;
    }),
  );
  return prompts;
}
