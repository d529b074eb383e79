/**
 * The configuration: shape, default, unit and documentation of every option in one place. `docs/config.md` and
 * `docs/omnibus.schema.json` are generated from it.
 */
import { defaultLimits, isToken, type Limits } from '@omnibus/protocol';
import { z } from 'zod';
import { accessSchema } from './access-schema.ts';
import { auditSchema } from './audit-schema.ts';
import { authSchema } from './auth-schema.ts';
import { credentialsSchema, vaultSchema } from './credentials-schema.ts';
import { durationHint, durationProblem, parseDurationMs } from './duration.ts';
import { limitRules } from './limit-rules.ts';

const givenDuration = z.union([z.string(), z.number()], { error: `expected ${durationHint}` })
  .refine((value) => durationProblem(value) === undefined, { error: ({ input }) => durationProblem(input) })
  .transform((value) => parseDurationMs(value) as number);
const duration = (fallback: string) => givenDuration.prefault(fallback);
const optionalDuration = givenDuration.optional();

const name = z.string().refine(isToken, { error: 'expected 1 to 64 characters of letters, digits, "_" and "-"' });
const hostPort = z.string({ error: ({ input }) => hostPortProblem(String(input)) }).refine(isHostPort, { error: ({ input }) => hostPortProblem(String(input)) });
const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], { error: 'expected an IP address or a network such as "10.0.0.0/8"' });
const urlWords = 'expected an http://, https://, ws:// or wss:// address';
const serverUrl = z.url({ protocol: /^(https?|wss?)$/, error: ({ input }) => (typeof input === 'string' && /^[\w.-]+(:\d+)?(\/|$)/.test(input) && /[.:]/.test(input) ? `${urlWords}: write "${/^(localhost|127\.|\d+\.)/.test(input) ? 'http' : 'https'}://${input}"` : urlWords) });
const count = (fallback: number) => z.int().positive().default(fallback);

function isHostPort(text: string): boolean {
  return hostPortProblem(text) === undefined;
}

function hostPortProblem(text: string): string | undefined {
  const found = /^(\[[^\]]+\]|[^:[\]/]+):(\d+)$/.exec(text);
  if (found !== null) return Number(found[2]) <= 65_535 ? undefined : 'expected HOST:PORT with a port of at most 65535, for example "127.0.0.1:7300"';
  const [port] = /\d+$/.exec(text) ?? [];
  if (/^:?\d{1,5}$/.test(text)) return `expected HOST:PORT: write "127.0.0.1:${port as string}" for programs of this machine alone, or "0.0.0.0:${port as string}" for everybody who reaches it`;
  return /^https?:/.test(text) ? 'expected HOST:PORT without http:// and path, for example "127.0.0.1:7300"' : 'expected HOST:PORT, for example "127.0.0.1:7300"';
}

/** Reserved because `/mcp/<name>` is an endpoint for each of these. */
const prefixMode = z.enum(['auto', 'always', 'never']);

/** As issuers, keys and proxies say them. */
const tenants = z.array(z.string().min(1).max(255)).min(1).max(1_000).optional();

const toolSettings = z.strictObject({
  timeout: optionalDuration.describe('Time without an answer or progress after which a call of this tool is given up.'),
  maxTime: optionalDuration.describe('Time after which a call of this tool is given up whatever happens.'),
});

/** Keys that desktop clients keep beside a server for themselves. They are accepted, said to mean nothing here, and taken out. */
export const ignoredServerKeys = ['autoApprove', 'alwaysAllow', 'trust', 'gallery', 'version', 'icon', 'oauth', 'dev'] as const;

