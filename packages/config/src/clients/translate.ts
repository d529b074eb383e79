/** Translates a client's entry for a server into one of Omnibus, and lists parts without a counterpart, so that nothing is lost silently. */
import { isMap, textsIn, type Values } from '../values.ts';
import { each, inUnit, own, type Client, type Special } from './client.ts';

type Entry = Values;

/** A remark about one option of an entry, for its author. */
interface Remark {
  readonly option: string;
  readonly text: string;
}

export interface Translated {
  readonly server: Record<string, unknown>;
  /** By option of `server`: the client's name for it. */
  readonly calledBefore: Readonly<Record<string, string>>;
  /** Options without effect here, or with an effect that the user should know. */
  readonly notes: readonly Remark[];
  /** Options that cannot be expressed here and without which the server would behave differently. */
  readonly losses: readonly Remark[];
}

/** Options by which a client controls itself: how it shows a server, whether it asks its user before a call, when it starts the server. */
const clientsOwn = new Set([
  'autoApprove',
  'alwaysAllow',
  'auto_approve',
  'trust',
  'gallery',
  'version',
  'icon',
  'iconPath',
  'dev',
  'alwaysLoad',
  'autoStart',
  'watchPaths',
  'registryUrl',
  'required',
  'initializationOptions',
  'chatMenu',
  'startup',
  'serverInstructions',
  'stderr',
  'keep_alive',
  'keepAlive',
  'supports_parallel_tool_calls',
  'default_tools_approval_mode',
  'useInstructions',
  'disableStandardInput',
  'start_on_launch',
  'remoteConfigured',
  'error_status',
]);
/** Descriptive options, which have no effect on how the server behaves. They are left out without a remark. */
const words = new Set([
  'source',
  'name',
  'id',
  'displayName',
  'display_name',
  'tags',
  'logoUrl',
  'faviconUrl',
  'provider',
  'bundled',
  'title',
  'mcp_info',
  'alias',
  'owner',
  'fromGalleryId',
]);

/** Names that clients use for options of Omnibus. */
const renamed: Readonly<Record<string, string>> = {
  serverUrl: 'url',
  httpUrl: 'url',
  uri: 'url',
  transport: 'type',
  transportType: 'type',
  kind: 'type',
  environment: 'env',
  envs: 'env',
  envFilePath: 'envFile',
  cmd: 'command',
  workingDirectory: 'cwd',
  working_directory: 'cwd',
  disabledTools: 'excludeTools',
  disabled_tools: 'excludeTools',
  enabledTools: 'includeTools',
  enabled_tools: 'includeTools',
};

/** Transports by the clients' names for them, in small letters and without signs. */
const types: Readonly<Record<string, string>> = {
  local: 'stdio',
  stdio: 'stdio',
  remote: 'http',
  http: 'http',
  streamable: 'http',
  streamablehttp: 'http',
  httpstream: 'http',
  sse: 'sse',
  websocket: 'websocket',
  ws: 'websocket',
};
const typeOf = (given: string): string => {
  const plain = given.toLowerCase().replaceAll(/[-_ ]/g, '');
  return Object.hasOwn(types, plain) ? (types[plain] as string) : given;
};

/** Some clients keep a part of an entry under `transport`, beside the transport's name. */
function unfolded(entry: Entry): Entry {
  const { transport, ...rest } = entry;
  return isMap(transport) ? { ...rest, ...transport } : entry;
}

