/** Programs that people come from, and files that name servers without being the file of a client: how each is recognized, and what becomes of its options. */
import { has, isMap, mapsIn, textsIn, type Values } from '../values.ts';
import {
  everywhere,
  besideAgentgateway,
  besideAmp,
  besideCrush,
  besideKiroAgent,
  besideLibrechat,
  besideLitellm,
  besideMcpAgent,
  besideMcphub,
  besidePlugin,
  besideTbxark,
} from './beside.ts';
import { as, each, inUnit, nowhere, serversAt, unsaid, type Client, type Found, type Special } from './client.ts';
import { bearer, header, merged } from './translate.ts';

const callersHeaders = (value: unknown): string =>
  `headers of callers (${textsIn(value).join(', ')}) are not passed on: write {principal.…} for a fact about the caller, or \`credentials\` (docs/how-to/credentials.md)`;

const schemaOf = (value: Values): string => (typeof value['$schema'] === 'string' ? value['$schema'] : '');

/** Targets of agentgateway are deep in its file: in listeners, routes and backends. */
function targetsOf(value: Values): readonly Found[] | undefined {
  const found = [...everywhere(value, 'mcp', ({ targets }) => Array.isArray(targets))].flatMap(
    ([path, { targets }]) => serversAt(targets, [...path, 'targets'], 'target') ?? [],
  );
  return found.length === 0 ? undefined : found;
}

/** A plugin has a map of servers, the name of a file with one, or a list of such maps and names, which `besidePlugin` remarks on. @returns undefined if it has names alone. */
function serversOfPlugin({ mcpServers }: Values): readonly Found[] | undefined {
  const given: readonly unknown[] = isMap(mcpServers) ? Object.values(mcpServers) : [mcpServers].flat();
  if (given.some((each) => typeof each === 'string') && !given.some(isMap)) return undefined;
  if (!Array.isArray(mcpServers)) return serversAt(mcpServers, ['mcpServers']);
  return mcpServers.flatMap((each: unknown, index) =>
    isMap(each) ? (serversAt(each, ['mcpServers', index]) ?? []) : [],
  );
}

/** `host`, `port` and `path` of a target of agentgateway, as an address. */
const target =
  (type: string | undefined) =>
  ({ value, server, set, lose }: Special): void => {
    const { host, port, path = type === 'sse' ? '/sse' : '/mcp' } = isMap(value) ? value : {};
    if (typeof host !== 'string') return lose('expected `host`, with `port` and `path`');
    if (type !== undefined) server['type'] = type;
    set(
      'url',
      /^https?:\/\//.test(host)
        ? host
        : `${port === 443 ? 'https' : 'http'}://${host}${typeof port === 'number' ? `:${port}` : ''}${String(path)}`,
    );
  };

/** LiteLLM encodes `user:password` itself; from a variable the encoded text has to come. */
function basic(given: Special, secret: string): void {
  const credentials = secret.replace(/^basic\s+/i, '');
  if (credentials.startsWith('os.environ/'))
    given.note(`the variable must have the whole encoded text: base64 of "user:password"`);
  const encoded =
    credentials.includes(':') && !credentials.startsWith('os.environ/')
      ? Buffer.from(credentials).toString('base64')
      : credentials;
  header(given, 'Authorization', `Basic ${encoded}`);
}

/** An API of mcphub: its document at an address; a document inside the file would have to be a file of its own. */
function openapiEntry({ value, set, note, lose }: Special): void {
  const { url, security } = isMap(value) ? value : {};
  if (typeof url !== 'string')
    return lose('the document stands in the file itself: write it to a file of its own, and openapi: FILE');
  set('openapi', url);
  if (security !== undefined)
    note(
      'openapi.security is written otherwise here: secrets by the names of the security schemes of the document, and `url` for the address of the API (docs/how-to/openapi.md)',
    );
}

/** An API of agentgateway: its document, and the address of the API. */
function openapiTarget(given: Special): void {
  const { value, set, lose } = given;
  const { schema, ...address } = isMap(value) ? value : {};
  const document = isMap(schema) ? (schema['file'] ?? schema['url']) : undefined;
  if (typeof document !== 'string') return lose('expected `schema` with `file` or `url`');
  set('openapi', document);
  if (address['host'] !== undefined) target(undefined)({ ...given, value: { path: '', ...address } });
}

