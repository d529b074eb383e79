/** The part of the configuration about the authentication of callers. */
import { redirectKind } from '@omnibus/protocol';
import { z } from 'zod';
import { parseDurationMs } from './duration.ts';
import { whoText } from './limit-rules.ts';
import { isTrusted } from './loopback.ts';
import { duration, nonEmpty, offByDefault, onByDefault, optionalText, scope } from './plain-options.ts';

/** Only algorithms with a private key: with a shared secret, every verifier of a token could also make one. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'expected an IP address or a network such as "10.0.0.0/8"',
});
const headerName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: 'expected the name of a header' })
  .transform((name) => name.toLowerCase());
/** The widest networks with one owner have 8 bits of IPv4 (10.0.0.0/8) and 7 of IPv6 (fc00::/7). IPv4 within IPv6 has 96 bits more. */
function isEverywhere(text: string): boolean {
  const [address = '', bits] = text.split('/', 2);
  return bits !== undefined && Number(bits) < (address.includes(':') ? (/^(0*:)*:?ffff:/i.test(address) ? 104 : 7) : 8);
}
/** An open range would trust strangers, so it must not be all addresses, or half of them. */
const proxyNetwork = network.refine((text) => !isEverywhere(text), {
  error:
    'expected addresses that only the proxy has, and not every address: whoever connects from one of these can be anybody',
});
/** Headers with credentials would end up in logs as the name of a user; the others are of the protocol, or name machines and programs. */
const otherHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'host',
  'mcp-session-id',
  'x-forwarded-for',
  'x-real-ip',
  'forwarded',
  'user-agent',
]);
const proxyHeader = headerName.refine((name) => !otherHeaders.has(name), {
  error: ({ input }) => `expected a header that the proxy sets, and not ${JSON.stringify(input)}`,
});
const claim = (fallback: string) => nonEmpty.default(fallback);
const trustedUrl = z
  .url({ protocol: /^https?$/ })
  .refine(isTrusted, { error: 'expected an https:// address, or one of this machine' });

const required = z
  .record(
    nonEmpty,
    z.union([z.string(), z.array(z.string()).min(1)]).transform((said) => [said].flat()),
  )
  .default({})
  .describe(
    'Claims that a token must have, with the accepted values; a claim that is a list must contain one of them: `{ hd: example.com }`. Needed where the issuer serves other organizations too. A dot leads into a claim, as in `realm_access.roles`.',
  );

/** The name of a tenant, exactly as issuers, API keys and proxies give it. */
export const tenantName = nonEmpty
  .max(255)
  .refine((text) => text === text.trim(), { error: 'expected the name of a tenant without blanks around it' })
  .refine((text) => text !== '*', {
    error: 'expected the name of a tenant, and "*" stands for no other: leave `tenants` out for what is for everybody',
  });

