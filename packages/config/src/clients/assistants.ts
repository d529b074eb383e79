/** Assistants and agent programs with a file of servers that `omnibus connect` does not write: how each is recognized, and the meaning of its own options. */
import { has, isMap, mapsIn, type Values } from '../values.ts';
import { besideFastAgent, besideJan, besideOpencode } from './beside.ts';
import { as, each, inUnit, nameOfHost, nowhere, own, unsaid, type Client, type Found, type Special } from './client.ts';
import { bearer, header, merged } from './translate.ts';

const entriesOf = (value: Values): readonly Values[] => mapsIn(value['mcpServers']).map(([, entry]) => entry);

/** The lists of OpenHands, each of another transport; an address may stand for a whole entry. */
const openHandsLists: Readonly<Record<string, string | undefined>> = {
  sse_servers: 'sse',
  shttp_servers: 'http',
  stdio_servers: undefined,
};
function serversOfOpenHands({ mcp }: Values): readonly Found[] {
  return Object.entries(openHandsLists).flatMap(([list, type]) => {
    const given = isMap(mcp) ? mcp[list] : undefined;
    return (Array.isArray(given) ? given : []).map((each: unknown, index) => {
      const entry: Values = isMap(each) ? each : { url: each };
      const name =
        typeof entry['name'] === 'string' ? entry['name'] : (nameOfHost(entry['url']) ?? `${list}-${index + 1}`);
      return { name, path: ['mcp', list, index], entry: type === undefined ? entry : { type, ...entry } };
    });
  });
}

/** fast-agent: servers by name, and targets, each an address or a line of words. */
function serversOfFastAgent({ mcp }: Values): readonly Found[] {
  if (!isMap(mcp)) return [];
  const named = mapsIn(mcp['servers']).map(([name, entry]) => ({ name, path: ['mcp', 'servers', name], entry }));
  const targets = (Array.isArray(mcp['targets']) ? mcp['targets'] : []).map((each: unknown, index): Found => {
    const { target, ...rest }: Values = isMap(each) ? each : { target: each };
    const isAddress = typeof target === 'string' && /^https?:\/\//.test(target);
    const [command, ...args] = typeof target === 'string' ? target.trim().split(/\s+/) : [];
    const name = typeof rest['name'] === 'string' ? rest['name'] : (nameOfHost(target) ?? `target-${index + 1}`);
    const entry = isAddress ? { ...rest, url: target } : { ...rest, command, args };
    return { name, path: ['mcp', 'targets', index], entry };
  });
  return [...named, ...targets];
}

/** Cherry Studio gives the index of packages to the launcher, by the variables that it reads. */
function packageIndex({ value, entry, server, set, note }: Special): void {
  if (typeof value !== 'string' || value === '') return;
  const command = String(entry['command']);
  if (/^(uv|uvx|python3?|pip)$/.test(command))
    set('env', merged(server, 'env', { UV_DEFAULT_INDEX: value, PIP_INDEX_URL: value }));
  else if (/^(npx|npm|bunx|bun)$/.test(command)) set('env', merged(server, 'env', { NPM_CONFIG_REGISTRY: value }));
  else note('the index of packages is for uvx and npx alone, so it has no effect here');
}