/** `!(…)` and its like, which other globs have: taken word for word, they would take nothing away. */
const extendedGlob = /[?*+@!]\(/;
const toolGlob = z.string().min(1).refine((glob) => !extendedGlob.test(glob), 'a group in parentheses has no meaning in a glob here; give a glob for each part');

const server = z.strictObject({
  description: z.string().optional().describe('For people.'),
  type: z.enum(['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse', 'websocket', 'ws']).optional()
    .describe('How to talk to the server. Follows from `url` or `command` when left out: with `url`, Streamable HTTP, or HTTP+SSE (`sse`) with a server that knows nothing newer.'),
  command: z.string().min(1).optional().describe('A program to start. Without `url` it speaks MCP on stdin and stdout.'),
  args: z.array(z.string()).default([]).describe('Arguments of the program.'),
  env: z.record(z.string(), z.string()).default({}).describe('Environment of the program, besides PATH, HOME and the like. Secret.'),
  envFile: z.string().min(1).optional().describe('A file with more of it, a line `NAME=value` each; what `env` says comes first. Read with the configuration, from its folder. Secret.'),
  user: z.string().regex(/^(\d{1,9}(:\d{1,9})?|[a-z_][a-z0-9_-]{0,31})$/, { error: 'expected the name of a user, UID or UID:GID' }).optional()
    .describe('Whom the program runs as, where the gateway runs as root: a user of the machine, UID or UID:GID. Programs of one user can read each other\'s environment and memory, and the gateway\'s memory when it is theirs; a user for each keeps them apart.'),
  cwd: z.string().optional().describe('Folder the program starts in; default: the one of the configuration file.'),
  url: serverUrl.optional().describe('Address of a server over HTTP, or over a WebSocket (`ws://`). With `command`, the program is started first and serves this address.'),
  headers: z.record(z.string(), z.string()).default({}).describe('Sent with every request to `url`, for example `Authorization`. Secret.'),
  credentials: credentialsSchema.optional().describe('On whose behalf the server at `url` is called (docs/credentials.md). Without, `headers` say it, for everybody alike.'),
  disabled: z.boolean().default(false).describe('Keeps the entry without connecting to it.'),
  tenants: tenants.describe('Tenants whose callers the server is for; to everybody else it is not there, and neither is anything of it. Default: everybody.'),
  timeout: optionalDuration.describe('Time without an answer or progress after which a call is given up. Default: `timeouts.call`.'),
  maxTime: optionalDuration.describe('Time after which a call is given up whatever happens. Default: `timeouts.max`.'),
  connectTimeout: duration('30s').describe('Time to start, connect and initialize.'),
  era: z.enum(['auto', 'legacy', 'modern']).default('auto')
    .describe('Whether the server has sessions (legacy: up to 2025-11-25) or every request stands alone (modern: 2026-07-28). auto: it is asked.'),
  isolation: z.enum(['auto', 'shared', 'principal', 'session']).default('auto')
    .describe('Who shares a connection to the server, and the program behind it. auto: callers that a server may ask nothing share one, but each known caller (`auth`) has his own where the server keeps something, in a program or for a session over HTTP; each other session, and each request without a session, has its own. session: nobody shares. principal: the same, but the sessions of one known caller share. shared: everybody; then a server can ask something only in answer to a call on that call\'s own stream, and never for roots.'),
  validation: z.enum(['off', 'warn', 'enforce']).default('warn')
    .describe('Whether arguments and results of tools, arguments of prompts, and answers to what the server asks are held against what was promised or asked. warn: what does not fit is logged and counted; enforce: it is refused with the name of the member.'),
  definitions: z.enum(['off', 'warn', 'pin']).default('off')
    .describe('Whether what the server says of itself is held against what was approved: names, descriptions, schemas and hints of its tools, prompts and resource templates, and its instructions. What it says when it is seen first is approved. warn: a change is logged, counted and shown by `omnibus definitions`. pin: besides, changed words are not shown, and what is new, or takes, gives or does something else, is held back until somebody approves it.'),
  hints: z.enum(['ignore', 'believe']).default('ignore')
    .describe('Whether rules (`access`) may go by what its tools say of themselves, such as `readOnlyHint`. Nobody checks that: believe it of servers that are yours, or whose word is as good.'),
  rereadLists: duration('5m').describe('Time after which its lists are read again although it has announced no change, as long as a client uses it; sooner where it gives a shorter time to live. 0: never. After every gap in what it tells they are read anyway.'),
  sleepAfter: duration('0s').describe('Time without a call after which the connection to the server is closed, and its program ended; the next call brings it back, and its lists stay as they were meanwhile. Not while a task, a subscription or a connection of a caller\'s own needs it. 0: never.'),
  concurrency: count(128).describe('Requests the server works on at once. Of 16 and more, one session has three quarters at most.'),
  maxConnections: count(200).describe('Connections for callers of their own, each with a program of its own on stdio. One that nobody uses is closed before a caller is refused.'),
  maxWaiting: z.int().nonnegative().default(1_000).describe('Requests that may wait for a place, of which one session has three quarters at most; more are refused with "server busy". Sessions take turns.'),
  restart: z.strictObject({
    minDelay: duration('500ms').describe('Wait before the first new attempt.'),
    maxDelay: duration('30s').describe('Longest wait between attempts.'),
  }).prefault({}).describe('Back-off after a server is lost. The wait doubles with each failure, with some randomness, until the server has been up for `maxDelay`.'),
  tools: z.record(z.string(), toolSettings).default({}).describe('Settings of single tools, by the name the server gives them.'),
  includeTools: z.array(toolGlob).optional().describe('The tools of this server that anybody is shown and may call, at every endpoint: names that the server gives them, or globs such as "get_*". Default: all.'),
  excludeTools: z.array(toolGlob).default([]).describe('Tools of this server that nobody is shown or may call, at any endpoint, whatever else is said of them: names or globs.'),
});

const profile = z.strictObject({
  description: z.string().optional().describe('For people.'),
  tenants: tenants.describe('Tenants whose callers the profile is for; to everybody else there is no such endpoint. Servers with `tenants` of their own are in it for theirs alone. Default: everybody.'),
  servers: z.array(name).optional().describe('Servers of this profile, in the order of its lists. Default: all.'),
  tools: z.array(toolGlob).optional()
    .describe('Globs over `server/tool`, for example "github/get_*" or "github/*" for all of a server. "!" in front takes away. Default: all tools.'),
  rename: z.record(z.string(), z.string()).default({}).describe('New public names, by `server/tool`.'),
  pin: z.record(z.string(), z.record(z.string(), z.unknown())).default({})
    .describe('Argument values fixed by `server/tool`; they disappear from the schema and clients cannot change them.'),
  prefix: prefixMode.optional().describe('Overrides the global `prefix`.'),
});

const limit = (option: keyof Limits, maximum = Number.MAX_SAFE_INTEGER) => z.int().positive().max(maximum).default(defaultLimits[option]);

const shape = z.strictObject({
  $schema: z.string().optional().describe('Address of the JSON Schema, for editors.'),
  listen: hostPort.default('127.0.0.1:7300').describe('Where clients connect. Only this machine unless you say otherwise.'),
  tls: z.strictObject({
    certFile: z.string().min(1).describe('The certificate that clients are shown, and those between it and its authority, PEM.'),
    keyFile: z.string().min(1).describe('Its key, PEM, without a password.'),
    admin: z.boolean().default(false).describe('Whether the admin port speaks TLS too, with the same certificate. Probes and Prometheus then have to ask it over https.'),
  }).optional().describe('TLS for clients, on `listen`. Both files are followed: new connections are shown the new certificate. Default: plain HTTP, for this machine or behind a proxy.'),
  admin: hostPort.default('127.0.0.1:7301').describe('Where /metrics, /status, /healthz, /readyz and what `auth.admin` is about are served.'),
  bus: z.string().regex(/^(memory|(nats|tls):\/\/.+)$/, { error: 'expected "memory" or "nats://host:port"' }).default('memory')
    .describe('What the parts of the gateway talk over: in one process ("memory"), or NATS: "nats://host:port", several separated by commas, "tls://host:port" where nothing may be said in the clear.'),
  nats: z.strictObject({
    prefix: name.default('omnibus').describe('First word of every subject, bucket and stream there: installations with different ones share a NATS, or an account of one, and do not see each other. The same for all processes of one.'),
    region: name.optional().describe('Where this process runs, where NATS reaches over several places: sessions are opened and calls made at processes of the same region while there is one that can.'),
    domain: name.optional().describe('The JetStream domain that everything is stored in, where it is not that of the NATS this process is connected to: behind a leaf node, that of the hub.'),
    user: z.string().min(1).optional().describe('The user this process is at NATS; with `password`. One of user, token, NKey and credentials file, or none.'),
    password: z.string().min(1).optional().describe('Secret: "${NATS_PASSWORD}" takes it from the environment, "${file:/run/secrets/nats}" from a file.'),
    token: z.string().min(1).optional().describe('A token instead of a user. Secret.'),
    nkeyFile: z.string().min(1).optional().describe('A file with the seed of an NKey. Read for each connection, so that it can be replaced without a restart.'),
    credentialsFile: z.string().min(1).optional().describe('A credentials file with a JWT, as `nsc` writes it. Read for each connection.'),
    tls: z.strictObject({
      caFile: z.string().min(1).optional().describe('Certificates of the authority that signed those of NATS, PEM. Default: the authorities that Node knows.'),
      certFile: z.string().min(1).optional().describe('The certificate this process shows, PEM; with `keyFile`.'),
      keyFile: z.string().min(1).optional().describe('Its key, PEM.'),
      handshakeFirst: z.boolean().optional().describe('TLS begins before NATS has said anything (`handshake_first` there).'),
    }).optional().describe('TLS is used, and NATS without it is not talked to, when this is there or an address begins with tls://.'),
  }).prefault({}).describe('Where this installation is on its NATS, and how this process shows who it is. All files are read again for each connection.'),
  prefix: prefixMode.default('auto').describe('Whether tools and prompts are named `server__tool`. auto: when an endpoint has more than one server.'),
  pageSize: count(1_000).describe('Entries of one page of a list.'),
  timeouts: z.strictObject({
    call: duration('60s').describe('Time without an answer or progress after which a call is given up.'),
    max: duration('10m').describe('Time after which a call is given up whatever happens.'),
    human: duration('10m').describe('Time a client has to answer what a server asks of its user. A call does not age meanwhile.'),
    task: duration('1h').describe('Time a client may wait for the result of a task (2025-11-25) in one request.'),
    idleSession: duration('1h').describe('Time without a request or an open stream after which a session ends.'),
    unusedSession: duration('1m').describe('Time after which a session ends whose client has never confirmed that it is there (`notifications/initialized`), and has asked nothing.'),
    request: duration('60s').describe('Time a client has to send a request whole. Its headers have to be there after a quarter of it.'),
    leave: duration('0s').describe('Time a stopping edge goes on serving while it sends its clients away, each with the end of its next answer: longer than a load balancer takes to notice. Only where other edges serve meanwhile.'),
    drain: duration('10s').describe('Time a stopping gateway gives running calls.'),
  }).prefault({}),
  publicUrl: z.url({ protocol: /^https?$/, error: 'expected the https:// address that clients use' }).refine((text) => !URL.canParse(text) || `${new URL(text).origin}/` === new URL(text).href, { error: 'expected an address without a path, such as "https://mcp.example.com"' })
    .transform((text) => text.replace(/\/$/, '')).optional().describe('Where clients find the gateway, without a path: "https://mcp.example.com". What tokens are for follows from it, never from what a request says.'),
  auth: authSchema.optional()
    .describe('How callers are known (docs/identity.md). Without, everybody is `anonymous`. none: the same, said on purpose.'),
  access: accessSchema.optional()
    .describe('Who may see and use what of the servers (docs/policy.md). Without, whoever may connect may use everything. Followed without a restart.'),
  vault: vaultSchema.optional()
    .describe('Where is kept what users have connected to servers (`credentials: { kind: oauth }`, docs/credentials.md).'),
  security: z.strictObject({
    allowedHosts: z.array(z.string()).optional()
      .describe('Host names clients may use, without port. Default: when listening on this machine only, its own names; else any.'),
    allowedOrigins: z.array(z.string()).default([])
      .describe('Web origins whose pages may connect, such as "https://app.example.com", or "*". Pages served from this machine always may while only it is listened on.'),
    sealingKeyFile: z.string().min(1).optional()
      .describe('A file with the key that seals what clients are given and bring back, such as the ids of tasks: base64 of at least 32 random bytes (`openssl rand -base64 32`), the same for all session workers, and with `auth` for edges, which sign who a caller is; or OMNIBUS_SEALING_KEY_FILE, or the key itself in OMNIBUS_SEALING_KEY. With several, one a line, the first seals and all of them open. A gateway of one process makes its own.'),
    definitionsFile: z.string().min(1).default('omnibus.definitions.json')
      .describe('Where it is kept what was approved of servers with `definitions`, beside the configuration: a file to review and keep with it. Several processes keep it on the bus instead.'),
    trustedProxies: z.array(network).default([])
      .describe('Addresses or networks (`10.0.0.0/8`) of proxies in front of the gateway: a client\'s address is then what they say in `X-Forwarded-For` or `Forwarded`. Without, everybody behind a proxy shares its address.'),
  }).prefault({}),
  log: z.strictObject({
    level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
    format: z.enum(['auto', 'json', 'pretty']).default('auto').describe('auto: pretty on a terminal, JSON elsewhere.'),
  }).prefault({}),
  tracing: z.strictObject({
    endpoint: z.url({ protocol: /^https?$/, error: 'expected the http:// address of an OTLP receiver' }).optional()
      .describe('Where traces are sent: an OTLP receiver over HTTP, such as "http://127.0.0.1:4318". Default: OTEL_EXPORTER_OTLP_ENDPOINT; without either there are none.'),
    headers: z.record(z.string(), z.string()).default({}).describe('Sent along, for example `Authorization`. Secret.'),
    sampleRatio: z.number().min(0).max(1).default(1).describe('Part of the traces that are sent, of those that begin here. A client that traces decides for its own.'),
  }).prefault({}),
  audit: auditSchema.optional().describe('A record of every call, list, read, refusal, question, sign-in, consent and act of an administrator (docs/audit.md). Default: none.'),
  limits: z.strictObject({
    rules: limitRules.describe('How much callers may use: rates, calls at once, quotas of calls and of results (docs/limits.md). Followed without a restart.'),
    maxBodyBytes: limit('maxBodyBytes').describe('Bytes of one client message.'),
    maxJsonDepth: limit('maxJsonDepth', 1_000).describe('Nesting of one message, of a client or a server.'),
    maxJsonValues: limit('maxJsonValues').describe('Objects, arrays and what they hold in one message, of a client or a server.'),
    maxBatchLength: limit('maxBatchLength').describe('Messages in one batch (2025-03-26).'),
    maxHeaderBytes: limit('maxHeaderBytes').describe('Bytes of all request headers together.'),
    maxPendingBodyBytes: limit('maxPendingBodyBytes').describe('Bytes of bodies that one edge is reading or serving. A quarter is kept for small ones.'),
    maxPendingBodyBytesPerAddress: limit('maxPendingBodyBytesPerAddress').describe('The same of one client address, less the first 64 KB of each body.'),
    maxUnreadBytes: limit('maxUnreadBytes').describe('Bytes of answers that wait at one edge for clients to read them. Beyond it, whoever has not read for longest is cut off.'),
    maxUnreadBytesPerAddress: limit('maxUnreadBytesPerAddress').describe('The same of one client address.'),
    maxConnections: limit('maxConnections').describe('Connections of clients to one edge. Fewer where the process may not have as many files open; the admin port has its own.'),
    maxConnectionsPerAddress: limit('maxConnectionsPerAddress').describe('Connections of one client address, unless it is in `security.trustedProxies`.'),
    sessionBurst: limit('sessionBurst').describe('Sessions one client address may open at one edge at once.'),
    sessionsPerSecond: limit('sessionsPerSecond').describe('Sessions it may open every second after that; one that is ended does not count. More is refused with 429.'),
    maxSessions: limit('maxSessions').describe('Sessions one worker holds.'),
    maxSessionsPerPrincipal: limit('maxSessionsPerPrincipal').describe('Sessions of one known caller on one worker; `anonymous` is nobody.'),
    maxInFlightPerSession: limit('maxInFlightPerSession').describe('Requests of one session that wait for their answer. A client on a WebSocket for which as many frames wait is read no further until it takes some.'),
    maxInFlightWithoutSession: limit('maxInFlightWithoutSession').describe('Requests without a session (2026-07-28) that wait for their answer at one worker. One client may have maxInFlightPerSession of them.'),
    maxParkedPerClient: limit('maxParkedPerClient').describe('Calls of one client that wait at one worker between two requests (2026-07-28), or are kept to be asked for again. The oldest goes first.'),
    maxParked: limit('maxParked').describe('The same of all clients. A client that has none of its own there is refused beyond it.'),
    maxParkedBytes: limit('maxParkedBytes').describe('Bytes of what these calls were sent, asked or answered. One client may have a quarter.'),
    maxListenersPerClient: limit('maxListenersPerClient').describe('Streams of subscriptions (2026-07-28) of one client at one worker.'),
    maxListeners: limit('maxListeners').describe('The same of all clients.'),
    maxStreamsPerSession: limit('maxStreamsPerSession').describe('GET streams of one session.'),
    maxBufferedBytes: limit('maxBufferedBytes').describe('Bytes waiting for a client that does not read; its stream is closed beyond it.'),
    maxKeptBytes: limit('maxKeptBytes').describe('Bytes of messages one session worker keeps for clients that come back to a stream, or have none open. Beyond it, what has waited longest is let go.'),
    maxKeptBytesPerSession: limit('maxKeptBytesPerSession').describe('The same of one session.'),
    maxSessionBytes: limit('maxSessionBytes').describe('Bytes one session worker keeps of what clients declared and subscribed to.'),
    maxSessionBytesPerSession: limit('maxSessionBytesPerSession').describe('The same of one session; an `initialize` that declares more is refused.'),
    maxPreparedListBytes: limit('maxPreparedListBytes').describe('Characters of lists that one session worker keeps prepared for callers who do not see everything (`access`), one for all who may see the same. Beyond it, those used longest ago are made again when they are asked for.'),
    maxUpstreamMessageBytes: limit('maxUpstreamMessageBytes').describe('Bytes of one message from a server.'),
    maxReadingBytes: limit('maxReadingBytes').describe('Bytes of large answers of servers over HTTP that one backend worker reads at once, of which one server has half; others wait until those are whole. One answer of each server is read in any case.'),
    maxCatalogEntries: limit('maxCatalogEntries').describe('Entries of one list of one server.'),
    maxCatalogPages: limit('maxCatalogPages').describe('Pages of one list of one server.'),
    maxCatalogBytes: limit('maxCatalogBytes').describe('Size of one list of one server, in characters of JSON; entries beyond it are left out.'),
    maxCallerConnections: limit('maxCallerConnections').describe('Connections for callers of their own that one process has, over all its servers. One that nobody uses is closed before a caller is refused.'),
    maxCallerPrograms: limit('maxCallerPrograms').describe('Programs that one process runs behind such connections; those it runs for everybody are not counted. Each takes the memory it takes.'),
  }).prefault({}),
  discovery: z.strictObject({
    kubernetes: z.strictObject({
      enabled: z.boolean().default(false).describe('Whether servers are taken from `McpServer` objects and labelled Services too.'),
      namespaces: z.array(z.string()).default([]).describe('Where to look; "*" for the whole cluster. Default: the namespace the gateway runs in.'),
      allowedHosts: z.array(z.string()).default([]).describe('Hosts of a `url` that are allowed although they are, or resolve to, an address of this machine (loopback, the gateway itself), of its link, or where clouds keep credentials. Others are refused for servers from the cluster.'),
      secrets: z.boolean().default(false).describe('Whether an `McpServer` may take headers from Secrets of its namespace that carry the label `omnibus.dev/mcp: "true"`. The gateway has to be allowed to get Secrets.'),
      pods: z.strictObject({
        image: z.string().min(1).describe('The image of this gateway, from which pods take what wraps a program that speaks MCP on stdin and stdout.'),
        commandImage: z.string().min(1).optional().describe('The image that the `command` of an `McpServer` runs in that names none, with npx and uvx for example.'),
        imagePullSecrets: z.array(z.string()).default([]).describe('Secrets of the namespaces of those pods by which these images are fetched.'),
        resources: z.record(z.string(), z.unknown()).default({ requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } }).describe('Requests and limits of a pod whose `McpServer` names none.'),
        from: z.array(z.record(z.string(), z.unknown())).default([]).describe('Who may connect to those pods, as peers of a NetworkPolicy. Default: nobody is kept out.'),
        egress: z.array(z.record(z.string(), z.unknown())).default([{}]).describe('Where those pods may connect to, as rules of a NetworkPolicy. Default: anywhere.'),
      }).optional().describe('How an `McpServer` with `command` or `image` is run, as a pod of its own beside it. Default: not at all. The gateway has to be allowed to apply Deployments, Services, ServiceAccounts and NetworkPolicies.'),
    }).prefault({}),
  }).prefault({}).describe('Servers that are not in this file.'),
  mcpServers: z.record(name, server).default({}).describe('The servers behind the gateway, in the order of its lists.'),
  profiles: z.record(name, profile).default({}).describe('Named selections, each an endpoint `/mcp/<name>`.'),
});

