/** Servers called with each user's own credentials, and the users of a gateway. */
import { hasTemplates, isTemplate, templateProblem } from '@omnibus/protocol';
import { enabledServers } from './diff.ts';
import { isLoopback, isOfThisMachine } from './loopback.ts';
import type { Config, ServerConfig } from './schema.ts';

type Gateway = Pick<Config, 'auth' | 'listen' | 'publicUrl'>;

/** Whether only the one user of its machine can reach a gateway: a `publicUrl` elsewhere means that others can. */
export function isForOneUser({ auth, listen, publicUrl }: Gateway): boolean {
  return (
    (auth === undefined || auth === 'none') &&
    isOfThisMachine(listen) &&
    (publicUrl === undefined || isLoopback(new URL(publicUrl).hostname))
  );
}

/** Whether clients come with a key that their user gives them: those of issuers start a sign-in. */
export function takesKeysOnly({ auth }: Pick<Config, 'auth'>): boolean {
  return (
    auth !== undefined &&
    auth !== 'none' &&
    auth.keys !== undefined &&
    auth.server === undefined &&
    auth.issuers.length === 0
  );
}

/** Whether credentials are those of users, and not of the gateway. */
export function isOfUsers(credentials: ServerConfig['credentials']): boolean {
  return credentials !== undefined && credentials.kind !== 'client' && credentials.kind !== 'aws';
}

/**
 * Whether users may have connected something to a server. A disabled server counts, since it may be enabled again, with what they have connected; only without
 * `vault` over NATS there is no place for that. With `vault`, a server that is not configured any more counts too. Edges have no keys of the vault.
 * @param isDurable whether the vault is on the bus.
 */
export function keepsConnections({ mcpServers, vault }: Config, isDurable: boolean): boolean {
  return (
    vault !== undefined ||
    Object.values(mcpServers).some(
      ({ credentials, disabled }) => credentials?.kind === 'oauth' && (!disabled || !isDurable),
    )
  );
}

/** The configuration in force, and that of the start, by which backend workers have opened the vault. */
export interface Configs {
  readonly config: () => Config;
  readonly started: Config;
}

/**
 * Whether backend workers answer for what users have connected: those of known callers from their start, others with the first server at which their user signs in.
 * @param isDurable whether the vault is on the bus.
 */
export function mayBeConnected(isDurable: boolean, { config, started }: Configs): boolean {
  const areKnown = started.auth !== undefined && started.auth !== 'none';
  return (
    (areKnown && keepsConnections(started, isDurable)) ||
    [...enabledServers(config()).values()].some(({ credentials }) => credentials?.kind === 'oauth')
  );
}

/** Whether each known caller has its own identity at the server: callers then share neither connections nor lists. */
export function isOwned(
  { credentials, headers }: Pick<ServerConfig, 'credentials' | 'headers'>,
  gateway: Gateway,
): boolean {
  return hasTemplates(headers) || (isOfUsers(credentials) && !isForOneUser(gateway));
}

/** Whether the adapter of a server must know who calls: for the server's headers or credentials, or for arguments of its tools. */
export function needsCallers(
  server: Pick<ServerConfig, 'credentials' | 'headers' | 'tools'>,
  gateway: Gateway,
): boolean {
  return isOwned(server, gateway) || [...factsInArguments(server)].length > 0;
}

/** Configured arguments of tools that stand for facts about the caller, with their places below the server. */
function* factsInArguments({
  tools,
}: Pick<ServerConfig, 'tools'>): Iterable<{ readonly place: readonly string[]; readonly template: string }> {
  for (const [tool, { arguments: shapes }] of Object.entries(tools))
    for (const [name, shape] of Object.entries(shapes))
      for (const option of ['fixed', 'default'] as const) {
        const template = shape[option];
        if (typeof template === 'string' && isTemplate(template))
          yield { place: ['tools', tool, 'arguments', name, option], template };
      }
}

/** The problems of arguments that stand for facts about the caller. */
export function* argumentMistakes(
  server: Pick<ServerConfig, 'tools'>,
  { auth }: Gateway,
): Iterable<readonly [path: readonly string[], problem: string]> {
  const claims = claimsOf(auth);
  for (const { place, template } of factsInArguments(server)) {
    const problem =
      auth === undefined || auth === 'none'
        ? 'it names the caller, and this gateway does not know its callers: say how they are known (`auth`)'
        : templateProblem(template, claims);
    if (problem !== undefined) yield [place, problem];
  }
}

function claimsOf(auth: Gateway['auth']): ReadonlySet<string> {
  return new Set(auth === undefined || auth === 'none' ? [] : auth.issuers.flatMap((issuer) => issuer.claims));
}