export const assistants: readonly Client[] = [
  {
    ...nowhere,
    id: 'jan',
    name: 'Jan',
    keys: [['mcpServers']],
    known: /(^|\/)Jan\/data\/mcp_config\.json$/,
    marks: (value) =>
      isMap(value['mcpServers']) && isMap(value['mcpSettings']) && !has(value['mcpSettings'], 'allowedDomains'),
    beside: besideJan,
    options: { official: unsaid },
  },
  {
    ...nowhere,
    id: 'cherry',
    name: 'Cherry Studio',
    keys: [['mcpServers']],
    timeoutUnit: 's',
    known: /^$/,
    marks: (value, format) => format === 'json' && entriesOf(value).some((entry) => has(entry, 'isActive', 'baseUrl')),
    options: {
      baseUrl: ({ value, set, entry }) => {
        if (entry['url'] === undefined && value !== '') set('url', value);
      },
      registryUrl: packageIndex,
      ...each(
        [
          'longRunning',
          'installSource',
          'isTrusted',
          'trustedAt',
          'installedAt',
          'dxtVersion',
          'shouldConfig',
          'searchKey',
          'reference',
          'providerUrl',
        ],
        unsaid,
      ),
    },
  },
  {
    ...nowhere,
    id: 'anythingllm',
    name: 'AnythingLLM',
    keys: [['mcpServers']],
    known: /(^|\/)anythingllm_mcp_servers\.json$/,
    marks: (value) => entriesOf(value).some((entry) => isMap(entry['anythingllm'])),
    options: {
      anythingllm: ({ value, server, note }) => {
        const { suppressedTools, autoStart } = isMap(value) ? value : {};
        if (Array.isArray(suppressedTools) && suppressedTools.length > 0) server['excludeTools'] = suppressedTools;
        if (autoStart === false)
          note(
            'it starts such a server only on demand; the gateway offers the tools of every server: write disabled: true to keep it unused',
          );
      },
    },
  },
  {
    ...nowhere,
    id: 'augment',
    name: 'Augment',
    keys: [['augment.advanced', 'mcpServers']],
    known: /^$/,
    marks: (value) => isMap(value['augment.advanced']) && has(value['augment.advanced'], 'mcpServers'),
  },
  {
    ...nowhere,
    id: 'kilo',
    name: 'Kilo Code',
    keys: [['mcp'], ['mcpServers']],
    timeoutUnit: 'ms',
    known: /(^|\/)kilo\.jsonc?$/,
    // The form is opencode's, so the path decides.
    marks: (value) => mapsIn(value['mcp']).some(([, { type }]) => type === 'local' || type === 'remote'),
    beside: besideOpencode,
  },
  {
    ...nowhere,
    id: 'openhands',
    name: 'OpenHands',
    keys: [['mcp']],
    timeoutUnit: 's',
    known: /^$/,
    marks: (value, format) =>
      format === 'toml' && isMap(value['mcp']) && has(value['mcp'], ...Object.keys(openHandsLists)),
    find: serversOfOpenHands,
    options: { api_key: bearer },
  },
  {
    ...nowhere,
    id: 'vibe',
    name: 'Mistral Vibe',
    keys: [['mcp_servers']],
    known: /(^|\/)\.vibe\/config\.toml$/,
    marks: (value, format) => format === 'toml' && Array.isArray(value['mcp_servers']),
    options: {
      api_key_env: (given) => {
        const { api_key_header: name = 'Authorization', api_key_format: form = 'Bearer {token}' } = given.entry;
        if (typeof given.value === 'string' && given.value !== '')
          header(given, String(name), String(form).replaceAll('{token}', `\${env:${given.value}}`));
      },
      api_key_header: unsaid,
      api_key_format: unsaid,
      prompt: ({ note }) => note('it tells its model this text; the gateway passes on the instructions of the server'),
      sampling_enabled: own,
    },
  },
  {
    ...nowhere,
    id: 'mcphost',
    name: 'MCPHost',
    keys: [['mcpServers']],
    known: /(^|\/)\.mcphost\.(ya?ml|json)$/,
    marks: (value) => JSON.stringify(value['mcpServers'] ?? '').includes('${env://'),
    options: {
      allowedTools: as('includeTools'),
      excludedTools: as('excludeTools'),
      headers: ({ value, set, lose }) => {
        if (!Array.isArray(value)) return set('headers', value);
        const lines = value.map((line) => /^([^:]+):\s*(.*)$/.exec(String(line)));
        if (lines.includes(null)) return lose('expected headers of the form "Name: value"');
        set('headers', Object.fromEntries(lines.flatMap((line) => (line === null ? [] : [[line[1], line[2]]]))));
      },
    },
  },
  {
    ...nowhere,
    id: 'fast-agent',
    name: 'fast-agent',
    keys: [['mcp', 'servers']],
    known: /(^|\/)fast-?agent(\.config)?\.ya?ml$/,
    marks: (value, format) => format === 'yaml' && isMap(value['mcp']) && has(value['mcp'], 'servers', 'targets'),
    replaces: ['braces'],
    find: serversOfFastAgent,
    beside: besideFastAgent,
    options: {
      auth: (given) => {
        if (typeof given.value === 'string') bearer(given);
        else if (isMap(given.value) && given.value['oauth'] !== false)
          given.note(
            'there the client signs in at the server in a browser; here, `credentials: { kind: oauth }` does that',
          );
      },
      roots: ({ note }) => note('the roots of the connected client are shown to the server here'),
      http_timeout_seconds: inUnit('connectTimeout', 's'),
      ...each(
        [
          'load_on_start',
          'ping_interval_seconds',
          'max_missed_pings',
          'reconnect_on_disconnect',
          'include_instructions',
          'elicitation',
          'spoofing',
        ],
        own,
      ),
    },
  },
];