export const configSchema = shape.superRefine((config, context) => {
  if (config.auth !== undefined && config.auth !== 'none' && config.auth.issuers.length > 0 && config.publicUrl === undefined) {
    context.addIssue({ code: 'custom', message: 'tokens of issuers need `publicUrl`, the address that they are for', path: ['auth', 'issuers'] });
  }
  if (config.auth !== undefined && config.auth !== 'none' && config.auth.server !== undefined) {
    const problem = serverAddressProblem(config.publicUrl, config.auth.issuers.map(({ issuer }) => issuer));
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem, path: ['auth', 'server'] });
  }
  if (config.auth !== undefined && config.auth !== 'none' && config.auth.kubernetes !== undefined && config.publicUrl === undefined && config.auth.audience.length === 0) {
    context.addIssue({ code: 'custom', message: 'tokens of service accounts need `publicUrl`, the address that they are for, or `audience`', path: ['auth', 'kubernetes'] });
  }
  if (config.auth !== undefined && config.auth !== 'none' && config.auth.clientCertificates !== undefined && config.tls === undefined) {
    context.addIssue({ code: 'custom', message: 'certificates of clients need `tls`, over which they are shown', path: ['auth', 'clientCertificates'] });
  }
  for (const [serverName, settings] of Object.entries(config.mcpServers)) {
    const problem = (message: string, ...path: (string | number)[]): void => {
      context.addIssue({ code: 'custom', message, path: ['mcpServers', serverName, ...path] });
    };
    if (settings.command !== undefined && /^[\w.-]+\s+\S/.test(settings.command)) {
      const [program, ...args] = settings.command.trim().split(/\s+/);
      problem(`expected a program alone: write command: ${program as string} and args: ${JSON.stringify([...args, ...settings.args])}`, 'command');
    }
    for (const [option, text] of [['command', settings.command], ['cwd', settings.cwd], ...settings.args.map((arg, index) => [index, arg] as const)] as const) {
      if (text === undefined || !/^[A-Za-z]:[^/]*[\b\t\n\v\f\r]/.test(text)) continue;
      problem('a path of Windows with a control character in it: in double quotes "\\t", "\\n" and the like are one; write \\\\ for each backslash, or /', ...(typeof option === 'number' ? ['args', option] : [option]));
    }
    if (settings.command === undefined && settings.url === undefined) problem('expected "command" (a program to start) or "url" (a server to connect to)');
    if (settings.type === 'stdio' && settings.command === undefined) problem('type "stdio" needs "command"', 'type');
    if (settings.type === 'stdio' && settings.url !== undefined) problem('type "stdio" does not go with "url"', 'url');
    const isWebSocket = settings.url !== undefined && /^wss?:/.test(settings.url);
    if (settings.type !== undefined && settings.url !== undefined && isWebSocket !== (settings.type === 'websocket' || settings.type === 'ws')) problem(`type "${settings.type}" does not go with this "url"`, 'type');
    if (isWebSocket && settings.command !== undefined) problem('a program that serves a WebSocket cannot be started; start it yourself and leave out "command"', 'command');
    if (settings.type === 'sse' && settings.command !== undefined) problem('a program that serves HTTP+SSE cannot be started; start it yourself and leave out "command"', 'command');
    if (settings.type !== undefined && settings.type !== 'stdio' && settings.url === undefined) problem(`type "${settings.type}" needs "url"`, 'type');
    const mistake = credentialsProblem(settings) ?? usersProblem(settings, config);
    if (mistake !== undefined) problem(mistake, 'credentials');
  }
  for (const [profileName, settings] of Object.entries(config.profiles)) {
    const problem = (message: string, ...path: (string | number)[]): void => {
      context.addIssue({ code: 'custom', message, path: ['profiles', profileName, ...path] });
    };
    if (Object.hasOwn(config.mcpServers, profileName)) problem(`a server has this name already, and /mcp/${profileName} can be only one of them`);
    settings.servers?.forEach((serverName, index) => {
      if (!Object.hasOwn(config.mcpServers, serverName)) problem(`there is no server "${serverName}" under mcpServers`, 'servers', index);
    });
    for (const option of ['rename', 'pin'] as const) {
      for (const key of Object.keys(settings[option])) {
        const serverName = key.split('/', 1)[0] as string;
        if (!key.includes('/') || !Object.hasOwn(config.mcpServers, serverName)) problem('expected `server/tool` with a server of mcpServers', option, key);
      }
    }
    const renamedTo = new Map<string, string>();
    for (const [key, to] of Object.entries(settings.rename)) {
      const other = renamedTo.get(to);
      renamedTo.set(to, other ?? key);
      if (other !== undefined) problem(`${other} is called so already, and two tools of one name cannot be told apart`, 'rename', key);
      else if (!/^[A-Za-z0-9_.-]{1,128}$/.test(to)) problem('expected 1 to 128 characters of letters, digits, "_", "-" and "."', 'rename', key);
    }
  }
});