/** Translates one entry. Options that Omnibus knows by the same name stay as they are. */
export function translateEntry(client: Client, entry: Entry): Translated {
  const server: Record<string, unknown> = {};
  const calledBefore: Record<string, string> = {};
  const notes: Remark[] = [];
  const losses: Remark[] = [];
  const set = (option: string, value: unknown, before: string): void => {
    server[option] = value;
    if (option !== before) calledBefore[option] = before;
  };
  for (const [option, value] of Object.entries(unfolded(entry))) {
    const special =
      client.options?.[option] ??
      (Object.hasOwn(specials, option) ? specials[option] : clientsOwn.has(option) ? own : undefined);
    if (value === null) notes.push({ option, text: 'the option has no value' });
    else if (special !== undefined)
      special({
        client,
        value,
        entry,
        server,
        set: (to, what) => set(to, what, option),
        note: (text, at = option) => notes.push({ option: at, text }),
        lose: (text) => losses.push({ option, text }),
      });
    else if (Object.hasOwn(renamed, option)) {
      const to = renamed[option] as string;
      set(to, to === 'env' && isMap(value) ? merged(server, to, value) : value, option);
    } else if (!words.has(option)) server[option] = value;
  }
  if (typeof server['type'] === 'string') server['type'] = typeOf(server['type']);
  // Gemini CLI writes `httpUrl` for Streamable HTTP and `url` for either transport; where an entry has both, `httpUrl` is meant.
  if (Object.hasOwn(entry, 'httpUrl')) server['url'] = entry['httpUrl'];
  if (Array.isArray(server['command']))
    [server['command'], server['args']] = [server['command'][0], server['command'].slice(1)];
  if (isBuiltIn(server) && server['disabled'] !== true)
    losses.push({ option: 'type', text: `it is built into ${client.name}, and runs nowhere else` });
  for (const option of ['env', 'headers'])
    if (isMap(server[option]))
      server[option] = textsOnly(server[option], (name) =>
        notes.push({ option: calledBefore[option] ?? option, text: `${name} has no value, so it is not set` }),
      );
  return { server, calledBefore, notes, losses };
}

/** Whether a server is a part of its client, and no program or address. */
export const isBuiltIn = ({ type }: Values): boolean =>
  type === 'builtin' || type === 'platform' || type === 'frontend' || type === 'inline_python';

/** Environment variables and headers are texts: a number or truth value means its text, and null that there is none. */
function textsOnly(given: Values, unset: (name: string) => void): Values {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      if (value === null) {
        unset(name);
        return [];
      }
      return [[name, typeof value === 'number' || typeof value === 'boolean' ? String(value) : value] as const];
    }),
  );
}

export const merged = (server: Record<string, unknown>, option: string, more: object): object => ({
  ...(isMap(server[option]) ? server[option] : {}),
  ...more,
});

/** Adds a header that an option of another name stands for. */
export const header = ({ server, set }: Special, name: string, text: string): void =>
  set('headers', merged(server, 'headers', { [name]: text }));

/** A token, as every program writes it into the header. What is no text is no token. */
export const bearer = (given: Special): void => {
  if (typeof given.value !== 'string')
    return given.lose('expected a token as a text: write what the server expects under `headers`');
  const token = given.value.replace(/^bearer\s+/i, '');
  if (token !== '') header(given, 'Authorization', `Bearer ${token}`);
};

/** Words for a kind of authentication, which are no tokens themselves. */
const kindOfAuth = /^(none|bearer|basic|api_?-?key|token|header|oauth2?)$/i;

