/** The part of the configuration that says how callers are known. */
import { z } from 'zod';
import { durationProblem, parseDurationMs } from './duration.ts';

/** Those that need a private key to sign: with a shared secret, whoever can check a token could make one. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const;

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], { error: 'expected an IP address or a network such as "10.0.0.0/8"' });
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: 'expected the name of a header' }).transform((name) => name.toLowerCase());
const claim = (fallback: string) => z.string().min(1).default(fallback);
const scope = z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, { error: 'expected a scope: letters, digits and signs, without spaces' });
const trusted = (text: string): boolean => URL.canParse(text) && (new URL(text).protocol === 'https:' || /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(new URL(text).hostname));
const trustedUrl = z.url({ protocol: /^https?$/ }).refine(trusted, { error: 'expected an https:// address, or one of this machine' });

const required = z.record(z.string().min(1), z.union([z.string(), z.array(z.string()).min(1)]).transform((said) => [said].flat())).default({})
  .describe('Claims that have to say one of these, or have one of these in their list: `{ hd: example.com }`. Whoever is let in by an issuer that serves others too is said here. A dot leads into a claim, as in `realm_access.roles`.');

const tenantName = z.string().min(1).max(255);

const issuer = z.strictObject({
  issuer: trustedUrl.max(512).describe('The issuer exactly as its tokens say it, such as "https://login.example.com". Its keys are found by its metadata.'),
  jwksUri: trustedUrl.optional().describe('Where its keys are, for an issuer without metadata.'),
  algorithms: z.array(z.enum(algorithms)).min(1).default(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA']).describe('Signatures that are taken. There is none that needs a shared secret.'),
  tokenType: z.enum(['auto', 'at+jwt']).default('auto').describe('at+jwt: only tokens whose header says that they are access tokens (RFC 9068). auto: also those that do not say what they are, unless they look like ID tokens.'),
  subject: claim('sub').describe('The claim that names the caller for ever. Entra ID: `oid`. Never an e-mail address, which changes hands.'),
  groups: claim('groups').describe('The claim that names its groups. A dot leads into a claim: Keycloak has `realm_access.roles`.'),
  require: required,
  tenant: z.string().min(1).optional().describe('The claim that names its tenant; a token without it is refused then.'),
  ofTenant: tenantName.optional().describe('The tenant of all its callers, instead of a claim.'),
  introspection: z.strictObject({
    url: trustedUrl.describe('Where opaque tokens are asked about.'),
    clientId: z.string().min(1).describe('Who asks.'),
    clientSecret: z.string().min(1).describe('Secret.'),
  }).optional().describe('For tokens that are no JWT (RFC 7662). Their answers are kept for a minute.'),
});

const proxy = z.strictObject({
  addresses: z.array(network).min(1).describe('Addresses and networks the proxy connects from. From anywhere else its headers mean nothing.'),
  userHeader: headerName.default('x-forwarded-user').describe('The header that names the user. The proxy has to take it away from what clients send.'),
  groupsHeader: headerName.optional().describe('The header that names groups, separated by commas.'),
  tenantHeader: headerName.optional().describe('The header that names the tenant; a request without it is refused then.'),
});

const lasting = (fallback: string) => z.union([z.string(), z.number()])
  .refine((value) => durationProblem(value) === undefined, { error: ({ input }) => durationProblem(input) })
  .transform((value) => parseDurationMs(value) as number)
  .prefault(fallback);
const atMost = (most: string, text: string) => lasting(text).refine((ms) => ms <= (parseDurationMs(most) as number), { error: `expected ${most} at most` });

const signIn = z.strictObject({
  issuer: trustedUrl.max(512).describe('An OpenID provider that users sign in at, such as "https://login.example.com".'),
  clientId: z.string().min(1).describe('What the gateway is registered as there, with the redirect address `publicUrl`/federation/callback.'),
  clientSecret: z.string().min(1).optional().describe('Secret.'),
  scopes: z.array(scope).max(50).default(['openid', 'profile']).describe('What is asked for there. With `offline_access`, where the provider has it, a sign-in lasts as long as the provider says, and is asked about with each refresh; without, as long as the token it gives.'),
  subject: claim('sub').describe('The claim that names a user for ever. Entra ID: `oid`.'),
  groups: claim('groups').describe('The claim that names groups; they stand in our tokens. A dot leads into a claim.'),
  require: required,
  parameters: z.record(z.string().regex(/^(?!(client_id|redirect_uri|response_type|scope|state|nonce|code_challenge|code_challenge_method|request|request_uri)$)[a-z_]+$/, { error: 'expected a parameter that the gateway does not set itself' }), z.string()).default({})
    .describe('More of what users are sent to the provider with: Google gives a refresh token only with `{ access_type: offline, prompt: consent }`.'),
  oauth: z.strictObject({
    authorizationUrl: trustedUrl.describe('Where users sign in.'),
    tokenUrl: trustedUrl.describe('Where codes are redeemed.'),
    userUrl: trustedUrl.describe('What says who a token is of, as a JSON object: its members are taken as claims. It is asked again with each of our refreshes.'),
    groupsUrl: trustedUrl.optional().describe('What lists the groups of the user, as a JSON array of objects.'),
    groupName: claim('login').describe('The member of those objects that is the name of the group.'),
  }).optional().describe('For a provider without OpenID Connect, such as GitHub: its addresses, and where it says who a user is. `issuer` is then only its name.'),
  tenant: z.string().min(1).optional().describe('The claim that names the tenant; who has none is not let in then.'),
});

const authorizationServer = z.strictObject({
  users: z.strictObject({
    file: z.string().min(1).describe('File of users that `omnibus users` writes; it holds digests of passwords and is followed.'),
  }).optional().describe('A few users of its own, for a start.'),
  signIn: signIn.optional().describe('Users come from an OpenID provider.'),
  registration: z.enum(['open', 'token', 'off']).default('open').describe('Who may register a client (RFC 7591). open: whoever asks, within rates, for what the consent page shows; token: who has `registrationToken`; off: nobody, and clients need a document of their own (client id metadata documents) or are listed in `clients`.'),
  registrationToken: z.string().min(16).regex(/^[A-Za-z0-9._~+/-]+=*$/, { error: 'expected letters, digits and "-._~+/", which can stand in a header' }).optional().describe('Secret. Sent as `Authorization: Bearer` to register a client.'),
  clientDocuments: z.boolean().default(true).describe('Whether a client may be named by the https:// address of a document that describes it.'),
  documentHosts: z.array(z.string().min(1)).default([]).describe('Hosts of such documents that may be fetched although they are, or resolve to, addresses that are not of the public Internet.'),
  clients: z.array(z.strictObject({
    id: z.string().min(1).max(200).describe('What the client names itself by.'),
    name: z.string().max(200).optional().describe('For people, on the consent page.'),
    secret: z.string().min(16).optional().describe('Secret. Without, the client is one that can keep none.'),
    redirectUris: z.array(z.string().min(1).max(2_000)).min(1).describe('Where it may have users sent back: https:// addresses, or those of programs: loopback addresses, with whatever port, or a scheme of its own.'),
  })).max(100).default([]).describe('Clients that need not register.'),
  accessTokenLife: atMost('1h', '10m').describe('Time after which an access token is none any more.'),
  signInLife: atMost('720h', '336h').describe('Time a client may refresh its tokens, and a browser stays signed in, since it did so last.'),
  refreshGrace: atMost('2m', '30s').describe('Time in which a refresh token that was used may be used again by the same client, which may not have read the answer. Later, all its tokens are revoked.'),
});

const clientCertificates = z.strictObject({
  caFile: z.string().min(1).describe('Authorities that sign certificates of clients, PEM. Followed.'),
  required: z.boolean().default(false).describe('Whether a client without one is refused before it can say anything; then other ways still say who asks. Else it is one of several ways.'),
  subject: z.enum(['uri', 'commonName']).default('uri').describe('What names the caller for ever. uri: the only URI among the other names of the certificate, such as a SPIFFE ID. commonName: that of its subject.'),
  uriPrefix: z.string().min(1).optional().describe('What the URI must begin with, such as "spiffe://example.org/" for one trust domain.'),
  groups: z.enum(['organization', 'organizationalUnit']).optional().describe('The parts of its subject that are the groups of the caller.'),
});

const account = '/var/run/secrets/kubernetes.io/serviceaccount';
const kubernetes = z.strictObject({
  issuer: z.string().min(1).optional().describe('The issuer of the tokens of the cluster, as they say it (`kubectl get --raw /.well-known/openid-configuration`). Default: that of the token in `tokenFile`. No other token is shown to the API server.'),
  apiServer: trustedUrl.default('https://kubernetes.default.svc').describe('Where the API server is.'),
  caFile: z.string().min(1).default(`${account}/ca.crt`).describe('The authority that signed its certificate, PEM.'),
  tokenFile: z.string().min(1).default(`${account}/token`).describe('A token of the service account that asks, which may create `tokenreviews` (the cluster role system:auth-delegator). Read for each question.'),
});

const persons = z.array(z.string().regex(/^(group:.+|key:.+|[^|]+\|.+)$/su, { error: 'expected "group:NAME", "key:SUBJECT" for an API key, or "ISSUER|SUBJECT"' })).max(1_000).default([]);
const adminAccess = z.strictObject({
  roles: z.strictObject({
    viewer: persons.describe('They see /status and /sessions, and /metrics where that is not open.'),
    operator: persons.describe('They may besides have the configuration read again, and a server connected to anew.'),
    auditor: persons.describe('They see, besides what a viewer does, whom API keys speak for and which users there are.'),
    admin: persons.describe('They may do everything: make and revoke API keys, add and remove users.'),
  }).prefault({}).describe('Who may do what: "group:NAME", "key:SUBJECT" for the API keys of a subject, or "ISSUER|SUBJECT". Followed without a restart. A group counts for callers without a tenant alone, and whoever acts for somebody else has none of these roles.'),
  tenants: z.record(tenantName, persons).default({}).describe('Who sees at /status what there is for callers of a tenant, and in `omnibus usage` what those have used, by tenant: callers of that tenant, whose groups count here. Nothing else may be done so. Followed without a restart.'),
  metrics: z.enum(['open', 'viewer']).default('open').describe('Whether /metrics is for everybody who reaches the port, or for those with a role.'),
  scope: z.union([scope, z.literal(false)]).default('mcp:admin').describe('The scope that a token must have besides, so that what a client was allowed to use is not what it may administer. false: none, for issuers that have no scopes of yours.'),
});

const ways = z.strictObject({
  keys: z.strictObject({
    file: z.string().min(1).describe('File of the API keys that `omnibus keys` makes, lists and revokes; it holds digests only and is followed.'),
  }).optional().describe('API keys: `Authorization: Bearer omk_…`.'),
  issuers: z.array(issuer).max(100).default([]).describe('Authorization servers whose tokens are taken. Needs `publicUrl`.'),
  audience: z.array(z.string().min(1)).default([]).describe('What tokens must be for, on any endpoint. Default: `publicUrl` followed by /mcp. A token for the address of one endpoint is always good there.'),
  scopes: z.array(scope).max(50).default([]).describe('Scopes that every token must have; clients are told of them.'),
  server: authorizationServer.optional().describe('An authorization server of the gateway\'s own, for teams without one. Needs `publicUrl`.'),
  proxy: proxy.optional().describe('A proxy in front that signs users in and says who they are.'),
  clientCertificates: clientCertificates.optional().describe('Certificates that clients show when they connect. Needs `tls`.'),
  kubernetes: kubernetes.optional().describe('Tokens of the service accounts of a cluster, about which its API server is asked (TokenReview); its answers are kept for a minute. Needs `publicUrl`, or `audience`.'),
  admin: adminAccess.optional().describe('Who may do what at the admin port, known by the same ways. Without, whoever is on this machine may look and have the configuration read again, and nobody else may do anything but read metrics.'),
}).refine(({ keys, issuers, proxy: front, clientCertificates: certificates, kubernetes: cluster, server }) => keys !== undefined || issuers.length > 0 || front !== undefined || certificates !== undefined || cluster !== undefined || server !== undefined, { error: 'expected a way to be known, such as `keys: { file: keys.yaml }`, or "none"' })
  .refine(({ issuers }) => issuers.every(({ tenant, ofTenant }) => tenant === undefined || ofTenant === undefined), { error: 'a tenant is named by a claim (`tenant`) or by `ofTenant`, not by both', path: ['issuers'] })
  .refine(({ issuers }) => new Set(issuers.map((each) => each.issuer)).size === issuers.length, { error: 'an issuer stands here twice', path: ['issuers'] })
  .refine(({ server }) => server === undefined || server.users !== undefined || server.signIn !== undefined, { error: 'expected users: `users: { file: users.yaml }`, or `signIn` with an OpenID provider', path: ['server'] })
  .refine(({ server }) => server?.registration !== 'token' || server.registrationToken !== undefined, { error: 'registration with a token needs `registrationToken`', path: ['server', 'registration'] })
  .refine(({ issuers }) => issuers.filter(({ introspection }) => introspection !== undefined).length <= 1, { error: 'an opaque token does not say whose it is, so only one issuer can have introspection', path: ['issuers'] });

export const authSchema = z.union([z.literal('none'), ways]);