/** Whoever reads along where passwords and tokens go in the clear has them. */
function serverAddressProblem(publicUrl: string | undefined, issuers: readonly string[]): string | undefined {
  if (publicUrl === undefined) return 'an authorization server needs `publicUrl`, the address that its users and clients know';
  if (!publicUrl.startsWith('https:') && !/^http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:|$)/.test(publicUrl)) return 'an authorization server needs a `publicUrl` of https://, unless it is of this machine';
  return issuers.includes(publicUrl) ? '`publicUrl` is this server itself, and not another issuer' : undefined;
}

/** Whoever reads along where a token goes in the clear has it. */
function credentialsProblem({ url, credentials, headers }: z.output<typeof server>): string | undefined {
  if (credentials === undefined) return undefined;
  if (url === undefined) return 'credentials are shown to a server at a `url`; a program is given its own in `env`';
  if (!/^(https|wss):/.test(url) && !/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(new URL(url).hostname)) return 'credentials are sent over TLS alone: the `url` has to be https://, unless it is of this machine';
  if (Object.keys(headers).some((header) => header.toLowerCase() === 'authorization')) return '`headers` say already on whose behalf the server is called';
  const { clientSecret, privateKey, assertionFile } = { privateKey: undefined, assertionFile: undefined, ...credentials };
  const shown = Object.entries({ clientSecret, privateKey, assertionFile }).filter(([, value]) => value !== undefined).map(([option]) => option);
  if (credentials.kind === 'client' && shown.length !== 1) return 'expected one of `clientSecret`, `privateKey` and `assertionFile`';
  return shown.length === 0 || credentials.issuer !== undefined ? undefined : `\`${shown[0] as string}\` needs \`issuer\`, the one that it is for: without it, it is shown to whichever issuer the server names`;
}

