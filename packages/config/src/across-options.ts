/** Mistakes that only show where several options are looked at together. */
import type { z } from 'zod';
import { nearestOf } from './nearest.ts';
import { openapiMistakes } from './openapi-schema.ts';
import { shown, shownWords } from './right-forms.ts';
import type { Options } from './schema.ts';
import { serverTlsProblem } from './server-tls-schema.ts';
import { argumentMistakes, templatesProblem, usersProblem } from './users.ts';

/** One mistake: the path of the option below `auth`, a server or a profile, and its problem. */
type Mistake = readonly [path: readonly (string | number)[], message: string];
type Auth = Exclude<Options['auth'], 'none' | undefined>;
type Server = Options['mcpServers'][string];
type Profile = Options['profiles'][string];

/** Reports what single options cannot tell: options that need or exclude each other. */
export function checkAcross(config: Options, context: z.RefinementCtx): void {
  const report = (place: readonly string[], mistakes: Iterable<Mistake>): void => {
    for (const [path, message] of mistakes) context.addIssue({ code: 'custom', message, path: [...place, ...path] });
  };
  const { auth } = config;
  if (auth !== undefined && auth !== 'none') {
    report(['auth'], issuerMistakes(auth, config));
    report(['auth'], callerMistakes(auth, config));
    report(['auth', 'scim'], directoryMistakes(auth, config));
  }
  if (config.listen === config.admin && !config.listen.endsWith(':0'))
    report(['admin'], [[[], 'clients connect to this address already (`listen`): choose another port']]);
  if (config.sessions.store !== undefined && config.bus !== 'memory')
    report(['sessions'], [[['store'], 'sessions are stored at NATS already (`bus`): leave out this option']]);
  for (const [name, settings] of Object.entries(config.mcpServers)) {
    report(['mcpServers', name], programMistakes(settings));
    report(
      ['mcpServers', name],
      settings.openapi === undefined ? transportMistakes(settings) : openapiMistakes(settings),
    );
    report(['mcpServers', name], sentMistakes(settings, config));
  }
  report(['composites'], stepMistakes(config));
  for (const [name, settings] of Object.entries(config.profiles)) {
    report(['profiles', name], memberMistakes(name, settings, config));
    report(['profiles', name], renameMistakes(settings));
  }
}

/** Mistakes of the issuers of tokens, and of the gateway's own authorization server. */
function* issuerMistakes(auth: Auth, { publicUrl }: Options): Iterable<Mistake> {
  const isItself = ({ issuer }: { readonly issuer: string }): boolean => issuer.replace(/\/$/, '') === publicUrl;
  if (auth.issuers.length > 0 && publicUrl === undefined)
    yield [['issuers'], 'tokens of issuers need `publicUrl`, the address that they are for'];
  if (auth.server === undefined && auth.issuers.some(isItself))
    yield [
      ['issuers'],
      '`publicUrl` is the gateway itself, which makes no tokens: name the authorization server that does, or let the gateway run one (`server`)',
    ];
  if (auth.admin?.clientId !== undefined && (auth.server !== undefined || auth.issuers.length === 0))
    yield [
      ['admin', 'clientId'],
      `the console signs in ${auth.server === undefined ? 'nowhere: name `issuers`' : 'at the gateway itself (`server`), where it registers by itself'}`,
    ];
  if (auth.server === undefined) return;
  const problem = serverAddressProblem(
    publicUrl,
    auth.issuers.map(({ issuer }) => issuer),
  );
  if (problem !== undefined) yield [['server'], problem];
}

