/** Options of other programs, and guesses, with the option to write in their place. */
import type { Path } from './problem.ts';

const same = (names: readonly string[], words: string): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, words]));

/** Options of other programs under a server, and what to write there instead. */
const underServer: Readonly<Record<string, string>> = {
  ...same(
    ['protocolVersion', 'revision'],
    'the gateway agrees with each server on a revision; `era: legacy` or `era: modern` says which kind of server it is',
  ),
  headersHelper:
    'a program that makes headers is not supported: write them under `headers`, with "${NAME}" or "${file:path}" for what is secret',
  ...same(['enabledTools', 'enabled_tools', 'allowed_tools'], 'write includeTools'),
  allowedTools:
    'write includeTools for tools that may be called; which calls a user is asked about is for the client to say',
  bearer_token_env_var: 'write headers: { Authorization: "Bearer ${NAME}" }',
  ...same(['http_headers', 'requestOptions'], 'write headers'),
  envs: 'write env',
  env_keys: 'write env: { NAME: "${NAME}" }',
  cmd: 'write command and args',
  ...same(['program', 'executable', 'exec', 'binary', 'run'], 'write command'),
  ...same(['arguments', 'parameters', 'params', 'argv'], 'write args'),
  ...same(['workingDirectory', 'working_dir', 'working_directory', 'workdir', 'directory'], 'write cwd'),
  ...same(
    [
      'blockedTools',
      'blocked_tools',
      'deniedTools',
      'disabledTools',
      'disabled_tools',
      'disallowed_tools',
      'hiddenTools',
    ],
    'write excludeTools',
  ),
  ...same(['name', 'alias', 'id'], 'a server has the name above its options: write it there'),
  prefix:
    'names of tools begin with the name of their server: write another name above its options, or prefix: never at the top of the file',
  image: 'write command: docker and args: [run, --rm, -i, IMAGE]',
  volumes: 'write command: docker and args: [run, --rm, -i, -v, "FOLDER:FOLDER", IMAGE]',
  rateLimit: 'write limits: { rules: [{ what: [SERVER], rate: 10/s }] } at the top of the file',
  retries: 'leave it out: the gateway repeats a call only if its server has surely not begun it',
  ...same(['uri', 'endpoint', 'baseUrl', 'base_url', 'address', 'link'], 'write url'),
  tool_timeout_sec: 'write timeout: 60s',
  startup_timeout_sec: 'write connectTimeout: 10s',
  requestTimeout: 'write timeout',
  initTimeout: 'write connectTimeout',
  oauth: 'write credentials: { kind: oauth }',
  port: 'write url: http://127.0.0.1:PORT/mcp',
  host: 'write url: http://HOST/mcp',
  ...same(
    ['token', 'bearerToken', 'bearer', 'apiKey', 'api_key', 'accessToken', 'auth', 'authorization'],
    'write headers: { Authorization: "Bearer ${NAME}" }, and set the variable',
  ),
};

/** Options of other programs at the top of a file, and what to write there instead. */
const atTop: Readonly<Record<string, string>> = {
  inputs:
    'values that VS Code asks its user for are taken from environment variables here: leave it out, and write "${NAME}" where the value belongs',
  ...same(['port', 'host'], 'write listen: 127.0.0.1:7300'),
  mcp: 'write the servers below it under mcpServers',
  mcp_servers: 'write mcpServers',
  rules: 'write access: { rules: [...] }',
  sandbox: 'write it under each server that is to have one',
  ...same(['logLevel', 'logging'], 'write log: { level: info }'),
  disabledTools: 'write excludeTools under each server',
  ...same(['excludeTools', 'includeTools'], 'write it under each server'),
  allowedTools: 'write includeTools under each server',
  tools: 'write includeTools or excludeTools under each server, or `tools` of a profile',
  ...same(['Servers', 'MCPServers', 'McpServers'], 'write mcpServers'),
  ...same(['version', 'apiVersion', 'kind', 'name'], 'leave it out: a configuration has none'),
  ...same(['search', 'toolSearch'], 'write listing: search'),
  ...same(['ssl', 'https', 'certificate'], 'write tls: { certFile: cert.pem, keyFile: key.pem }'),
  ...same(
    ['basePath', 'base_path', 'pathPrefix', 'baseUrl'],
    'write publicUrl: "https://HOST/PATH", and let the proxy in front pass the path on',
  ),
  ...same(['workers', 'replicas', 'threads', 'processes'], 'start with `omnibus serve --workers 4`'),
  ...same(['users', 'apiKey', 'token', 'password'], 'write auth: { keys: { file: keys.yaml } }'),
  ...same(
    ['cors', 'allowedOrigins', 'allowed_origins', 'origins', 'corsOrigins'],
    'write security: { allowedOrigins: ["https://app.example.com"] }',
  ),
  ...same(
    ['include', 'includes', 'import', 'imports', 'extends'],
    'a configuration is one file; `omnibus import FILE` takes the servers of another one over',
  ),
  metrics: 'leave it out: metrics are at /metrics of the address under `admin`',
  ...same(['rateLimit', 'rateLimits', 'rate_limit', 'rateLimiting'], 'write limits: { rules: [{ rate: 100/min }] }'),
  mcpProxy: 'write listen, and auth: { keys: { file: keys.yaml } } for who may call',
};