/** Whoever opens the address of a sign-in has to show who he is. */
function usersProblem({ credentials }: z.output<typeof server>, config: z.output<typeof shape>): string | undefined {
  return credentials?.kind !== 'oauth' || isForOneUser(config) ? undefined : 'one user signs in for a server, at a page that cannot tell users apart yet: that takes a gateway that only programs of this machine reach, by `listen` and by `publicUrl`, without `auth`';
}

const thisMachine = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether everybody who can reach a gateway is the one user of its machine: a `publicUrl` elsewhere says that something leads others to it. */
export function isForOneUser({ auth, listen, publicUrl }: Pick<z.output<typeof shape>, 'auth' | 'listen' | 'publicUrl'>): boolean {
  return (auth === undefined || auth === 'none') && thisMachine.test(listen.slice(0, listen.lastIndexOf(':'))) && (publicUrl === undefined || thisMachine.test(new URL(publicUrl).hostname));
}

export type Config = z.output<typeof configSchema>;
/**
 * `addresses`: only on servers that others add; they may not be at addresses of this machine and the like but on these hosts. `isStarted`: somebody
 * starts the server when it is needed, so that it is waited for. `problem`: why it cannot be connected to, whatever else is said of it: a reference in
 * it leads nowhere.
 */
export type ServerConfig = Config['mcpServers'][string] & { readonly addresses?: { readonly allowedHosts: readonly string[] } | undefined; readonly isStarted?: boolean | undefined; readonly problem?: string | undefined };
export type ProfileConfig = Config['profiles'][string];

/** The JSON Schema of what a user may write, for editors. */
export function configJsonSchema(): object {
  return z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' });
}