/** Mistakes of scopes, and of credentials that are no tokens of issuers. */
function* callerMistakes(auth: Auth, { publicUrl, tls }: Options): Iterable<Mistake> {
  if (auth.stepUp.length > 0 && auth.issuers.length === 0 && auth.server === undefined)
    yield [
      ['stepUp'],
      'scopes are of tokens: name `issuers`, or run a `server`; an API key is made for certain tools by `omnibus keys create --tool`',
    ];
  if (auth.stepUp.length > 0 && auth.scopes.length === 0)
    yield [
      ['stepUp'],
      'set `scopes` too, to what every token has, such as [mcp]: a client that is told of no scope to begin with asks for all of these at once',
    ];
  if (auth.kubernetes !== undefined && publicUrl === undefined && auth.audience.length === 0)
    yield [['kubernetes'], 'tokens of service accounts need `publicUrl`, the address that they are for, or `audience`'];
  if (auth.clientCertificates !== undefined && tls === undefined)
    yield [['clientCertificates'], 'certificates of clients need `tls`, over which they are shown'];
}

/** Mistakes of the directories of providers. */
function* directoryMistakes({ scim, issuers, server }: Auth, { publicUrl }: Options): Iterable<Mistake> {
  if (scim.length === 0) return;
  if (publicUrl === undefined) yield [[], 'directories need `publicUrl`, the address that they send users to'];
  const [seen, tokens] = [new Set<string>(), new Set<string>()];
  for (const [index, { issuer, tenant, token }] of scim.entries()) {
    const known = issuers.find((each) => each.issuer === issuer);
    const { signIn } = server ?? {};
    const isSignIn = signIn?.issuer === issuer;
    if (known === undefined && !isSignIn)
      yield [
        [index, 'issuer'],
        'no caller has tokens of this issuer: name one of `auth.issuers`, or that of `auth.server.signIn`',
      ];
    const hasTenants =
      known?.tenant !== undefined || known?.ofTenant !== undefined || (isSignIn && signIn.tenant !== undefined);
    if (hasTenants !== (tenant !== undefined))
      yield [
        [index, 'tenant'],
        hasTenants
          ? 'callers of this issuer have tenants: name the tenant of these users'
          : 'callers of this issuer have no tenant: leave this out',
      ];
    const place = `${tenant ?? ''} ${issuer}`;
    if (seen.has(place)) yield [[index], 'the same users are listed twice'];
    seen.add(place);
    for (const each of token) {
      if (tokens.has(each)) yield [[index, 'token'], 'another directory has the same token'];
      tokens.add(each);
    }
  }
}

function* programMistakes({ command, args, cwd, url, sandbox }: Server): Iterable<Mistake> {
  // The ending of a program of Windows says where its arguments begin.
  const [, program, rest] = /^([\w.-]+|[A-Za-z]:[/\\].*?\.(?:exe|cmd|bat))\s+(\S.*)$/is.exec(command ?? '') ?? [];
  if (program !== undefined && rest !== undefined && /(^|\s)(\|\|?|&&?|[;<>]|>>)(\s|$)/.test(rest) && args.length === 0)
    yield [
      ['command'],
      `expected a program alone, and this is a line for a shell: write command: sh and args: ${JSON.stringify(['-c', shown(command ?? '')])}`,
    ];
  else if (program !== undefined && rest !== undefined)
    yield [
      ['command'],
      `expected a program alone: write command: ${program} and args: ${JSON.stringify(shownWords(rest.trim().split(/\s+/)))}${beforeOthers(args)}`,
    ];
  const texts: readonly Mistake[] = [
    [['command'], command ?? ''],
    [['cwd'], cwd ?? ''],
    ...args.map((arg, index): Mistake => [['args', index], arg]),
  ];
  for (const [path, text] of texts)
    if (/^[A-Za-z]:[^/]*[\b\t\n\v\f\r]/.test(text))
      yield [
        path,
        'this Windows path contains a control character, because "\\t", "\\n" and the like stand for one in double quotes; write \\\\ for each backslash, or use /',
      ];
  if (sandbox !== undefined && command === undefined)
    yield [['sandbox'], 'a sandbox is for a program that the gateway starts ("command")'];
  if (sandbox?.network === false && command !== undefined && url !== undefined)
    yield [
      ['sandbox'],
      'without network, nobody can connect to the "url" that the program serves: set "network: true"',
    ];
}

