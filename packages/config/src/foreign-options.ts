/** Options of other programs, and guesses, with the option to write in their place. */
import type { Path } from './problem.ts';
import { rightForm } from './right-forms.ts';
import { isMap, type Values } from './values.ts';

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
  enabled: 'write disabled: true for a server that is not used, or leave it out',
  ...same(['npx', 'npm', 'package', 'npmPackage', 'packageName'], 'write command: npx and args: [-y, PACKAGE]'),
  ...same(['uvx', 'pypi', 'pipPackage'], 'write command: uvx and args: [PACKAGE]'),
  ...same(['script', 'file', 'entrypoint', 'entryPoint', 'module'], 'write command: node and args: [FILE]'),
  ...same(
    ['shell', 'stdin', 'stdout'],
    'leave it out: a program is started without a shell, and speaks on stdin and stdout',
  ),
  ...same(['replicas', 'instances'], 'leave it out: the gateway starts the programs that `isolation` asks for'),
  ...same(['urls', 'servers', 'endpoints'], 'write a server for each address, each with a url'),
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
  ...same(
    ['token', 'bearerToken', 'bearer', 'apiKey', 'api_key', 'accessToken', 'auth', 'authorization'],
    'write headers: { Authorization: "Bearer ${NAME}" }, and set the variable',
  ),
};

/** Options of a profile by other names. */
const underProfile: Readonly<Record<string, string>> = {
  ...same(['include', 'includeTools', 'allow', 'allowedTools'], 'write tools: ["SERVER/TOOL"], or servers: [SERVER]'),
  ...same(
    ['exclude', 'excludeTools', 'deny', 'disabledTools'],
    'write tools: ["*", "!SERVER/TOOL"]; "!" takes the matches out',
  ),
  ...same(['maxTools', 'toolLimit'], 'write listing: { budget: { tools: 40 } }'),
  ...same(['budget', 'maxTokens', 'tokens'], 'write listing: { budget: { tokens: 2000 } }'),
  ...same(['pinned', 'show', 'always'], 'write listing: { mode: search, show: ["SERVER/TOOL"] }'),
  ...same(['auth', 'users', 'groups', 'who'], 'write access: { rules: [...] } at the top of the file, or tenants here'),
  ...same(['path', 'url', 'endpoint', 'name'], 'leave it out: the endpoint of a profile is /mcp/PROFILE'),
};