/** Options with a value that needs translation, not only their name. */
const specials: NonNullable<Client['options']> = {
  // A number above 3600 is not meant as seconds: clients that count them take an hour at most. It was written for a client that counts milliseconds, or for Omnibus.
  timeout: ({ client, value, set, note }) => {
    if (typeof value !== 'number' || client.timeoutUnit === undefined) return set('timeout', value);
    const isOfSeconds = client.timeoutUnit === 's';
    if (isOfSeconds && value <= 3_600) return set('timeout', `${value}s`);
    set('timeout', `${value}ms`);
    if (isOfSeconds)
      note(`more than an hour in seconds is read as milliseconds; if seconds are meant, write "${value}s"`);
  },
  tool_timeout_sec: inUnit('timeout', 's'),
  startup_timeout_sec: inUnit('connectTimeout', 's'),
  startup_timeout_ms: inUnit('connectTimeout', 'ms'),
  connectionTimeout: inUnit('connectTimeout', 'ms'),
  ...each(['enabled', 'isActive', 'active'], ({ value, set }) =>
    set('disabled', typeof value === 'boolean' ? !value : value),
  ),
  tools: ({ client, value, server, set, note }) => {
    if (Array.isArray(value)) return set('includeTools', value);
    if (!isMap(value)) return set('tools', value);
    const kept: Record<string, unknown> = {};
    for (const [tool, settings] of Object.entries(value)) {
      if (!isMap(settings)) kept[tool] = settings;
      else {
        const { timeout, maxTime, enabled, ...others } = settings;
        if (enabled === false) server['excludeTools'] = [...textsIn(server['excludeTools']), tool];
        if (timeout !== undefined || maxTime !== undefined)
          kept[tool] = { ...(timeout === undefined ? {} : { timeout }), ...(maxTime === undefined ? {} : { maxTime }) };
        for (const option of Object.keys(others))
          note(
            option === 'approval_mode'
              ? `tools.${tool}.${option}: ${client.name} asks its user by it, which has no effect here; rules with \`ask\` do that (docs/how-to/policy.md)`
              : `tools.${tool}.${option} is not taken over: the tool is offered as the server describes it`,
          );
      }
    }
    if (Object.keys(kept).length > 0) set('tools', kept);
  },
  excludeTools: ({ value, server, set }) =>
    set('excludeTools', Array.isArray(value) ? [...textsIn(server['excludeTools']), ...(value as unknown[])] : value),
  available_tools: ({ value, set }) => {
    // None means all of them.
    if (!Array.isArray(value) || value.length > 0) set('includeTools', value);
  },
  env_keys: ({ client, value, server, set, note, lose }) => {
    if (!Array.isArray(value) || !value.every((each) => typeof each === 'string'))
      return lose('expected a list of names of variables');
    const own = isMap(server['env']) ? server['env'] : {};
    const missing = value.filter((each) => !Object.hasOwn(own, each));
    if (missing.length === 0) return;
    set('env', { ...own, ...Object.fromEntries(missing.map((each) => [each, `\${env:${each}}`])) });
    note(
      `${client.name} keeps ${missing.join(', ')} in its own store; here ${missing.length === 1 ? 'it is taken from the environment variable' : 'they are taken from the environment variables'} of that name`,
    );
  },
  read_timeout_seconds: inUnit('timeout', 's'),
  initTimeout: inUnit('connectTimeout', 'ms'),
  env_vars: ({ value, server, set, lose }) => {
    const names = Array.isArray(value) ? value.map((each: unknown) => (isMap(each) ? each['name'] : each)) : [];
    if (names.length === 0 || !names.every((name) => typeof name === 'string'))
      lose('expected a list of names of variables');
    else set('env', merged(server, 'env', Object.fromEntries(names.map((name) => [name, `\${env:${name}}`]))));
  },
  ...each(['bearerToken', 'auth_token', 'authToken'], (given) => bearer(given)),
  status: ({ value, set, lose }) => {
    if (value === 'INACTIVE') set('disabled', true);
    else if (value !== 'ACTIVE') lose('the option has no counterpart here');
  },
  bearer_token_env_var: (given) => header(given, 'Authorization', `Bearer \${env:${String(given.value)}}`),
  env_http_headers: ({ value, server, set }) =>
    set(
      'headers',
      merged(
        server,
        'headers',
        isMap(value)
          ? Object.fromEntries(Object.entries(value).map(([name, variable]) => [name, `\${env:${String(variable)}}`]))
          : {},
      ),
    ),
  requestOptions: (given) => headersOf(given, 'requestOptions'),
  requestInit: (given) => headersOf(given, 'requestInit'),
  headers: ({ value, server, set }) => set('headers', isMap(value) ? merged(server, 'headers', value) : value),
  env: ({ value, server, set }) => set('env', isMap(value) ? merged(server, 'env', value) : value),
  http_headers: ({ value, server, set }) => set('headers', merged(server, 'headers', isMap(value) ? value : {})),
  command: ({ value, set, server }) => {
    // Older versions of Zed wrote the program as a map with `path`, `args` and `env`.
    if (!isMap(value)) set('command', value);
    else
      for (const [from, to] of [
        ['path', 'command'],
        ['args', 'args'],
        ['env', 'env'],
      ] as const)
        if (value[from] !== undefined && value[from] !== null) server[to] = value[from];
    if (isMap(value) && typeof value['timeout'] === 'number') server['timeout'] = `${value['timeout']}ms`;
  },
  settings: (given) => {
    const { client, entry } = given;
    if (entry['command'] !== undefined || entry['url'] !== undefined) own(given);
    else
      given.lose(
        `the program comes with an extension of ${client.name}, which alone knows its command: write \`command\` and \`args\`, as the pages of the server name them`,
      );
  },
  headersHelper: ({ lose }) =>
    lose(
      'a program that makes headers is not supported here: write them under `headers`, with "${NAME}" or "${file:path}" for what is secret',
    ),
  oauth: (given) => {
    // opencode and others: false means that there is no sign-in.
    if (given.value !== false) signIn(given, isMap(given.value) ? given.value : {});
  },
  auth: (given) => {
    const { value, lose } = given;
    const token = isMap(value) && value['type'] === 'bearer' ? value['token'] : value;
    if (value === 'oauth' || (isMap(value) && typeof token !== 'string')) signIn(given, isMap(value) ? value : {});
    else if (typeof token === 'string' && !kindOfAuth.test(token)) bearer({ ...given, value: token });
    else if (value !== false) lose('the option has no counterpart here: write what the server expects under `headers`');
  },
  ...each(['scopes', 'oauthScopes'], ({ value, server, set }) =>
    set('credentials', { kind: 'oauth', ...credentialsIn(server), scopes: value }),
  ),
  authProviderType: ({ client, value, lose }) => {
    if (value !== 'dynamic_discovery')
      lose(
        `${client.name} gets tokens for this server in a way of its own; here, \`credentials\` says how (docs/how-to/credentials.md)`,
      );
  },
  sampling: ({ note }) =>
    note('the option has no effect here: each connected client declares whether a server may ask it for sampling'),
  sandbox: ({ lose }) =>
    lose('it is written otherwise here: `sandbox` with what the program may use (docs/how-to/security.md)'),
};