/** Values of references may stand in `args`, which a message about `command` does not repeat. */
const beforeOthers = (args: readonly string[]): string =>
  args.length === 0 ? '' : ', in front of those that stand in args';

function* transportMistakes({ command, url, type }: Server): Iterable<Mistake> {
  if (command === undefined && url === undefined)
    yield [[], 'expected "command" (a program to start) or "url" (a server to connect to)'];
  if (type === 'stdio' && command === undefined) yield [['type'], 'type "stdio" needs "command"'];
  if (type === 'stdio' && url !== undefined)
    yield [
      ['url'],
      'type "stdio" does not go with "url": leave out "url" for a program on stdin and stdout, or "type" for a program that serves this address',
    ];
  const isWebSocket = url !== undefined && /^wss?:/.test(url);
  if (type !== undefined && url !== undefined && isWebSocket !== (type === 'websocket' || type === 'ws'))
    yield [
      ['type'],
      `type "${type}" does not go with this "url": leave out "type", ${isWebSocket ? 'or write an http:// or https:// address' : 'or write a ws:// or wss:// address'}`,
    ];
  if (isWebSocket && command !== undefined)
    yield [
      ['command'],
      'a program that serves a WebSocket cannot be started; start it yourself and leave out "command"',
    ];
  if (type === 'sse' && command !== undefined)
    yield [['command'], 'a program that serves HTTP+SSE cannot be started; start it yourself and leave out "command"'];
  if (type !== undefined && type !== 'stdio' && url === undefined) yield [['type'], `type "${type}" needs "url"`];
}

function* sentMistakes(settings: Server, config: Options): Iterable<Mistake> {
  const ofTls = settings.tls === undefined ? undefined : serverTlsProblem(settings.url, settings.tls);
  if (ofTls !== undefined) yield [['tls'], ofTls];
  for (const [header, mistake] of headerMistakes(Object.keys(settings.headers))) yield [['headers', header], mistake];
  const ofCredentials = credentialsProblem(settings) ?? usersProblem(settings, config);
  if (ofCredentials !== undefined) yield [['credentials'], ofCredentials];
  const ofHeader = templatesProblem(settings, config);
  if (ofHeader !== undefined) yield [['headers', ofHeader.header], ofHeader.problem];
  yield* argumentMistakes(settings, config);
}

function* memberMistakes(name: string, settings: Profile, config: Options): Iterable<Mistake> {
  const { mcpServers } = config;
  if (Object.hasOwn(mcpServers, name))
    yield [[], `a server has this name already, and /mcp/${name} can be only one of them`];
  for (const [index, server] of (settings.servers ?? []).entries())
    if (!Object.hasOwn(mcpServers, server)) yield [['servers', index], noServer(server, config)];
  for (const [index, composite] of (settings.composites ?? []).entries())
    if (!Object.hasOwn(config.composites, composite))
      yield [['composites', index], `there is no composite tool ${JSON.stringify(composite)} under \`composites\``];
  for (const option of ['rename', 'pin'] as const) {
    for (const key of Object.keys(settings[option])) {
      const server = key.split('/', 1)[0] as string;
      if (!key.includes('/') || !Object.hasOwn(mcpServers, server))
        yield [[option, key], 'expected `server/tool` with a server of mcpServers'];
    }
  }
}

function* stepMistakes(config: Options): Iterable<Mistake> {
  for (const [name, { steps }] of Object.entries(config.composites))
    for (const [index, { call }] of steps.entries()) {
      const server = call.slice(0, call.indexOf('/'));
      if (!Object.hasOwn(config.mcpServers, server) && !config.discovery.kubernetes.enabled)
        yield [[name, 'steps', index, 'call'], noServer(server, config)];
    }
}