/** Why the gateway cannot exchange callers' tokens for a server; undefined if it can, or need not. */
function callerProblem({ credentials }: Pick<ServerConfig, 'credentials'>, gateway: Gateway): string | undefined {
  switch (credentials?.kind) {
    case 'exchange':
      return exchangeProblem(credentials, gateway);
    case 'enterprise':
      return assertionProblem(credentials, gateway);
    default:
      return undefined;
  }
}

type CredentialsOf<Kind> = Extract<ServerConfig['credentials'], { readonly kind: Kind }>;

function exchangeProblem(credentials: CredentialsOf<'exchange'>, gateway: Gateway): string | undefined {
  const auth = gateway.auth === 'none' ? undefined : gateway.auth;
  const known = [
    ...(auth?.issuers.map(({ issuer }) => issuer) ?? []),
    ...(auth?.server === undefined || gateway.publicUrl === undefined ? [] : [gateway.publicUrl]),
  ];
  const unknown = (credentials.from ?? [credentials.issuer]).find((each) => !known.includes(each));
  if (known.length === 0 && auth?.kubernetes === undefined)
    return 'the token of each caller is exchanged for the server, and callers of this gateway have none: name `auth.issuers`, or run `auth.server`';
  return unknown === undefined || auth?.kubernetes !== undefined
    ? undefined
    : `no caller is known by a token of the issuer whose tokens are exchanged for the server, ${JSON.stringify(unknown)}: name that issuer under \`auth.issuers\`, or those of its callers in \`from\``;
}

function assertionProblem(credentials: CredentialsOf<'enterprise'>, gateway: Gateway): string | undefined {
  if (credentials.identityProvider?.idTokenFile !== undefined)
    return isForOneUser(gateway)
      ? undefined
      : 'the ID token of a file is that of one user, and this gateway may have others: leave out `idTokenFile`, and let users sign in by `auth.server.signIn`';
  const signIn = gateway.auth === 'none' ? undefined : gateway.auth?.server?.signIn;
  if (signIn === undefined || signIn.oauth !== undefined)
    return 'the server is called by the ID tokens of users who sign in at an OpenID provider: set `auth.server.signIn`, or `identityProvider.idTokenFile` where only the user of this machine can reach the gateway';
  const { identityProvider } = credentials;
  return identityProvider === undefined ||
    (identityProvider.issuer === signIn.issuer && identityProvider.clientId === signIn.clientId)
    ? undefined
    : '`identityProvider` is another one, or has another client, than `auth.server.signIn`, which makes the ID tokens of users';
}

/** The problem of headers about the caller; undefined if there is none. */
export function templatesProblem(
  { headers, url, isolation }: Pick<ServerConfig, 'headers' | 'url' | 'isolation'>,
  { auth }: Gateway,
): { readonly header: string; readonly problem: string } | undefined {
  const claims = claimsOf(auth);
  for (const [header, value] of Object.entries(headers)) {
    if (!isTemplate(value)) continue;
    const problem =
      url === undefined
        ? 'a program is told nothing about its callers: headers are for a server at a `url`'
        : auth === undefined || auth === 'none'
          ? 'it names the caller, and nothing tells the callers of this gateway apart: say how they are known (`auth`)'
          : isolation === 'shared' || isolation === 'session'
            ? `each caller has connections of his own to a server that is told who calls (\`isolation: principal\`, which goes without saying): \`${isolation}\` is something else`
            : templateProblem(value, claims);
    if (problem !== undefined) return { header, problem };
  }
  return undefined;
}

/** Why users cannot sign in for a server; undefined where they can. */
export function usersProblem(
  server: Pick<ServerConfig, 'credentials' | 'isolation'>,
  gateway: Gateway,
): string | undefined {
  const mistake = callerProblem(server, gateway);
  if (mistake !== undefined || !isOwned({ ...server, headers: {} }, gateway)) return mistake;
  const { auth, listen, publicUrl } = gateway;
  if (auth === undefined || auth === 'none')
    return 'each user signs in for the server himself, and nothing tells the callers of this gateway apart: say how they are known (`auth`), or let it be reached by programs of this machine alone, by `listen` and by `publicUrl`';
  if (server.credentials?.kind === 'oauth' && publicUrl === undefined && !isOfThisMachine(listen))
    return 'users are sent to a page of the gateway to sign in for the server: that takes `publicUrl`, the address that their browsers know';
  const { isolation } = server;
  return isolation === 'auto' || isolation === 'principal'
    ? undefined
    : `each user has connections of his own to a server that is called with his credentials (\`isolation: principal\`, which goes without saying): \`${isolation}\` is something else`;
}