/** Settings of a client for its requests, of which the headers are for the server. */
function headersOf({ value, server, set, lose }: Special, name: string): void {
  const { headers, ...others } = isMap(value) ? value : {};
  if (isMap(headers)) set('headers', merged(server, 'headers', headers));
  for (const option of Object.keys(others)) lose(`${name}.${option} has no counterpart here`);
}

const credentialsIn = (server: Values): Values => (isMap(server['credentials']) ? server['credentials'] : {});

/** Options of sign-in, by the clients' names for them. */
const clientIds = ['clientId', 'client_id', 'CLIENT_ID', 'clientID'];
const clientSecrets = ['clientSecret', 'client_secret', 'CLIENT_SECRET'];
const scopeLists = ['scope', 'scopes', 'oauthScopes', 'SCOPES'];
const callbacks = ['callbackPort', 'redirectUri', 'redirect_uri', 'callback_port', 'use_loopback'];

/** A client's credentials for the server, as `credentials`. */
function signIn({ server, set, note }: Special, given: Values): void {
  if (given['enabled'] === false) return;
  const first = (names: readonly string[]): unknown =>
    names.map((name) => given[name]).find((value) => value !== undefined && value !== null && value !== '');
  const [clientId, clientSecret, scope] = [first(clientIds), first(clientSecrets), first(scopeLists)];
  const scopes = typeof scope === 'string' ? scope.split(/[\s,]+/).filter((each) => each !== '') : textsIn(scope);
  const issuer = typeof given['issuer'] === 'string' ? given['issuer'] : undefined;
  const known = {
    ...(typeof clientId === 'string' ? { clientId } : {}),
    ...(scopes.length > 0 ? { scopes } : {}),
    ...(issuer === undefined ? {} : { issuer }),
  };
  const others = Object.keys(given).filter(
    (name) => ![...clientIds, ...clientSecrets, ...scopeLists, ...callbacks, 'issuer', 'enabled'].includes(name),
  );
  if (typeof clientSecret === 'string' && issuer === undefined)
    note(
      `a client secret is for one issuer alone, which this file does not name: write credentials: { kind: oauth${typeof clientId === 'string' ? `, clientId: ${JSON.stringify(clientId)}` : ''}, clientSecret: "\${file:path}"${scopes.length > 0 ? `, scopes: ${JSON.stringify(scopes)}` : ''}, issuer: "https://…" }`,
    );
  else if (Object.keys(known).length === 0)
    note(
      'there the client signs in at the server in a browser; here, `credentials: { kind: oauth }` does that, or a token under `headers`',
    );
  else {
    set('credentials', {
      kind: 'oauth',
      ...credentialsIn(server),
      ...known,
      ...(typeof clientSecret === 'string' ? { clientSecret } : {}),
    });
    if (typeof clientId === 'string')
      note(
        'the client is registered with the callback of another program: register that of the gateway too, `publicUrl`/connect/callback',
      );
  }
  if (others.length > 0)
    note(
      `${others.join(', ')}: not taken over; the gateway asks the server and its issuer (docs/how-to/credentials.md)`,
    );
}