/** Options of other programs at the top of a file, and what to write there instead. */
const atTop: Readonly<Record<string, string>> = {
  inputs:
    'values that VS Code asks its user for are taken from environment variables here: leave it out, and write "${NAME}" where the value belongs',
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
  endpoints: 'write profiles',
  ...same(
    ['approvals', 'approval', 'confirm'],
    'write access: { rules: [{ who: everyone, ask: ["SERVER/TOOL"], by: approvers }] }',
  ),
  agents: 'write auth: { server: { agents: { file: agents.yaml } } }',
  ...same(['definitions', 'pin', 'pinning'], 'write definitions: pin under each server'),
  ...same(['kubernetes', 'k8s'], 'write discovery: { kubernetes: { enabled: true } }'),
  ...same(['telemetry', 'otel', 'opentelemetry', 'otlp'], 'write tracing: { endpoint: "http://HOST:4318" }'),
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
  'auth.type': 'leave it out: the option that is set says it, such as `keys` or `issuers`',
  ...same(
    ['auth.basic', 'auth.users', 'auth.password', 'auth.local'],
    'write server: { users: { file: users.yaml } }, and make users with "omnibus users add"',
  ),
  ...same(
    ['auth.github', 'auth.google', 'auth.entra', 'auth.okta', 'auth.auth0', 'auth.keycloak'],
    'write issuers: [{ issuer: https://... }], or server: { signIn: { issuer, clientId, … } } for a provider that issues no tokens for this gateway (docs/how-to/sign-in.md)',
  ),
  ...same(
    ['auth.header', 'auth.headers', 'auth.userHeader'],
    'write proxy: { addresses: [ADDRESS], userHeader: NAME }',
  ),
  'auth.issuers.url': 'write issuer',
  ...same(
    ['auth.issuers.clientId', 'auth.issuers.client_id', 'auth.issuers.clientSecret'],
    'leave it out: clients bring their tokens; auth: { audience: [...] } says for whom these must be',
  ),
  ...same(
    ['nats.url', 'nats.address', 'nats.host', 'nats.servers'],
    'write bus: "nats://HOST:4222" at the top of the file',
  ),
  ...same(
    ['limits.rules.limit', 'limits.rules.max', 'limits.rules.requests', 'limits.rules.calls'],
    'write rate: 100/min',
  ),
  ...same(['limits.rules.window', 'limits.rules.period', 'limits.rules.per_second'], 'write it in the rate: 100/min'),
  ...same(['timeouts.connect', 'timeouts.connection'], 'write connectTimeout under a server'),
  ...same(['results.max', 'results.limit', 'results.maxSize'], 'write maxTokens: 2000'),
  'audit.sinks.type': 'write kind',
  ...same(['audit.sinks.path', 'audit.sinks.file'], 'write folder'),
  ...same(['log.file', 'log.path'], 'leave it out: the log goes to stderr, `omnibus serve 2>> FILE`'),
  'security.cors': 'write allowedOrigins: ["https://app.example.com"]',
  ...same(['secrets.file', 'secrets.env'], 'leave it out: write "${file:PATH}" or "${NAME}" where a secret belongs'),
  ...same(
    ['console.password', 'console.user', 'console.users'],
    'write auth: { admin: { roles: { admin: ["key:NAME"] } } }',
  ),
  'composites.*.calls': 'write steps: [{ id: NAME, call: SERVER/TOOL }]',
  'composites.*.steps.tool': 'write call',
  ...same(['composites.*.steps.args', 'composites.*.steps.params'], 'write arguments'),
  ...same(
    ['mcpServers.*.tls.insecure', 'mcpServers.*.tls.verify', 'mcpServers.*.tls.rejectUnauthorized'],
    'leave it out: a certificate is always checked; caFile names the authority of the server',
  ),
  ...same(['mcpServers.*.tls.caCert', 'mcpServers.*.tls.caPath'], 'write caFile'),
  ...same(['mcpServers.*.credentials.client_id', 'mcpServers.*.credentials.id'], 'write clientId'),
  ...same(['mcpServers.*.credentials.client_secret', 'mcpServers.*.credentials.secret'], 'write clientSecret'),
  ...same(['mcpServers.*.sandbox.net', 'mcpServers.*.sandbox.allowNetwork'], 'write network: true'),
  ...same(['mcpServers.*.sandbox.files', 'mcpServers.*.sandbox.paths'], 'write read: [PATH], or write: [PATH]'),
  'auth.mtls': 'write clientCertificates: { caFile: ca.pem }',
  'auth.roles': 'write admin: { roles: ... }',
  'auth.tenants':
    'write admin: { tenants: ... } for those who look after a tenant, and `tenants` under a server for those who may use it',
  ...same(['auth.none', 'auth.anonymous'], 'write auth: none'),
  'auth.issuers.audience': 'write auth: { audience: [...] }, beside `issuers`',
  'auth.issuers.scopes': 'write auth: { scopes: [...] }, beside `issuers`',
};

/** `listen` for a port, a host or both. */
function listen({ host, port }: Values): string {
  const words = [{ host, port }, { port }, { host }].map((given) => rightForm(given, ['listen'])).find(Boolean);
  return (words ?? 'write "127.0.0.1:7300"').replace('write ', 'write listen: ');
}

/** The address of a server that is written as a port, a host or both. A program that the gateway starts has none. */
function serverAddress({ command, url, host, port }: Values): string {
  if (url !== undefined) return 'write it in `url`: http://HOST:PORT/mcp';
  const at = /^\d{1,5}$/.test(String(port)) ? String(port) : 'PORT';
  const name = typeof host === 'string' && /^[\w.-]+$/.test(host) ? host : '127.0.0.1';
  const right = `url: http://${name}:${at}/mcp`;
  return command === undefined
    ? `write ${right}`
    : `leave it out, since a program that the gateway starts speaks on stdin and stdout; start one that listens yourself, and write ${right} in place of command`;
}

/**
 * What to write in the place of an option of another program; undefined for others.
 * @param beside the map with the option.
 */
export function foreign(key: string, path: Path, beside: unknown): string | undefined {
  if ((key === 'port' || key === 'host') && isMap(beside)) {
    if (path.length === 0) return `; ${listen(beside)}`;
    if (path.length === 2 && path[0] === 'mcpServers') return `; ${serverAddress(beside)}`;
  }
  const place = [...path.filter((part) => typeof part === 'string'), key].join('.');
  // The second step is the name of a server or of a composite tool, which `*` stands for.
  for (const found of [place, place.replace(/^(mcpServers|composites)\.[^.]+\./, '$1.*.')])
    if (Object.hasOwn(elsewhere, found)) return `; ${elsewhere[found] as string}`;
  if (path.length === 1 && path[0] === 'tls' && (key === 'cert' || key === 'key')) return `; write ${key}File`;
  const named = path.length === 2 ? path[0] : undefined;
  const rows =
    path.length === 0 ? atTop : named === 'mcpServers' ? underServer : named === 'profiles' ? underProfile : {};
  return Object.hasOwn(rows, key) ? `; ${rows[key] as string}` : undefined;
}
