/** Agent programs and frameworks whose files hold servers among other settings: where the servers stand, and the meaning of their options. */
import { has, isMap, mapsIn, textsIn, type Values } from '../values.ts';
import { besideSpring, besideTheia } from './beside.ts';
import { as, each, inUnit, nameOfHost, nowhere, own, unsaid, type Client, type Found, type Special } from './client.ts';
import { bearer, header, merged } from './translate.ts';

/** `include` and `exclude` of a server's tools; a text stands for a list of one. With both, a tool is offered that `include` names and `exclude` does not. */
function selection({ value, set, note }: Special): void {
  const { include, exclude, ...others } = isMap(value) ? value : { include: value };
  const listOf = (given: unknown): readonly string[] => (typeof given === 'string' ? [given] : textsIn(given));
  if (listOf(include).length > 0) set('includeTools', listOf(include));
  if (listOf(exclude).length > 0) set('excludeTools', listOf(exclude));
  for (const [option, isOffered] of Object.entries(others))
    if (isOffered === false) note(`tools.${option}: whether ${option} are offered is said by a profile here`);
}

/** Spring AI: the connections of each transport, with addresses in two parts. */
function serversOfSpring(value: Values): readonly Found[] | undefined {
  const step = (here: unknown, name: string): unknown => (isMap(here) ? here[name] : undefined);
  const path = ['spring', 'ai', 'mcp', 'client'];
  const client = path.reduce<unknown>(step, value);
  if (!isMap(client)) return undefined;
  const limit = client['request-timeout'];
  return Object.entries({ stdio: 'stdio', sse: 'sse', 'streamable-http': 'http' }).flatMap(([key, type]) =>
    mapsIn(step(client[key], 'connections')).map(([name, entry]): Found => {
      const { endpoint, 'sse-endpoint': ofSse, ...rest } = entry;
      const [given, usual] = type === 'sse' ? [ofSse, '/sse'] : [endpoint, '/mcp'];
      const end = typeof given === 'string' ? given : usual;
      const url = typeof rest['url'] === 'string' ? { url: `${rest['url'].replace(/\/$/, '')}${end}` } : {};
      const whole = { type, ...(limit === undefined ? {} : { timeout: limit }), ...rest, ...url };
      return { name, path: [...path, key, 'connections', name], entry: whole };
    }),
  );
}

/** Tiny Agents: a list of servers without names; older files keep an entry under `config`, with its headers under `options`. */
function serversOfTinyAgents({ servers }: Values): readonly Found[] {
  return (Array.isArray(servers) ? servers : []).map((each: unknown, index): Found => {
    const { config, ...rest }: Values = isMap(each) ? each : {};
    const { options, ...inner }: Values = isMap(config) ? config : {};
    const entry = { ...rest, ...inner, ...(isMap(options) ? options : {}) };
    const text = [entry['url'], entry['command'], ...textsIn(entry['args'])].filter((word) => typeof word === 'string');
    return { name: nameFrom(text) ?? `server-${index + 1}`, path: ['servers', index], entry };
  });
}

/** A name by the host of an address, or by the package that a runner starts. */
function nameFrom([first = '', ...words]: readonly string[]): string | undefined {
  if (URL.canParse(first)) return nameOfHost(first);
  const named = words.find((word) => !word.startsWith('-')) ?? first;
  const name = named
    .replace(/^.*[/\\]/, '')
    .replace(/@.*$/, '')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-');
  return name === '' ? undefined : name;
}