function* renameMistakes({ rename }: Profile): Iterable<Mistake> {
  const renamedTo = new Map<string, string>();
  for (const [key, to] of Object.entries(rename)) {
    const other = renamedTo.get(to);
    renamedTo.set(to, other ?? key);
    if (other !== undefined)
      yield [['rename', key], `${other} has this new name already, and two tools of one name cannot be told apart`];
    else if (!/^[A-Za-z0-9_.-]{1,128}$/.test(to))
      yield [
        ['rename', key],
        `expected 1 to 128 characters of letters, digits, "_", "-" and ".", for example ${JSON.stringify(to.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').slice(0, 128) || 'a_name')}`,
      ];
  }
}

/** Headers that belong to one connection or message, and differ for each (RFC 9110, 7.6.1 and 8.6). */
const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/** Problems of the names of headers, each with the name. */
function headerMistakes(names: readonly string[]): readonly (readonly [string, string])[] {
  const before = new Map<string, string>();
  const mistakes: [string, string][] = [];
  for (const header of names) {
    const plain = header.toLowerCase();
    const twin = before.get(plain);
    before.set(plain, twin ?? header);
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(header))
      mistakes.push([
        header,
        'this is no name of a header: expected letters, digits and "-", without a colon or blank',
      ]);
    else if (ofConnection.has(plain))
      mistakes.push([header, 'the gateway makes this header itself, for each connection or message: leave it out']);
    else if (twin !== undefined)
      mistakes.push([header, `this is the same header as ${JSON.stringify(twin)}, and only one of them would be sent`]);
  }
  return mistakes;
}

function noServer(name: string, { mcpServers }: Options): string {
  const meant = nearestOf(name, Object.keys(mcpServers));
  return `there is no server "${name}" under mcpServers${meant === undefined ? '' : ` (did you mean "${meant}"?)`}`;
}

/** Why the authorization server cannot run at this address: passwords and tokens that go in the clear can be read on the way. */
function serverAddressProblem(publicUrl: string | undefined, issuers: readonly string[]): string | undefined {
  if (publicUrl === undefined)
    return 'an authorization server needs `publicUrl`, the address that its users and clients know';
  if (!publicUrl.startsWith('https:') && !/^http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:|$)/.test(publicUrl))
    return 'an authorization server needs a `publicUrl` of https://, unless it is of this machine';
  return issuers.includes(publicUrl) ? '`publicUrl` is this server itself, and not another issuer' : undefined;
}

/** Problems of `credentials` of a server; a token that goes in the clear can be read on the way. */
function credentialsProblem({ url, credentials, headers }: Options['mcpServers'][string]): string | undefined {
  if (credentials === undefined) return undefined;
  if (url === undefined) return 'credentials are shown to a server at a `url`; a program is given its own in `env`';
  if (!/^(https|wss):/.test(url) && !/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(new URL(url).hostname))
    return 'credentials are sent over TLS alone: the `url` has to be https://, unless it is of this machine';
  if (Object.keys(headers).some((header) => header.toLowerCase() === 'authorization'))
    return '`credentials` does not go with a header `Authorization` in `headers`, which says already in whose name the server is called';
  if (credentials.kind === 'aws') return undefined;
  const { clientSecret, privateKey, assertionFile } = { assertionFile: undefined, ...credentials };
  const shown = Object.entries({ clientSecret, privateKey, assertionFile })
    .filter(([, value]) => value !== undefined)
    .map(([option]) => option);
  if (credentials.kind === 'oauth' && credentials.clientId === undefined && shown.length > 0)
    return `\`${shown[0] as string}\` is the secret of a client that is registered already: set its \`clientId\` too, or leave both out, so that the gateway registers itself`;
  if (credentials.kind === 'client' && shown.length !== 1)
    return 'expected one of `clientSecret`, `privateKey` and `assertionFile`';
  if (credentials.clientAuthentication !== undefined && clientSecret === undefined)
    return '`clientAuthentication` says how `clientSecret` is shown, and there is none';
  if (shown.length > 1) return 'expected either `clientSecret` or `privateKey`';
  return shown.length === 0 || credentials.issuer !== undefined
    ? undefined
    : `\`${shown[0] as string}\` needs \`issuer\`, the one that it is for: without it, it is shown to whichever issuer the server names`;
}
