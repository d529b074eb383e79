/** What a client's entry for a server says, in the words of Omnibus; and what of it cannot be said, so that nothing is lost in silence. */
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
  /** Means nothing here, or something that somebody should know. */
  readonly notes: readonly Remark[];
  /** Would be lost, and the server would be another one. */
  readonly losses: readonly Remark[];
}

/** What a client keeps beside a server for itself: how it shows it, whether it asks its user before a call, when it starts it. */
const clientsOwn = new Set(['autoApprove', 'alwaysAllow', 'auto_approve', 'trust', 'gallery', 'version', 'icon', 'iconPath', 'dev', 'alwaysLoad', 'autoStart', 'watchPaths', 'registryUrl', 'settings', 'required', 'initializationOptions']);
/** What says nothing of how the server behaves. */
const words = new Set(['source', 'name', 'id', 'displayName', 'display_name', 'tags', 'logoUrl', 'faviconUrl', 'provider', 'bundled']);

/** Other names of options of ours. */
const renamed: Readonly<Record<string, string>> = {
  serverUrl: 'url', httpUrl: 'url', uri: 'url', transport: 'type', transportType: 'type', kind: 'type', environment: 'env', envs: 'env', envFilePath: 'envFile',
  cmd: 'command', workingDirectory: 'cwd', working_directory: 'cwd', disabledTools: 'excludeTools', disabled_tools: 'excludeTools', enabledTools: 'includeTools', enabled_tools: 'includeTools',
};

const types: Readonly<Record<string, string>> = {
  'local': 'stdio', 'remote': 'http', 'streamable_http': 'http', 'streamable-http': 'http', 'streamableHttp': 'http', 'streamableHTTP': 'http', 'builtin': 'builtin',
};

/** Translates one entry. What it says in our words already stays as it is. */
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
    if (value === null) notes.push({ option, text: 'nothing stands there' });
    else if (special !== undefined) special({ client, value, entry, server, set: (to, what) => set(to, what, option), note: (text) => notes.push({ option, text }), lose: (text) => losses.push({ option, text }) });
    else if (Object.hasOwn(renamed, option)) set(renamed[option] as string, value, option);
    else if (words.has(option)) continue;
    else if (clientsOwn.has(option)) notes.push({ option, text: `it is ${client.name}'s own, and means nothing here` });
    else server[option] = value;
  }
  if (typeof server['type'] === 'string' && Object.hasOwn(types, server['type'])) server['type'] = types[server['type']] as string;
  // Of a client that has both, the one that says Streamable HTTP is meant, and the other may be either.
  if (Object.hasOwn(entry, 'httpUrl')) server['url'] = entry['httpUrl'];
  if (Array.isArray(server['command'])) [server['command'], server['args']] = [server['command'][0], server['command'].slice(1)];
  if (server['type'] === 'builtin' || server['type'] === 'platform') losses.push({ option: 'type', text: `it is a part of ${client.name} itself, which runs nowhere else` });
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

const seconds = ({ value, set }: Special, option: string): void => set(option, typeof value === 'number' ? `${value}s` : value);
const merged = (server: Record<string, unknown>, option: string, more: object): object => ({ ...(isMap(server[option]) ? server[option] : {}), ...more });

/** Options whose value is said otherwise. */
const specials: Readonly<Record<string, (given: Special) => void>> = {
  // Nobody means a quarter of an hour and more in seconds: such a number was written for a client that counts milliseconds, or for Omnibus.
  'timeout': ({ client, value, set }) => set('timeout', typeof value !== 'number' || client.timeoutUnit === undefined ? value : client.timeoutUnit === 's' && value < 1_000 ? `${value}s` : `${value}ms`),
  'tool_timeout_sec': (given) => seconds(given, 'timeout'),
  'startup_timeout_sec': (given) => seconds(given, 'connectTimeout'),
  'startup_timeout_ms': ({ value, set }) => set('connectTimeout', typeof value === 'number' ? `${value}ms` : value),
  'connectionTimeout': ({ value, set }) => set('connectTimeout', typeof value === 'number' ? `${value}ms` : value),
  'enabled': ({ value, set }) => set('disabled', typeof value === 'boolean' ? !value : value),
  'isActive': ({ value, set }) => set('disabled', typeof value === 'boolean' ? !value : value),
  'tools': ({ value, set }) => set(Array.isArray(value) ? 'includeTools' : 'tools', value),
  'env_vars': ({ value, server, set, lose }) => {
    const names = Array.isArray(value) ? value.map((each: unknown) => (isMap(each) ? each['name'] : each)) : [];
    if (names.length === 0 || !names.every((name) => typeof name === 'string')) lose('expected a list of names of variables');
    else set('env', merged(server, 'env', Object.fromEntries(names.map((name) => [name, `\${${name}}`]))));
  },
  'bearer_token_env_var': ({ value, server, set }) => set('headers', merged(server, 'headers', { Authorization: `Bearer \${${String(value)}}` })),
  'env_http_headers': ({ value, server, set }) => set('headers', merged(server, 'headers', isMap(value) ? Object.fromEntries(Object.entries(value).map(([name, variable]) => [name, `\${${String(variable)}}`])) : {})),
  'requestOptions': ({ value, server, set, lose }) => {
    if (isMap(value) && isMap(value['headers'])) set('headers', merged(server, 'headers', value['headers']));
    for (const option of isMap(value) ? Object.keys(value).filter((each) => each !== 'headers') : []) lose(`requestOptions.${option} has no counterpart here`);
  },
  'headers': ({ value, server, set }) => set('headers', isMap(value) ? merged(server, 'headers', value) : value),
  'env': ({ value, server, set }) => set('env', isMap(value) ? merged(server, 'env', value) : value),
  'http_headers': ({ value, server, set }) => set('headers', merged(server, 'headers', isMap(value) ? value : {})),
  'command': ({ value, set, server }) => {
    // As Zed wrote it once.
    if (!isMap(value)) set('command', value);
    else for (const [from, to] of [['path', 'command'], ['args', 'args'], ['env', 'env']] as const) if (value[from] !== undefined && value[from] !== null) server[to] = value[from];
  },
  'headersHelper': ({ lose }) => lose('a program that makes headers is not run here: write them under `headers`, with "${NAME}" or "${file:path}" for what is secret'),
  'oauth': ({ note }) => note('signing in to a server in a browser is done by the client there; where this server wants it, give it a token under `headers`'),
  'auth': ({ value, note, lose }) => {
    if (value === 'oauth' || isMap(value)) note('signing in to a server in a browser is done by the client there; where this server wants it, give it a token under `headers`');
    else lose('it has no counterpart here: write what the server wants under `headers`');
  },
  'sampling': ({ note }) => note('whether a server may ask for sampling is said by the client that is connected'),
  'sandbox': ({ lose }) => lose('programs are not kept in a sandbox here: run the server in a container, and give the command that starts it'),
};