/** An issuer is a name, and its metadata are found below it (RFC 8414, 2 and 3; OpenID Connect Discovery, 4). */
const issuerUrl = trustedUrl
  .max(512)
  .refine((text) => !text.includes('/.well-known/'), {
    error:
      'expected the issuer, and not the address of its metadata: what stands before /.well-known/, or the member `issuer` of the document there',
  })
  .refine((text) => !/[?#]/.test(text), { error: 'expected an issuer, which has no "?" and no "#"' });

const acceptedAlgorithms = z
  .array(z.enum(algorithms))
  .min(1)
  .default(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'])
  .describe('Signature algorithms that are accepted. None of them uses a shared secret.');

const issuer = z.strictObject({
  issuer: issuerUrl.describe(
    'The issuer exactly as its tokens name it, such as "https://login.example.com". Its keys are found through its metadata.',
  ),
  jwksUri: trustedUrl.optional().describe("Address of the issuer's keys, for an issuer without metadata."),
  algorithms: acceptedAlgorithms,
  tokenType: z
    .enum(['auto', 'at+jwt'])
    .default('auto')
    .describe(
      'at+jwt: only tokens with the type of access tokens in their header (RFC 9068). auto: also tokens without a type, unless they look like ID tokens.',
    ),
  subject: claim('sub').describe(
    'The claim that identifies the caller for good. Entra ID: `oid`. Do not use an e-mail address, which may pass to another user.',
  ),
  groups: claim('groups').describe(
    "The claim with the caller's groups. A dot leads into a claim: Keycloak has `realm_access.roles`.",
  ),
  claims: z
    .array(nonEmpty.max(200))
    .max(20)
    .default([])
    .describe(
      'Claims whose values may be used in `headers` of servers, as `{principal.claims.NAME}` (docs/how-to/credentials.md). Each is a text, a number or a truth value; a dot leads into a claim.',
    ),
  require: required,
  tenant: optionalText.describe("The claim that names the caller's tenant. A token without it is refused."),
  ofTenant: tenantName.optional().describe('The tenant of all callers of this issuer, instead of a claim.'),
  introspection: z
    .strictObject({
      url: trustedUrl.describe('Address of the introspection endpoint.'),
      clientId: nonEmpty.describe('Client id by which the gateway authenticates there.'),
      clientSecret: nonEmpty.describe('The secret of that client. Secret.'),
    })
    .optional()
    .describe('How opaque tokens are checked, which are no JWT (RFC 7662). The gateway caches answers for a minute.'),
});

const proxy = z
  .strictObject({
    addresses: z
      .array(proxyNetwork)
      .min(1)
      .describe('Addresses and networks that the proxy connects from. From anywhere else its headers are ignored.'),
    userHeader: proxyHeader
      .default('x-forwarded-user')
      .describe('The header in which the proxy names the user. The proxy must remove it from requests of clients.'),
    groupsHeader: proxyHeader
      .optional()
      .describe("The header in which the proxy names the user's groups, separated by commas."),
    tenantHeader: proxyHeader
      .optional()
      .describe('The header in which the proxy names the tenant. A request without it is refused.'),
  })
  .refine(
    ({ userHeader, groupsHeader, tenantHeader }) =>
      new Set([userHeader, groupsHeader ?? 0, tenantHeader ?? 1]).size === 3,
    { error: 'the proxy names users, groups and tenants in headers of their own, and one of them is named twice' },
  );

const atMost = (most: string, text: string) =>
  duration(text).refine((ms) => ms <= (parseDurationMs(most) as number), { error: `expected ${most} at most` });

const isGitHub = (issuer: string): boolean => /^https:\/\/github\.com(?:\/|$)/.test(issuer);

const signIn = z
  .strictObject({
    issuer: issuerUrl.describe('The OpenID provider at which users sign in, such as "https://login.example.com".'),
    clientId: nonEmpty.describe(
      'Client id under which the gateway is registered at the provider, with the redirect address `publicUrl`/federation/callback.',
    ),
    clientSecret: optionalText.describe('The secret of that client. Secret.'),
    scopes: z
      .array(scope)
      .max(50)
      .default(['openid', 'profile'])
      .describe(
        'Scopes that the gateway requests from the provider. With `offline_access`, if the provider supports it, each refresh checks that the sign-in is still valid; without, a sign-in lasts as long as the token of the provider.',
      ),
    subject: claim('sub').describe('The claim that identifies a user for good. Entra ID: `oid`.'),
    groups: claim('groups').describe(
      "The claim with the user's groups, which the gateway's own tokens then contain. A dot leads into a claim.",
    ),
    require: required,
    parameters: z
      .record(
        z
          .string()
          .regex(
            /^(?!(client_id|redirect_uri|response_type|scope|state|nonce|code_challenge|code_challenge_method|request|request_uri)$)[a-z_]+$/,
            { error: 'expected a parameter that the gateway does not set itself' },
          ),
        z.string(),
      )
      .default({})
      .describe(
        'Further query parameters of the address at which users sign in: Google gives a refresh token only with `{ access_type: offline, prompt: consent }`.',
      ),
    oauth: z
      .strictObject({
        authorizationUrl: trustedUrl.describe('Address of the authorization endpoint, where users sign in.'),
        tokenUrl: trustedUrl.describe('Address of the token endpoint, where codes are redeemed.'),
        userUrl: trustedUrl.describe(
          'Address that returns the user of a token, as a JSON object; the gateway uses its members as claims. The gateway asks again at each refresh of its tokens.',
        ),
        groupsUrl: trustedUrl
          .optional()
          .describe('Address that lists the groups of the user, as a JSON array of objects.'),
        groupName: claim('login').describe('The member of those objects that is the name of the group.'),
      })
      .optional()
      .describe('Addresses of a provider without OpenID Connect, such as GitHub. `issuer` is then only its name.'),
    tenant: optionalText.describe("The claim that names the user's tenant. A user without it is not let in."),
  })
  .refine(({ issuer: name, oauth }) => oauth !== undefined || !isGitHub(name), {
    error: 'github.com has no OpenID Connect: write `oauth` with its addresses, as in docs/how-to/sign-in.md',
    path: ['issuer'],
  })
  .refine(({ scopes, oauth, issuer: name }) => oauth !== undefined || scopes.includes('openid') || isGitHub(name), {
    error: 'expected `openid` among the scopes: without it, a provider does not say who its user is',
    path: ['scopes'],
  });

const problemOf = (uri: string): string | undefined => {
  const kind = redirectKind(uri);
  return 'problem' in kind ? kind.problem : undefined;
};
const redirectUri = nonEmpty
  .max(2_000)
  .refine((uri) => problemOf(uri) === undefined, { error: ({ input }) => problemOf(String(input)) });

const workload = z.strictObject({
  agent: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, { error: 'expected the name of an agent' })
    .describe('The agent whose tokens the workload gets, added with `omnibus agents add NAME --workload`.'),
  issuer: issuerUrl.describe('The issuer of the assertions, exactly as they name it.'),
  jwksUri: trustedUrl.optional().describe("Address of the issuer's keys, for an issuer without metadata."),
  subject: z
    .union([z.string(), z.array(z.string()).min(1).max(100)])
    .transform((said) => [said].flat())
    .refine((patterns) => patterns.every((pattern) => /^[^*]{3}/.test(pattern)), {
      error:
        'expected subjects such as "repo:acme/app:*"; "*" stands for any text, and not at the beginning: an issuer in the cloud serves others too',
    })
    .describe('The subject (`sub`) of the assertions, or several; "*" stands for any text.'),
  audience: z
    .array(nonEmpty)
    .max(20)
    .default([])
    .describe('Audiences that an assertion may have. Default: `publicUrl` and the address of its /token.'),
  algorithms: acceptedAlgorithms,
  require: required,
  reuse: offByDefault.describe(
    'Whether an assertion works until it expires, as the mounted token of a pod must. Otherwise each works once, within ten minutes of its `iat`.',
  ),
});

const actor = z.strictObject({
  agent: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, { error: 'expected the name of an agent' })
    .describe('The agent that may act for these users, added with `omnibus agents add NAME`.'),
  for: z
    .union([whoText, z.array(whoText).min(1).max(100)])
    .transform((said) => [said].flat())
    .describe(
      'The users, as in rules: "known" for all, "group:NAME", "user:ISSUER|SUBJECT", "tenant:NAME", "claim:NAME=VALUE", or several of which one must match.',
    ),
  chained: offByDefault.describe(
    'Whether the agent may also use the token of an agent that acts for the user. At most four agents act one for the other.',
  ),
});

const authorizationServer = z.strictObject({
  users: z
    .strictObject({
      file: nonEmpty.describe(
        'File of users that `omnibus users` writes. It contains digests of passwords, and a running gateway follows its changes.',
      ),
    })
    .optional()
    .describe('Users with passwords that the gateway keeps itself; meant for a few.'),
  signIn: signIn.optional().describe('Users sign in at an OpenID provider.'),
  agents: z
    .strictObject({
      file: nonEmpty.describe(
        'File of agents that `omnibus agents` writes. It contains digests of secrets and public keys, and a running gateway follows its changes.',
      ),
    })
    .optional()
    .describe('Programs that get tokens for themselves (docs/how-to/agents.md).'),
  workloads: z
    .array(workload)
    .max(100)
    .default([])
    .describe(
      'Workloads of other systems that get tokens of agents for assertions of their issuers (RFC 7523): service accounts of Kubernetes, SPIFFE, jobs of GitHub and GitLab, clouds. The first entry whose issuer and subject fit decides; if the request has a `client_id`, the first of this agent.',
    ),
  actors: z
    .array(actor)
    .max(1_000)
    .default([])
    .describe(
      'Agents that may act for users: they exchange the token of a user for one that names both (RFC 8693). A token with `may_act` permits the agent that it names, and no other.',
    ),
  registration: z
    .enum(['open', 'token', 'off'])
    .default('open')
    .describe(
      'Which clients may register (RFC 7591). open: all, at a limited rate; the consent page shows users what they allow. token: clients that send `registrationToken`. off: none; clients have their own document (`clientDocuments`) or an entry in `clients`.',
    ),
  registrationToken: z
    .string()
    .min(16)
    .regex(/^[A-Za-z0-9._~+/-]+=*$/, { error: 'expected letters, digits and "-._~+/", which can stand in a header' })
    .optional()
    .describe('The token that is sent as `Authorization: Bearer` to register a client. Secret.'),
  clientDocuments: onByDefault.describe(
    'Whether a client may use as its client id the https:// address of a document that describes it (client id metadata documents).',
  ),
  documentHosts: z
    .array(nonEmpty)
    .default([])
    .describe(
      'Such a document is fetched only from addresses of the public Internet. Hosts named here are allowed all the same.',
    ),
  clients: z
    .array(
      z.strictObject({
        // RFC 6749, A.1.
        id: nonEmpty
          .max(200)
          .regex(/^[\x20-\x7E]+$/, { error: 'expected letters, digits and other characters of ASCII' })
          .refine((id) => id !== 'omnibus-account', { error: 'this is the client id of the page /account' })
          .refine((id) => !id.startsWith('agent-'), {
            error: 'client ids that begin with "agent-" are those of agents',
          })
          .describe('The client id.'),
        name: z.string().max(200).optional().describe('Name that the consent page shows.'),
        secret: z
          .string()
          .min(16)
          .optional()
          .describe(
            "The secret of the client. Without, it is a public client, such as a program on users' machines. Secret.",
          ),
        redirectUris: z
          .array(redirectUri)
          .min(1)
          .max(10)
          .describe(
            'Addresses that users may be sent back to: https:// addresses; for programs, loopback addresses (with any port) or a URI scheme of the program.',
          ),
      }),
    )
    .max(100)
    .refine((clients) => new Set(clients.map(({ id }) => id)).size === clients.length, {
      error: 'the same client is listed twice',
    })
    .default([])
    .describe('Clients that need not register.'),
  accessTokenLife: atMost('1h', '10m').describe('How long an access token is valid.'),
  signInLife: atMost('720h', '336h').describe(
    'How long after its last refresh a client may still refresh its tokens, and how long a browser stays signed in after its last use.',
  ),
  refreshGrace: atMost('2m', '30s').describe(
    'How long the same client may use a refresh token once more, for a client that has lost the answer. A later second use revokes all tokens of that client and user.',
  ),
});

const scim = z.strictObject({
  token: z
    .union([z.string(), z.array(z.string()).min(1).max(4)])
    .transform((said) => [said].flat())
    .refine((all) => all.every((each) => /^[A-Za-z0-9._~+/-]{32,1000}=*$/.test(each)), {
      error: 'expected at least 32 letters, digits and "-._~+/", such as the output of: openssl rand -base64 33',
    })
    .describe(
      'The secret that the provider sends as `Authorization: Bearer`; several while it changes from one to the other. Each directory has its own. Secret.',
    ),
  issuer: issuerUrl.describe(
    'The issuer of the tokens of these users: one of `auth.issuers`, or that of `auth.server.signIn`.',
  ),
  subject: z
    .enum(['externalId', 'userName'])
    .default('externalId')
    .describe(
      'The attribute of a user that is the subject of its tokens. Okta: `externalId` with `subject: uid` at the issuer. Entra ID: map `objectId` to `externalId`, with `subject: oid`.',
    ),
  tenant: tenantName
    .optional()
    .describe('The tenant of these users, if the issuer names tenants: each tenant has a directory of its own.'),
});

const clientCertificates = z.strictObject({
  caFile: nonEmpty.describe(
    'File with the certificates of the authorities that sign client certificates, PEM. A running gateway follows its changes.',
  ),
  crlFile: optionalText.describe(
    'File with the lists of revoked certificates (CRL) of these authorities, PEM: one list for each of them, intermediate ones too. A running gateway follows its changes, and ends connections with a certificate that a changed list names. A certificate whose authority has no list there, or an expired one, is refused. Default: none is checked.',
  ),
  required: offByDefault.describe(
    'true: a connection without a client certificate is refused in the TLS handshake; a caller with one may still authenticate by a token or key. false: a certificate is one of several ways.',
  ),
  subject: z
    .enum(['uri', 'commonName'])
    .default('uri')
    .describe(
      'What identifies the caller. uri: the only URI among the subject alternative names, such as a SPIFFE ID. commonName: the common name of the subject.',
    ),
  uriPrefix: optionalText.describe(
    'Beginning that the URI must have, such as "spiffe://example.org/" for one trust domain. A path is compared letter by letter: end it with "/", too.',
  ),
  groups: z
    .enum(['organization', 'organizationalUnit'])
    .optional()
    .describe(
      "The part of the certificate's subject that names the caller's groups. Default: certificates give no groups.",
    ),
});

const account = '/var/run/secrets/kubernetes.io/serviceaccount';
const kubernetes = z.strictObject({
  issuer: optionalText.describe(
    "The issuer of the cluster's tokens, as they name it (`kubectl get --raw /.well-known/openid-configuration`). Default: the issuer of the token in `tokenFile`. Only tokens of this issuer are sent to the API server.",
  ),
  apiServer: trustedUrl.default('https://kubernetes.default.svc').describe('Address of the API server.'),
  caFile: nonEmpty
    .default(`${account}/ca.crt`)
    .describe("File with the certificate of the authority that signed the API server's certificate, PEM."),
  tokenFile: nonEmpty
    .default(`${account}/token`)
    .describe(
      'File with the token of the service account by which the gateway asks the API server. The account must be allowed to create `tokenreviews` (cluster role system:auth-delegator). Read for each request.',
    ),
});

const persons = z
  .array(
    z.string().regex(/^(group:\S(.*\S)?|key:\S(.*\S)?|[^|\s][^|]*\|.*\S)$/su, {
      error: 'expected "group:NAME", "key:SUBJECT" for an API key, or "ISSUER|SUBJECT"',
    }),
  )
  .max(1_000)
  .default([]);
const adminAccess = z.strictObject({
  roles: z
    .strictObject({
      viewer: persons.describe('Callers that may see /status and /sessions, and /metrics if that is not open.'),
      operator: persons.describe(
        'Callers that may also reload the configuration, reconnect servers, approve definitions and calls, and block callers, tools and servers.',
      ),
      approver: persons.describe(
        'Callers that may see, approve and refuse the calls that wait for them (`ask` under `access`).',
      ),
      auditor: persons.describe('Callers that may also see API keys, users and the usage of each caller.'),
      admin: persons.describe(
        'Callers that may do everything, such as make and revoke API keys, and add and remove users.',
      ),
    })
    .prefault({})
    .describe(
      'Which callers have which role: "group:NAME" ("group:ISSUER|NAME" for a group of one issuer), "key:SUBJECT" for the API keys of a subject, or "ISSUER|SUBJECT". A running gateway follows changes. Groups, keys and the names that a proxy gives count only for callers without a tenant, and an agent that acts for a user has no role.',
    ),
  tenants: z
    .record(tenantName, persons)
    .default({})
    .describe(
      "For each tenant, its callers that see the tenant's servers at /status and its usage in `omnibus usage`, and nothing else. Groups are those of the tenant. A running gateway follows changes.",
    ),
  metrics: z
    .enum(['open', 'viewer'])
    .default('open')
    .describe('open: every client of the admin port may read /metrics. viewer: only callers with a role.'),
  scope: z
    .union([scope, z.literal(false)])
    .default('mcp:admin')
    .describe(
      'A scope that a token must have at the admin port, so that a client that may use servers may not administer the gateway. false: none, for issuers at which you cannot define scopes.',
    ),
  clientId: z
    .string()
    .max(200)
    .regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, {
      error: 'expected letters, digits and other characters of ASCII, without blanks and quotes',
    })
    .optional()
    .describe(
      'Client id of the console at the first issuer of `auth.issuers`, for *Sign in* where web pages cannot register: a public client with the addresses of the console, such as "https://admin.example.com/", as redirect URIs and as origins that may ask (CORS).',
    ),
});

