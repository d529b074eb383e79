/** Finds options of `auth`, and tenants, that name impossible callers, or missing things: nothing fails, and no caller is admitted. */
import { enabledServers, hasTenants, type Config } from '@omnibus/config';
import { compileSelector } from '@omnibus/policy';
import { keyIssuer } from '@omnibus/protocol';
import { issuerWarnings, type IdentityWarning } from './issuer-warnings.ts';

type Ways = Exclude<NonNullable<Config['auth']>, 'none'>;

export function identityWarnings(config: Config): readonly IdentityWarning[] {
  const ways = config.auth === undefined || config.auth === 'none' ? undefined : config.auth;
  return [
    ...(ways === undefined
      ? []
      : [
          ...roleWarnings(config, ways),
          ...scopeWarnings(config, ways),
          ...addressWarnings(config, ways),
          ...strangerWarnings(ways),
        ]),
    ...tenantWarnings(config, ways),
    ...issuerWarnings(config),
  ];
}

/** Issuers of the callers that the ways bring; undefined for those that are not known before they come. */
function issuersOf(
  { publicUrl }: Config,
  { issuers, keys, proxy, clientCertificates, kubernetes, server }: Ways,
): ReadonlySet<string> | undefined {
  if (kubernetes !== undefined && kubernetes.issuer === undefined) return undefined;
  return new Set([
    ...issuers.map(({ issuer }) => issuer),
    ...(keys === undefined ? [] : [keyIssuer]),
    ...(proxy === undefined ? [] : ['omnibus:proxy']),
    ...(clientCertificates === undefined ? [] : ['omnibus:certificates']),
    ...(kubernetes?.issuer === undefined ? [] : [kubernetes.issuer]),
    ...(server === undefined || publicUrl === undefined ? [] : [publicUrl]),
  ]);
}

function roleWarnings(config: Config, ways: Ways): IdentityWarning[] {
  const { admin, keys, proxy } = ways;
  if (admin === undefined) return [];
  const issuers = issuersOf(config, ways);
  const lists: readonly (readonly [path: readonly string[], people: readonly string[]])[] = [
    ...Object.entries(admin.roles).map(([role, people]) => [['auth', 'admin', 'roles', role], people] as const),
    ...Object.entries(admin.tenants).map(([tenant, people]) => [['auth', 'admin', 'tenants', tenant], people] as const),
  ];
  const found = lists.flatMap(([path, people]) =>
    people.flatMap((who, index) => {
      const message = absence(who, issuers, keys !== undefined);
      return message === undefined ? [] : [{ path: [...path, index], message }];
    }),
  );
  if (proxy?.tenantHeader !== undefined) {
    for (const [role, people] of Object.entries(admin.roles))
      for (const [index, who] of people.entries())
        if (who.startsWith('omnibus:proxy|'))
          found.push({
            path: ['auth', 'admin', 'roles', role, index],
            message: `${JSON.stringify(who)} is nobody: the proxy names a tenant for each caller (\`tenantHeader\`), and each tenant may have somebody of that name. Give the role to an API key, or look after one tenant under \`tenants\``,
          });
  }
  // The administrator of one tenant reaches the port, and the metrics have the names of all servers.
  if (admin.metrics === 'open' && hasTenants(config) && Object.keys(admin.tenants).length > 0)
    found.push({
      path: ['auth', 'admin', 'metrics'],
      message:
        '/metrics names the servers of all tenants, and everybody who reaches the admin port may read it, those of `tenants` too: write metrics: viewer',
    });
  return lists.some(([, people]) => people.length > 0)
    ? found
    : [
        {
          path: ['auth', 'admin'],
          message:
            'nobody has a role here, so nobody may use the admin port: name somebody under `roles`, such as admin: [key:ann]',
        },
      ];
}

/** Why no caller can have a name. */
function absence(who: string, issuers: ReadonlySet<string> | undefined, hasKeys: boolean): string | undefined {
  if (who.startsWith('key:'))
    return hasKeys ? undefined : `${JSON.stringify(who)} is nobody: API keys are not accepted (\`auth.keys\`)`;
  const issuer = who.startsWith('group:') ? undefined : who.slice(0, who.indexOf('|'));
  if (issuer === undefined || issuers === undefined || issuers.has(issuer)) return undefined;
  const meant = [...issuers].find(
    (each) => each.replace(/\/$/, '').toLowerCase() === issuer.replace(/\/$/, '').toLowerCase(),
  );
  return `${JSON.stringify(who)} is nobody: no caller is of the issuer ${issuer}${meant === undefined ? ` (known are ${[...issuers].join(', ')})` : `; write ${meant}, as its tokens do`}`;
}