export const gateways: readonly Client[] = [
  {
    ...nowhere,
    id: 'toolhive',
    name: 'ToolHive',
    keys: [],
    known: /^$/,
    marks: (value) =>
      (has(value, 'schema_version') && has(value, 'image', 'remote_url') && has(value, 'transport')) ||
      mapsIn(value['servers']).some(([, entry]) => has(entry, 'image') && has(entry, 'transport')),
    instead:
      'write the address that `thv list` shows, `url: http://127.0.0.1:PORT/mcp`, or the image itself: command: docker, args: [run, -i, --rm, IMAGE]',
  },
  {
    ...nowhere,
    id: 'docker-entry',
    name: "Docker's MCP registry",
    keys: [],
    known: /^$/,
    marks: (value, format) => format === 'yaml' && has(value, 'image') && has(value, 'about') && has(value, 'meta'),
    instead: 'write the image as a server: command: docker, args: [run, -i, --rm, IMAGE], with its secrets under `env`',
  },
  {
    ...nowhere,
    id: 'fastmcp-project',
    name: 'FastMCP',
    keys: [],
    known: /^$/,
    marks: (value) => schemaOf(value).includes('gofastmcp.com') && isMap(value['source']),
    instead: 'it describes a server of its own: add it as a program, omnibus add NAME -- fastmcp run FILE',
  },
  {
    ...nowhere,
    id: 'docker-catalog',
    name: "Docker's MCP catalogue",
    keys: [],
    known: /^$/,
    marks: (value) => mapsIn(value['registry']).some(([, entry]) => has(entry, 'image', 'ref', 'remote')),
    instead: 'write each image as a server: command: docker, args: [run, -i, --rm, IMAGE]',
  },
  {
    ...nowhere,
    id: 'registry',
    name: 'the MCP registry',
    keys: [],
    known: /^$/,
    marks: (value) => schemaOf(value).includes('modelcontextprotocol.io') && has(value, 'packages', 'remotes'),
    instead: 'add what it describes: omnibus add NAME --from server.json',
  },
  {
    ...nowhere,
    id: 'bundle',
    name: 'an MCP bundle (.mcpb)',
    keys: [],
    known: /^$/,
    marks: (value) => has(value, 'manifest_version', 'dxt_version') && isMap(value['server']),
    instead: 'add the bundle that it describes: omnibus add NAME --from FILE.mcpb',
  },
  {
    ...nowhere,
    id: 'plugin',
    name: 'a plugin',
    keys: [['mcpServers']],
    known: /(^|\/)(\.claude-plugin\/plugin|gemini-extension)\.json$/,
    hasOwnPath: true,
    marks: (value, format) =>
      format === 'json' &&
      isMap(value['mcpServers']) &&
      typeof value['name'] === 'string' &&
      /\$\{(CLAUDE_PLUGIN_ROOT|extensionPath)\}/.test(JSON.stringify(value['mcpServers'])),
    replaces: ['braces'],
    find: serversOfPlugin,
    beside: besidePlugin,
    instead:
      'its servers stand in another file: import the file that `mcpServers` names, or `.mcp.json` in the folder of the plugin',
  },
  {
    ...nowhere,
    id: 'kiro-agent',
    name: 'an agent of Kiro or Amazon Q',
    keys: [['mcpServers']],
    timeoutUnit: 'ms',
    known: /(^|\/)(\.kiro\/agents|\.?(aws\/)?amazonq\/cli-agents)\/[^/]+\.json$/,
    marks: (value) =>
      isMap(value['mcpServers']) &&
      has(value, 'allowedTools', 'toolAliases', 'toolsSettings', 'useLegacyMcpJson', 'includeMcpJson'),
    replaces: ['braces'],
    beside: besideKiroAgent,
  },
  {
    ...nowhere,
    id: 'amp',
    name: 'Amp',
    keys: [['amp.mcpServers']],
    known: /(^|\/)\.?amp\/settings\.jsonc?$/,
    marks: (value) => has(value, 'amp.mcpServers'),
    shares: ['log', 'security'],
    replaces: ['braces'],
    beside: besideAmp,
  },
  {
    ...nowhere,
    id: 'crush',
    name: 'Crush',
    keys: [['mcp']],
    timeoutUnit: 's',
    known: /(^|\/)\.?crush\.json$/,
    marks: (value) =>
      schemaOf(value).includes('charm.land/crush') ||
      (!has(value, 'mcpServers') &&
        !schemaOf(value).includes('opencode') &&
        mapsIn(value['mcp']).some(
          ([, { type, command }]) => /^(stdio|http|sse)$/.test(String(type)) && !isMap(command),
        )),
    replaces: ['braces', 'bare'],
    beside: besideCrush,
  },
  {
    ...nowhere,
    id: 'librechat',
    name: 'LibreChat',
    keys: [['mcpServers']],
    timeoutUnit: 'ms',
    known: /(^|\/)librechat[^/]*\.ya?ml$/,
    marks: (value, format) =>
      format === 'yaml' &&
      isMap(value['mcpServers']) &&
      (has(value, 'mcpSettings') ||
        (has(value, 'version') && has(value, 'endpoints', 'interface', 'registration', 'fileConfig', 'modelSpecs')) ||
        /\{\{(LIBRECHAT_|MCP_)\w+\}\}/.test(JSON.stringify(value['mcpServers']))),
    replaces: ['braces'],
    beside: besideLibrechat,
    options: {
      apiKey: (given) => {
        const { source, key, authorization_type: type, custom_header: name } = isMap(given.value) ? given.value : {};
        if (source === 'user' || typeof key !== 'string')
          given.lose(
            'each user gives a key of his own there; here, `credentials: { kind: oauth }`, or a header with "{principal.…}" (docs/how-to/credentials.md)',
          );
        else if (type === 'custom' && typeof name === 'string') header(given, name, key);
        else header(given, 'Authorization', type === 'basic' ? `Basic ${key}` : `Bearer ${key}`);
      },
      customUserVars: ({ lose }) =>
        lose(
          'each user gives values of his own there; here, `credentials: { kind: oauth }`, or a header with "{principal.…}" (docs/how-to/credentials.md)',
        ),
      requiresOAuth: ({ value, note }) => {
        if (value === true)
          note(
            'users sign in at the server; here, `credentials: { kind: oauth }` does that (docs/how-to/credentials.md)',
          );
      },
    },
  },
  {
    ...nowhere,
    id: 'litellm',
    name: 'LiteLLM',
    keys: [['mcp_servers']],
    timeoutUnit: 's',
    known: /(^|\/)litellm[^/]*\.ya?ml$/,
    marks: (value, format) => format === 'yaml' && isMap(value['mcp_servers']),
    shares: ['guardrails'],
    replaces: [],
    beside: besideLitellm,
    options: {
      auth_type: (given) => {
        const { entry, value, note } = given;
        const secret = entry['auth_value'] ?? entry['authentication_token'];
        if (value === 'none') return;
        if (value === 'aws_sigv4')
          return note('requests are signed: write credentials: { kind: aws } (docs/how-to/credentials.md)');
        if (value === 'oauth2')
          note('sign-in at the server; here, `credentials` does that (docs/how-to/credentials.md)');
        else if (typeof secret !== 'string')
          note(`what is shown as "${String(value)}" is not in this file: write it under \`headers\``);
        else if (value === 'bearer_token') bearer({ ...given, value: secret });
        else if (value === 'basic') basic(given, secret);
        else if (value === 'token') header(given, 'Authorization', `token ${secret}`);
        else if (value === 'api_key') header(given, 'X-API-Key', secret);
        else if (value === 'authorization') header(given, 'Authorization', secret);
        else given.lose(`"${String(value)}": write the header that the server expects under \`headers\``);
      },
      auth_value: unsaid,
      authentication_token: unsaid,
      static_headers: ({ value, server, set }) => set('headers', merged(server, 'headers', isMap(value) ? value : {})),
      extra_headers: ({ value, lose }) => lose(callersHeaders(value)),
      allowed_tools: as('includeTools'),
      disallowed_tools: as('excludeTools'),
      spec_path: as('openapi'),
      ...each(['access_groups', 'mcp_access_groups', 'allow_all_keys', 'available_on_public_internet'], ({ note }) =>
        note('who may use the server is said by `access` or `tenants` here (docs/how-to/policy.md)'),
      ),
      ...each(
        ['client_id', 'client_secret', 'authorization_url', 'token_url', 'registration_url', 'oauth2_flow'],
        ({ note }) =>
          note(
            'a part of the sign-in: write credentials: { kind: oauth, clientId, clientSecret, issuer }, or { kind: client, … } for a sign-in of the gateway itself (docs/how-to/credentials.md)',
          ),
      ),
      ...each(
        ['aws_region_name', 'aws_service_name', 'aws_role_name', 'aws_access_key_id', 'aws_secret_access_key'],
        unsaid,
      ),
      allowed_params: ({ note }) =>
        note('which arguments a tool takes is said by a rule or by its shape here (docs/how-to/shaping.md)'),
    },
  },
  {
    ...nowhere,
    id: 'agentgateway',
    name: 'agentgateway',
    keys: [],
    known: /(^|\/)agentgateway[^/]*\.(ya?ml|json)$/,
    marks: (value) =>
      targetsOf(value)?.some(
        ({ entry }) =>
          has(value, 'binds', 'listeners', 'backends') ||
          (isMap(entry) && ['stdio', 'mcp', 'sse', 'openapi'].some((kind) => isMap(entry[kind]))),
      ) === true,
    replaces: ['braces', 'bare'],
    find: targetsOf,
    beside: besideAgentgateway,
    options: {
      stdio: ({ value, server, set }) => {
        const { cmd, args, env } = isMap(value) ? value : {};
        set('command', cmd);
        if (args !== undefined) server['args'] = args;
        if (env !== undefined) server['env'] = env;
      },
      mcp: target(undefined),
      sse: target('sse'),
      openapi: openapiTarget,
      policies: unsaid,
    },
  },
  {
    ...nowhere,
    id: 'mcp-agent',
    name: 'mcp-agent',
    keys: [['mcp', 'servers']],
    known: /(^|\/)mcp_agent(\.config)?\.ya?ml$/,
    marks: (value, format) => format === 'yaml' && isMap(value['mcp']) && isMap(value['mcp']['servers']),
    replaces: ['braces'],
    beside: besideMcpAgent,
    options: {
      allowed_tools: as('includeTools'),
      roots: ({ note }) => note('the roots of the connected client are shown to the server here'),
      http_timeout_seconds: inUnit('connectTimeout', 's'),
    },
  },
  {
    ...nowhere,
    id: 'tbxark',
    name: "TBXark's mcp-proxy",
    keys: [['mcpServers']],
    known: /^$/,
    marks: (value) => isMap(value['mcpProxy']),
    replaces: ['braces'],
    beside: besideTbxark,
    options: {
      // Go counts a duration in nanoseconds.
      timeout: ({ value, set }) => set('timeout', typeof value === 'number' ? `${value / 1e6}ms` : value),
      options: ({ value, set, note }) => {
        for (const [option, each] of isMap(value) ? Object.entries(value) : []) {
          if (option === 'toolFilter' && isMap(each)) {
            set(each['mode'] === 'allow' ? 'includeTools' : 'excludeTools', each['list']);
            note(`options.toolFilter is ${each['mode'] === 'allow' ? '`includeTools`' : '`excludeTools`'} here`);
          } else if (option === 'authTokens')
            note(
              'options.authTokens: who may call the server is not taken over: `access` says that, by keys or groups (docs/how-to/policy.md)',
            );
          else if (!/^(panicIfInvalid|logEnabled|disabled)$/.test(option))
            note(`options.${option} has no counterpart here`);
          if (option === 'disabled' && each === true) set('disabled', true);
        }
      },
    },
  },
  {
    ...nowhere,
    id: 'mcphub',
    name: 'mcphub',
    keys: [['mcpServers']],
    known: /^$/,
    marks: (value) =>
      isMap(value['mcpServers']) &&
      (has(value, 'systemConfig', 'bearerKeys', 'userConfigs') ||
        (Array.isArray(value['users']) && has(value, 'groups'))),
    replaces: ['braces'],
    beside: besideMcphub,
    options: {
      keepAliveInterval: unsaid,
      enableKeepAlive: unsaid,
      type: ({ value, set }) => {
        if (value !== 'openapi') set('type', value);
      },
      openapi: openapiEntry,
      options: ({ value, set, note }) => {
        const { timeout, maxTotalTimeout, ...others } = isMap(value) ? value : {};
        if (typeof timeout === 'number') set('timeout', `${timeout}ms`);
        if (typeof maxTotalTimeout === 'number') set('maxTime', `${maxTotalTimeout}ms`);
        for (const option of Object.keys(others))
          if (option !== 'resetTimeoutOnProgress') note(`options.${option} has no counterpart here`);
      },
      passthroughHeaders: ({ value, lose }) => lose(callersHeaders(value)),
      prompts: ({ note }) => note('which prompts are offered is said by a profile here'),
    },
  },
];
