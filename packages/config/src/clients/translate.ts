/** Translates a client's entry for a server into one of Omnibus, and lists what has no counterpart, so that nothing is lost silently. */
import { isMap } from './recognize.ts';
import type { Client } from './table.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Something about one option of an entry, for whoever wrote it. */
interface Remark {
  readonly option: string;
  readonly text: string;
}

export interface Translated {
  readonly server: Record<string, unknown>;
  /** By option of `server`: what the client calls it. */
  readonly calledBefore: Readonly<Record<string, string>>;
  /** Options that have no effect here, or whose effect the user should know. */
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
  'settings',
  'required',
  'initializationOptions',
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

const types: Readonly<Record<string, string>> = {
  local: 'stdio',
  remote: 'http',
  streamable_http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  streamableHTTP: 'http',
  builtin: 'builtin',
};

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
  for (const [option, value] of Object.entries(entry)) {
    const special = Object.hasOwn(specials, option) ? specials[option] : undefined;
    if (value === null) notes.push({ option, text: 'the option has no value' });
    else if (special !== undefined)
      special({
        client,
        value,
        entry,
        server,
        set: (to, what) => set(to, what, option),
        note: (text) => notes.push({ option, text }),
        lose: (text) => losses.push({ option, text }),
      });
    else if (Object.hasOwn(renamed, option)) set(renamed[option] as string, value, option);
    else if (words.has(option)) continue;
    else if (clientsOwn.has(option))
      notes.push({ option, text: `an option of ${client.name} for its own use, which has no effect here` });
    else server[option] = value;
  }
  if (typeof server['type'] === 'string' && Object.hasOwn(types, server['type']))
    server['type'] = types[server['type']] as string;
  // Gemini CLI writes `httpUrl` for Streamable HTTP and `url` for either transport; where an entry has both, `httpUrl` is meant.
  if (Object.hasOwn(entry, 'httpUrl')) server['url'] = entry['httpUrl'];
  if (Array.isArray(server['command']))
    [server['command'], server['args']] = [server['command'][0], server['command'].slice(1)];
  if (server['type'] === 'builtin' || server['type'] === 'platform')
    losses.push({ option: 'type', text: `it is built into ${client.name}, and runs nowhere else` });
  return { server, calledBefore, notes, losses };
}

interface Special {
  readonly client: Client;
  readonly value: unknown;
  readonly entry: Entry;
  readonly server: Record<string, unknown>;
  readonly set: (option: string, value: unknown) => void;
  readonly note: (text: string) => void;
  readonly lose: (text: string) => void;
}

const seconds = ({ value, set }: Special, option: string): void =>
  set(option, typeof value === 'number' ? `${value}s` : value);
const merged = (server: Record<string, unknown>, option: string, more: object): object => ({
  ...(isMap(server[option]) ? server[option] : {}),
  ...more,
});

/** Options whose value has to be translated, not only their name. */
const specials: Readonly<Record<string, (given: Special) => void>> = {
  // A number of 1000 or more is not meant as seconds (a quarter of an hour): it was written for a client that counts milliseconds, or for Omnibus.
  timeout: ({ client, value, set }) =>
    set(
      'timeout',
      typeof value !== 'number' || client.timeoutUnit === undefined
        ? value
        : client.timeoutUnit === 's' && value < 1_000
          ? `${value}s`
          : `${value}ms`,
    ),
  tool_timeout_sec: (given) => seconds(given, 'timeout'),
  startup_timeout_sec: (given) => seconds(given, 'connectTimeout'),
  startup_timeout_ms: ({ value, set }) => set('connectTimeout', typeof value === 'number' ? `${value}ms` : value),
  connectionTimeout: ({ value, set }) => set('connectTimeout', typeof value === 'number' ? `${value}ms` : value),
  enabled: ({ value, set }) => set('disabled', typeof value === 'boolean' ? !value : value),
  isActive: ({ value, set }) => set('disabled', typeof value === 'boolean' ? !value : value),
  tools: ({ value, set }) => set(Array.isArray(value) ? 'includeTools' : 'tools', value),
  env_vars: ({ value, server, set, lose }) => {
    const names = Array.isArray(value) ? value.map((each: unknown) => (isMap(each) ? each['name'] : each)) : [];
    if (names.length === 0 || !names.every((name) => typeof name === 'string'))
      lose('expected a list of names of variables');
    else set('env', merged(server, 'env', Object.fromEntries(names.map((name) => [name, `\${${name}}`]))));
  },
  bearer_token_env_var: ({ value, server, set }) =>
    set('headers', merged(server, 'headers', { Authorization: `Bearer \${${String(value)}}` })),
  env_http_headers: ({ value, server, set }) =>
    set(
      'headers',
      merged(
        server,
        'headers',
        isMap(value)
          ? Object.fromEntries(Object.entries(value).map(([name, variable]) => [name, `\${${String(variable)}}`]))
          : {},
      ),
    ),
  requestOptions: ({ value, server, set, lose }) => {
    if (isMap(value) && isMap(value['headers'])) set('headers', merged(server, 'headers', value['headers']));
    for (const option of isMap(value) ? Object.keys(value).filter((each) => each !== 'headers') : [])
      lose(`requestOptions.${option} has no counterpart here`);
  },
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
  },
  headersHelper: ({ lose }) =>
    lose(
      'a program that makes headers is not supported here: write them under `headers`, with "${NAME}" or "${file:path}" for what is secret',
    ),
  oauth: ({ note }) =>
    note(
      'there the client signs in at the server in a browser; here, `credentials: { kind: oauth }` does that, or a token under `headers`',
    ),
  auth: ({ value, note, lose }) => {
    if (value === 'oauth' || isMap(value))
      note(
        'there the client signs in at the server in a browser; here, `credentials: { kind: oauth }` does that, or a token under `headers`',
      );
    else lose('the option has no counterpart here: write what the server expects under `headers`');
  },
  sampling: ({ note }) =>
    note('the option has no effect here: each connected client declares whether a server may ask it for sampling'),
  sandbox: ({ lose }) =>
    lose('there is no sandbox here: run the server in a container, and write the command that starts it'),
};