function scopeWarnings(config: Config, { scopes, stepUp, issuers, server }: Ways): IdentityWarning[] {
  const names = new Set(['', ...enabledServers(config).keys(), ...Object.keys(config.profiles)]);
  const mayBeElsewhere = config.discovery.kubernetes.enabled;
  return [
    ...(scopes.length > 0 && issuers.length === 0 && server === undefined
      ? [
          {
            path: ['auth', 'scopes'],
            message: 'without effect: only tokens of `issuers` and of a `server` have scopes',
          },
        ]
      : []),
    ...stepUp.flatMap(({ scope, for: what, endpoints }, index) => [
      ...(scopes.includes(scope)
        ? [
            {
              path: ['auth', 'stepUp', index, 'scope'],
              message: `without effect: every token has the scope ${scope} (\`auth.scopes\`)`,
            },
          ]
        : []),
      ...(mayBeElsewhere
        ? []
        : what
            .filter((text) => ![...enabledServers(config).keys()].some((name) => compileSelector(text).mayCover(name)))
            .map((text) => ({
              path: ['auth', 'stepUp', index, 'for'],
              message: `${JSON.stringify(text)} matches nothing of any server, so nothing needs the scope ${scope} by it`,
            }))),
      ...(mayBeElsewhere
        ? []
        : endpoints
            .filter((name) => !names.has(name))
            .map((name) => ({
              path: ['auth', 'stepUp', index, 'endpoints'],
              message: `there is no server and no profile ${JSON.stringify(name)}, so nothing needs the scope ${scope} by it`,
            }))),
    ]),
  ];
}

/** An observer of tokens in transit can use them (OAuth 2.1, 1.5). */
function addressWarnings({ publicUrl }: Config, { issuers }: Ways): IdentityWarning[] {
  const isOpen =
    publicUrl?.startsWith('http:') === true && !/^http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:|$)/.test(publicUrl);
  return isOpen && issuers.length > 0
    ? [
        {
          path: ['publicUrl'],
          message:
            'clients send their tokens to this address in the clear, and many refuse to: give the gateway `tls`, or a proxy that has, and write https://',
        },
      ]
    : [];
}

/** Providers with open registration, by the beginning of their issuer: registered users are not necessarily intended ones. */
const forEverybody =
  /^https:\/\/(?:accounts\.google\.com|github\.com|gitlab\.com|appleid\.apple\.com|login\.microsoftonline\.com\/(?:common|organizations|consumers))(?:\/|$)/;

function strangerWarnings({ server }: Ways): IdentityWarning[] {
  const { issuer = '', require = {} } = server?.signIn ?? {};
  if (!forEverybody.test(issuer) || Object.keys(require).length > 0) return [];
  return [
    {
      path: ['auth', 'server', 'signIn', 'require'],
      message: `anybody with an account at ${new URL(issuer).host} may sign in: say whose users are meant, such as require: { hd: example.com } for an organization at Google (docs/how-to/sign-in.md)`,
    },
  ];
}

/** Impossible tenants: their entries exist for no caller. */
function tenantWarnings({ mcpServers, profiles }: Config, ways: Ways | undefined): IdentityWarning[] {
  // The file of keys, claims and headers name tenants that are not known here.
  const areUnsaid =
    ways !== undefined &&
    (ways.keys !== undefined ||
      ways.proxy?.tenantHeader !== undefined ||
      ways.server?.signIn?.tenant !== undefined ||
      ways.issuers.some(({ tenant }) => tenant !== undefined));
  const said = new Set(ways?.issuers.flatMap(({ ofTenant }) => ofTenant ?? []));
  const how =
    'a tenant comes from a claim (`tenant`) or `ofTenant` of an issuer, from a proxy (`tenantHeader`) or from an API key (`omnibus keys create --tenant`)';
  const unreached = [
    ...Object.entries(mcpServers).map((each) => ['mcpServers', ...each] as const),
    ...Object.entries(profiles).map((each) => ['profiles', ...each] as const),
  ].flatMap(([part, name, { tenants }]) =>
    tenants === undefined || areUnsaid || tenants.some((tenant) => said.has(tenant))
      ? []
      : [
          {
            path: [part, name, 'tenants'],
            message: `no caller is of ${tenants.map((tenant) => JSON.stringify(tenant)).join(' or ')}, so it is there for nobody: ${how}`,
          },
        ],
  );
  const empty = Object.entries(profiles).flatMap(([name, { tenants, servers }]) => {
    const others =
      servers?.filter(
        (server) =>
          tenants !== undefined &&
          mcpServers[server]?.tenants !== undefined &&
          !tenants.some((tenant) => mcpServers[server]?.tenants?.includes(tenant) === true),
      ) ?? [];
    return others.map((server) => ({
      path: ['profiles', name, 'servers', servers?.indexOf(server) ?? 0],
      message: `nobody sees the server ${server} in this profile: it is for the tenants ${mcpServers[server]?.tenants?.join(', ') ?? ''} only, and the profile for ${tenants?.join(', ') ?? ''}`,
    }));
  });
  return [...unreached, ...empty];
}
