/** Mistakes that only show where several options are looked at together. */
import type { z } from 'zod';
import { nearestOf } from './nearest.ts';
import type { Options } from './schema.ts';
import { serverTlsProblem } from './server-tls-schema.ts';
import { templatesProblem, usersProblem } from './users.ts';

/** Reports what single options cannot tell: options that need or exclude each other. */
export function checkAcross(config: Options, context: z.RefinementCtx): void {
  if (
    config.auth !== undefined &&
    config.auth !== 'none' &&
    config.auth.issuers.length > 0 &&
    config.publicUrl === undefined
  ) {
    context.addIssue({
      code: 'custom',
      message: 'tokens of issuers need `publicUrl`, the address that they are for',
      path: ['auth', 'issuers'],
    });
  }
  const isItself = ({ issuer }: { readonly issuer: string }): boolean => issuer.replace(/\/$/, '') === config.publicUrl;
  if (
    config.auth !== undefined &&
    config.auth !== 'none' &&
    config.auth.server === undefined &&
    config.auth.issuers.some(isItself)
  ) {
    context.addIssue({
      code: 'custom',
      message:
        '`publicUrl` is the gateway itself, which makes no tokens: name the authorization server that does, or let the gateway run one (`server`)',
      path: ['auth', 'issuers'],
    });
  }
  if (
    config.auth !== undefined &&
    config.auth !== 'none' &&
    config.auth.admin?.clientId !== undefined &&
    (config.auth.server !== undefined || config.auth.issuers.length === 0)
  ) {
    context.addIssue({
      code: 'custom',
      message: `the console signs in ${config.auth.server === undefined ? 'nowhere: name `issuers`' : 'at the gateway itself (`server`), where it registers by itself'}`,
      path: ['auth', 'admin', 'clientId'],
    });
  }
  if (config.auth !== undefined && config.auth !== 'none' && config.auth.server !== undefined) {
    const problem = serverAddressProblem(
      config.publicUrl,
      config.auth.issuers.map(({ issuer }) => issuer),
    );
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem, path: ['auth', 'server'] });
  }
  if (
    config.auth !== undefined &&
    config.auth !== 'none' &&
    config.auth.stepUp.length > 0 &&
    config.auth.issuers.length === 0 &&
    config.auth.server === undefined
  ) {
    context.addIssue({
      code: 'custom',
      message:
        'scopes are of tokens: name `issuers`, or run a `server`; an API key is made for certain tools by `omnibus keys create --tool`',
      path: ['auth', 'stepUp'],
    });
  }
  if (
    config.auth !== undefined &&
    config.auth !== 'none' &&
    config.auth.stepUp.length > 0 &&
    config.auth.scopes.length === 0
  ) {
    context.addIssue({
      code: 'custom',
      message:
        'set `scopes` too, to what every token has, such as [mcp]: a client that is told of no scope to begin with asks for all of these at once',
      path: ['auth', 'stepUp'],
    });
  }
  if (
    config.auth !== undefined &&
    config.auth !== 'none' &&
    config.auth.kubernetes !== undefined &&
    config.publicUrl === undefined &&
    config.auth.audience.length === 0
  ) {
    context.addIssue({
      code: 'custom',
      message: 'tokens of service accounts need `publicUrl`, the address that they are for, or `audience`',
      path: ['auth', 'kubernetes'],
    });
  }
  if (
    config.auth !== undefined &&
    config.auth !== 'none' &&
    config.auth.clientCertificates !== undefined &&
    config.tls === undefined
  ) {
    context.addIssue({
      code: 'custom',
      message: 'certificates of clients need `tls`, over which they are shown',
      path: ['auth', 'clientCertificates'],
    });
  }
  if (config.listen === config.admin && !config.listen.endsWith(':0'))
    context.addIssue({
      code: 'custom',
      message: 'clients connect to this address already (`listen`): choose another port',
      path: ['admin'],
    });
  for (const [serverName, settings] of Object.entries(config.mcpServers)) {
    const problem = (message: string, ...path: (string | number)[]): void => {
      context.addIssue({ code: 'custom', message, path: ['mcpServers', serverName, ...path] });
    };
    if (settings.command !== undefined && /^[\w.-]+\s+\S/.test(settings.command)) {
      const [program, ...args] = settings.command.trim().split(/\s+/);
      problem(
        `expected a program alone: write command: ${program as string} and args: ${JSON.stringify([...args, ...settings.args])}`,
        'command',
      );
    }
    for (const [option, text] of [
      ['command', settings.command],
      ['cwd', settings.cwd],
      ...settings.args.map((arg, index) => [index, arg] as const),
    ] as const) {
      if (text === undefined || !/^[A-Za-z]:[^/]*[\b\t\n\v\f\r]/.test(text)) continue;
      problem(
        'this Windows path contains a control character, because "\\t", "\\n" and the like stand for one in double quotes; write \\\\ for each backslash, or use /',
        ...(typeof option === 'number' ? ['args', option] : [option]),
      );
    }
    if (settings.command === undefined && settings.url === undefined)
      problem('expected "command" (a program to start) or "url" (a server to connect to)');
    if (settings.sandbox !== undefined && settings.command === undefined)
      problem('a sandbox is for a program that the gateway starts ("command")', 'sandbox');
    if (settings.sandbox?.network === false && settings.command !== undefined && settings.url !== undefined)
      problem(
        'without network, nobody can connect to the "url" that the program serves: set "network: true"',
        'sandbox',
      );
    if (settings.type === 'stdio' && settings.command === undefined) problem('type "stdio" needs "command"', 'type');
    if (settings.type === 'stdio' && settings.url !== undefined)
      problem(
        'type "stdio" does not go with "url": leave out "url" for a program on stdin and stdout, or "type" for a program that serves this address',
        'url',
      );
    const isWebSocket = settings.url !== undefined && /^wss?:/.test(settings.url);
    if (
      settings.type !== undefined &&
      settings.url !== undefined &&
      isWebSocket !== (settings.type === 'websocket' || settings.type === 'ws')
    )
      problem(`type "${settings.type}" does not go with this "url"`, 'type');
    if (isWebSocket && settings.command !== undefined)
      problem(
        'a program that serves a WebSocket cannot be started; start it yourself and leave out "command"',
        'command',
      );
    if (settings.type === 'sse' && settings.command !== undefined)
      problem('a program that serves HTTP+SSE cannot be started; start it yourself and leave out "command"', 'command');
    if (settings.type !== undefined && settings.type !== 'stdio' && settings.url === undefined)
      problem(`type "${settings.type}" needs "url"`, 'type');
    const ofTls = settings.tls === undefined ? undefined : serverTlsProblem(settings.url, settings.tls);
    if (ofTls !== undefined) problem(ofTls, 'tls');
    for (const [header, mistake] of headerMistakes(Object.keys(settings.headers))) problem(mistake, 'headers', header);
    const mistake = credentialsProblem(settings) ?? usersProblem(settings, config);
    if (mistake !== undefined) problem(mistake, 'credentials');
    const ofHeader = templatesProblem(settings, config);
    if (ofHeader !== undefined) problem(ofHeader.problem, 'headers', ofHeader.header);
  }
  for (const [profileName, settings] of Object.entries(config.profiles)) {
    const problem = (message: string, ...path: (string | number)[]): void => {
      context.addIssue({ code: 'custom', message, path: ['profiles', profileName, ...path] });
    };
    if (Object.hasOwn(config.mcpServers, profileName))
      problem(`a server has this name already, and /mcp/${profileName} can be only one of them`);
    settings.servers?.forEach((serverName, index) => {
      if (!Object.hasOwn(config.mcpServers, serverName)) problem(noServer(serverName, config), 'servers', index);
    });
    for (const option of ['rename', 'pin'] as const) {
      for (const key of Object.keys(settings[option])) {
        const serverName = key.split('/', 1)[0] as string;
        if (!key.includes('/') || !Object.hasOwn(config.mcpServers, serverName))
          problem('expected `server/tool` with a server of mcpServers', option, key);
      }
    }
    const renamedTo = new Map<string, string>();
    for (const [key, to] of Object.entries(settings.rename)) {
      const other = renamedTo.get(to);
      renamedTo.set(to, other ?? key);
      if (other !== undefined)
        problem(`${other} has this new name already, and two tools of one name cannot be told apart`, 'rename', key);
      else if (!/^[A-Za-z0-9_.-]{1,128}$/.test(to))
        problem('expected 1 to 128 characters of letters, digits, "_", "-" and "."', 'rename', key);
    }
  }
}

/** Headers that belong to one connection or message, and are made for each (RFC 9110, 7.6.1 and 8.6). */
const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/** What is wrong with the names of headers, each with the name. */
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

/** What is wrong with `credentials` of a server; a token that goes in the clear can be read on the way. */
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