export const agents: readonly Client[] = [
  {
    ...nowhere,
    id: 'hermes',
    name: 'Hermes Agent',
    keys: [['mcp_servers']],
    timeoutUnit: 's',
    known: /(^|\/)\.?hermes\/config\.ya?ml$/,
    hasOwnPath: true,
    marks: (value, format) =>
      format === 'yaml' &&
      !has(value, 'model_list', 'litellm_settings', 'general_settings') &&
      isMap(value['mcp_servers']) &&
      (has(value, 'model', 'toolsets', 'terminal') ||
        mapsIn(value['mcp_servers']).some(
          ([, entry]) => has(entry, 'connect_timeout', 'ssl_verify') || isMap(entry['tools']),
        )),
    replaces: ['braces'],
    options: {
      connect_timeout: inUnit('connectTimeout', 's'),
      tools: selection,
      ssl_verify: ({ value, lose, note }) => {
        if (typeof value === 'string') note(`authorities of its own: write tls: { caFile: ${value} }`);
        else if (value === false)
          lose('a certificate is always checked here: write tls: { caFile: FILE } for its authority');
      },
      client_cert: ({ note }) => note('a certificate for the server: write tls: { certFile: FILE, keyFile: FILE }'),
      client_key: unsaid,
    },
  },
  {
    ...nowhere,
    id: 'openclaw',
    name: 'OpenClaw',
    keys: [['mcp', 'servers']],
    known: /(^|\/)\.?openclaw(\/[^/]+)?\.json5?$/,
    hasOwnPath: true,
    marks: (value, format) =>
      format === 'json' &&
      isMap(value['mcp']) &&
      isMap(value['mcp']['servers']) &&
      (has(value, 'agents', 'channels') ||
        mapsIn(value['mcp']['servers']).some(([, entry]) =>
          has(entry, 'toolFilter', 'connectionTimeoutMs', 'requestTimeoutMs'),
        )),
    shares: ['agents'],
    replaces: ['braces'],
    options: {
      toolFilter: selection,
      connectionTimeoutMs: inUnit('connectTimeout', 'ms'),
      connectTimeout: inUnit('connectTimeout', 's'),
      requestTimeoutMs: inUnit('timeout', 'ms'),
      timeout: inUnit('timeout', 's'),
      ...each(['codex', 'supportsParallelToolCalls'], own),
    },
  },
  {
    ...nowhere,
    id: 'nanobot',
    name: 'nanobot',
    keys: [['tools', 'mcpServers'], ['mcpServers']],
    known: /(^|\/)\.nanobot\/config\.json$/,
    hasOwnPath: true,
    marks: (value) =>
      (isMap(value['tools']) && isMap(value['tools']['mcpServers'])) ||
      (isMap(value['mcpServers']) && mapsIn(value['agents']).some(([, agent]) => has(agent, 'mcpServers', 'model'))),
    shares: ['tools', 'agents'],
    replaces: ['braces'],
    options: { toolTimeout: inUnit('timeout', 's'), unsandboxed: own },
  },
  {
    ...nowhere,
    id: 'toml-list',
    name: 'an agent with `[[mcp.servers]]`',
    keys: [['mcp', 'servers']],
    known: /^$/,
    marks: (value, format) => format === 'toml' && isMap(value['mcp']) && Array.isArray(value['mcp']['servers']),
    options: {
      timeout_seconds: inUnit('timeout', 's'),
      // An empty list means all of them.
      tools: ({ value, set }) => {
        if (textsIn(value).length > 0) set('includeTools', value);
      },
    },
  },
  {
    ...nowhere,
    id: 'theia',
    name: 'Theia',
    keys: [['ai-features.mcp.mcpServers']],
    known: /^$/,
    marks: (value) => isMap(value['ai-features.mcp.mcpServers']),
    beside: besideTheia,
    options: {
      serverAuthToken: (given) => {
        const { serverAuthTokenHeader: name = 'Authorization' } = given.entry;
        // In a header of another name the token stands alone.
        if (typeof name === 'string' && name !== 'Authorization' && typeof given.value === 'string')
          header(given, name, given.value);
        else bearer(given);
      },
      serverAuthTokenHeader: unsaid,
      registryMetadata: unsaid,
      ...each(['autostart', 'deferLoading'], own),
    },
  },
  {
    ...nowhere,
    id: 'tiny-agents',
    name: 'Tiny Agents',
    keys: [['servers']],
    known: /^$/,
    marks: (value, format) =>
      format === 'json' && Array.isArray(value['servers']) && has(value, 'model', 'provider', 'endpointUrl'),
    find: serversOfTinyAgents,
    options: {
      allowed_tools: as('includeTools'),
      requestInit: ({ value, server, set }) => {
        if (isMap(value) && isMap(value['headers'])) set('headers', merged(server, 'headers', value['headers']));
      },
    },
  },
  {
    ...nowhere,
    id: 'spring',
    name: 'Spring AI',
    keys: [['spring', 'ai', 'mcp', 'client']],
    known: /^$/,
    marks: (value, format) => format === 'yaml' && serversOfSpring(value) !== undefined,
    replaces: ['braces'],
    find: serversOfSpring,
    beside: besideSpring,
  },
  {
    ...nowhere,
    id: 'goose-recipe',
    name: 'a recipe of Goose',
    keys: [['extensions']],
    timeoutUnit: 's',
    known: /^$/,
    marks: (value) =>
      Array.isArray(value['extensions']) &&
      has(value, 'instructions', 'prompt', 'recipe') &&
      value['extensions'].some((each) => isMap(each) && has(each, 'type')),
    replaces: ['braces', 'bare'],
  },
];