/** Options of the identity of callers that are looked for elsewhere than they are, by the place where they were written. */
const elsewhere: Readonly<Record<string, string>> = {
  tenants:
    'write `tenants` under a server or profile; the tenant of a caller comes from its issuer, key or proxy (docs/how-to/identity.md, Tenants)',
  issuers: 'write auth: { issuers: [...] }',
  apiKeys: 'write auth: { keys: { file: keys.yaml } }',
  ...same(['authorization', 'authentication'], 'write `auth`'),
  oauth: "write auth: { issuers: [...] }, or auth: { server: ... } for a server of the gateway's own",
  'limits.maxResultBytes': 'write it under a server, or under one of its `tools`',
  ...same(['audit.file', 'audit.folder'], 'write sinks: [{ kind: file, folder: audit }]'),
  'listing.search': 'write listing: search',
  'listing.code': 'write listing: code',
  ...same(['auth.token', 'auth.apiKey'], 'write keys: { file: keys.yaml }, and make a key with "omnibus keys create"'),
  'access.allow': 'write rules: [{ who: everyone, allow: ["SERVER/TOOL"] }]',
  'access.deny': 'write rules: [{ who: everyone, deny: ["SERVER/TOOL"] }]',
  'access.ask': 'write rules: [{ who: everyone, ask: ["SERVER/TOOL"] }]',
  ...same(['limits.rate', 'limits.requests'], 'write rules: [{ rate: 100/min }]'),
  'access.rules.user': 'write who: NAME',
  'access.rules.users': 'write who: [NAME, ...]',
  ...same(['access.rules.group', 'access.rules.role'], 'write who: "group:NAME"'),
  ...same(['access.rules.action', 'access.rules.effect'], 'write the targets under allow, deny or ask'),
  'access.rules.tools': 'write the targets under allow, deny or ask, as "server/tool"',
  'auth.apiKeys': 'write keys: { file: keys.yaml }',
  ...same(['auth.jwt', 'auth.oidc', 'auth.oauth', 'auth.issuer'], 'write issuers: [{ issuer: https://... }]'),
  'auth.mtls': 'write clientCertificates: { caFile: ca.pem }',
  'auth.roles': 'write admin: { roles: ... }',
  'auth.tenants':
    'write admin: { tenants: ... } for those who look after a tenant, and `tenants` under a server for those who may use it',
  ...same(['auth.none', 'auth.anonymous'], 'write auth: none'),
  'auth.issuers.audience': 'write auth: { audience: [...] }, beside `issuers`',
  'auth.issuers.scopes': 'write auth: { scopes: [...] }, beside `issuers`',
};

/** What to write in the place of an option of another program; undefined for others. */
export function foreign(key: string, path: Path): string | undefined {
  const place = [...path.filter((part) => typeof part === 'string'), key].join('.');
  if (Object.hasOwn(elsewhere, place)) return `; ${elsewhere[place] as string}`;
  if (path.length === 1 && path[0] === 'tls' && (key === 'cert' || key === 'key')) return `; write ${key}File`;
  const rows = path.length === 0 ? atTop : path.length === 2 && path[0] === 'mcpServers' ? underServer : {};
  return Object.hasOwn(rows, key) ? `; ${rows[key] as string}` : undefined;
}