const selectors = (most: number) =>
  z
    .union([nonEmpty.max(1_000), z.array(nonEmpty.max(1_000)).max(most)])
    .transform((said) => [said].flat())
    .default([]);
const stepUp = z
  .strictObject({
    scope: scope.max(200).describe('The scope.'),
    for: selectors(1_000).describe(
      'What needs it, as in rules: globs over "server/tool", "prompt:server/name" and "resource:server/uri", the name of a server for all that it has, or "*".',
    ),
    endpoints: z
      .union([z.string(), z.array(z.string()).max(1_000)])
      .transform((said) => [said].flat().map((name) => (name === '/mcp' ? '' : name)))
      .default([])
      .describe(
        'Servers and profiles at whose endpoints every request needs it; "/mcp" is the endpoint of all servers.',
      ),
    impliedBy: z
      .array(scope)
      .max(50)
      .default([])
      .describe('Broader scopes: a token with one of them need not have this one.'),
    description: nonEmpty
      .max(200)
      .optional()
      .describe(
        "The permission that the scope gives, as text that the consent page of the gateway's own authorization server shows.",
      ),
  })
  .refine(({ for: what, endpoints }) => what.length + endpoints.length > 0, {
    error: 'expected `for` or `endpoints`: something that needs the scope',
  });

const ways = z
  .strictObject({
    keys: z
      .strictObject({
        file: nonEmpty.describe(
          'File of the API keys that `omnibus keys` makes, lists and revokes. It contains digests only, and a running gateway follows its changes.',
        ),
      })
      .optional()
      .describe('API keys: `Authorization: Bearer omk_…`.'),
    issuers: z
      .array(issuer)
      .max(100)
      .default([])
      .describe('Authorization servers whose tokens are accepted. Needs `publicUrl`.'),
    audience: z
      .array(nonEmpty)
      .default([])
      .describe(
        'Audiences (`aud`) that tokens may have at every endpoint. Default: `publicUrl` followed by /mcp. A token for the address of one endpoint is always accepted there.',
      ),
    scopes: z
      .array(scope)
      .max(50)
      .default([])
      .describe('Scopes that every token must have. The metadata for clients list them.'),
    stepUp: z
      .array(stepUp)
      .max(100)
      .refine((rows) => new Set(rows.map(({ scope: name }) => name)).size === rows.length, {
        error: 'expected each scope once, with all that it is needed for',
      })
      .default([])
      .describe(
        'Scopes that a token must have for certain endpoints, servers and tools only. The answer to a client names a missing scope, and the client can ask its user for it (step-up authorization). API keys, certificates, proxies and service accounts have no scopes and need none.',
      ),
    server: authorizationServer
      .optional()
      .describe('An authorization server that the gateway itself runs, for teams without one. Needs `publicUrl`.'),
    scim: z
      .array(scim)
      .max(100)
      .default([])
      .describe(
        'Directories of providers, which send their users and groups to `publicUrl`/scim/v2 (SCIM 2.0). Groups count in rules, and users that a provider deactivates lose their access. Needs NATS or `sessions.store`.',
      ),
    dpop: z
      .strictObject({
        required: offByDefault.describe(
          'Whether every token at an endpoint must be bound to a key of its holder. API keys and certificates are no tokens, and the admin port takes bearer tokens.',
        ),
        nonce: offByDefault.describe(
          'Whether each proof must have a nonce of the gateway, at its endpoints and at its authorization server.',
        ),
      })
      .prefault({})
      .describe(
        'Tokens that are bound to a key of their holder (DPoP, RFC 9449; docs/how-to/agents.md). The gateway always demands the proof for such a token.',
      ),
    proxy: proxy.optional().describe('A proxy in front of the gateway that signs users in and names them in a header.'),
    clientCertificates: clientCertificates
      .optional()
      .describe('Certificates that clients show when they connect. Needs `tls`.'),
    kubernetes: kubernetes
      .optional()
      .describe(
        'Tokens of the service accounts of a Kubernetes cluster, which its API server checks (TokenReview); the gateway caches answers for a minute. Needs `publicUrl` or `audience`.',
      ),
    admin: adminAccess
      .optional()
      .describe(
        'Roles at the admin port; callers authenticate in the same ways. Default: programs of this machine have the role operator, and all others may only read /metrics and health.',
      ),
  })
  .refine(
    ({ keys, issuers, proxy: front, clientCertificates: certificates, kubernetes: cluster, server }) =>
      keys !== undefined ||
      issuers.length > 0 ||
      front !== undefined ||
      certificates !== undefined ||
      cluster !== undefined ||
      server !== undefined,
    { error: 'expected a way for callers to prove who they are, such as `keys: { file: keys.yaml }`, or "none"' },
  )
  .refine(({ issuers }) => issuers.every(({ tenant, ofTenant }) => tenant === undefined || ofTenant === undefined), {
    error: 'an issuer has either `tenant` (a claim that names the tenant) or `ofTenant`, not both',
    path: ['issuers'],
  })
  .refine(({ issuers }) => new Set(issuers.map((each) => each.issuer)).size === issuers.length, {
    error: 'the same issuer is listed twice',
    path: ['issuers'],
  })
  .refine(
    ({ server }) =>
      server === undefined || server.users !== undefined || server.signIn !== undefined || server.agents !== undefined,
    {
      error:
        'expected users: `users: { file: users.yaml }`, or `signIn` with an OpenID provider; or agents: `agents: { file: agents.yaml }`',
      path: ['server'],
    },
  )
  .refine(({ server }) => server === undefined || server.actors.length === 0 || server.agents !== undefined, {
    error: 'agents that act for users need a file of agents: `agents: { file: agents.yaml }`',
    path: ['server', 'actors'],
  })
  .refine(({ server }) => server?.registration !== 'token' || server.registrationToken !== undefined, {
    error: 'registration with a token needs `registrationToken`',
    path: ['server', 'registration'],
  })
  .refine(({ issuers }) => issuers.filter(({ introspection }) => introspection !== undefined).length <= 1, {
    error: 'an opaque token does not say whose it is, so only one issuer can have introspection',
    path: ['issuers'],
  });

export const authSchema = z.union([z.literal('none'), ways], {
  error: 'expected ways for callers to prove who they are, such as `auth: { keys: { file: keys.yaml } }`, or "none"',
});
