/**
 * The configuration: shape, default, unit and documentation of every option in one place. `docs/reference/config.md` and
 * `docs/reference/omnibus.schema.json` are generated from it.
 */
import { defaultLimits, isToken, type Limits } from '@omnibus/protocol';
import { z } from 'zod';
import { accessSchema } from './access-schema.ts';
import { auditSchema } from './audit-schema.ts';
import { authSchema, tenantName } from './auth-schema.ts';
import { codeSchema } from './code-schema.ts';
import { compositesSchema } from './composites-schema.ts';
import { consoleSchema } from './console-schema.ts';
import { credentialsSchema, vaultSchema } from './credentials-schema.ts';
import { guardrailsSchema } from './guardrails-schema.ts';
import { limitRules } from './limit-rules.ts';
import { listingSchema } from './listing-schema.ts';
import { resultsSchema } from './results-schema.ts';
import { hostOf } from './loopback.ts';
import { openapiSchema } from './openapi-schema.ts';
import { sandboxSchema } from './sandbox-schema.ts';
import { searchModelSchema } from './search-model-schema.ts';
import { secretsSchema } from './secrets-schema.ts';
import { shapeOptions } from './shape-schema.ts';
import { serverTlsSchema } from './server-tls-schema.ts';
import { hostName, webOrigin } from './web-names.ts';
import {
  duration,
  givenDuration,
  nonEmpty,
  offByDefault,
  onByDefault,
  optionalText,
  textMap,
} from './plain-options.ts';

const optionalDuration = givenDuration.optional();

const name = z.string().refine(isToken, { error: 'expected 1 to 64 characters of letters, digits, "_" and "-"' });
const hostPort = z
  .string({ error: ({ input }) => hostPortProblem(String(input)) })
  .refine(isHostPort, { error: ({ input }) => hostPortProblem(String(input)) });
const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'expected an IP address or a network such as "10.0.0.0/8"',
});
const urlWords = 'expected an http://, https://, ws:// or wss:// address';
const serverUrl = z.url({
  protocol: /^(https?|wss?)$/,
  error: ({ input }) => {
    if (typeof input === 'number') return `${urlWords}: write "http://127.0.0.1:${input}/mcp"`;
    if (typeof input !== 'string') return urlWords;
    if (/\s/.test(input)) return `${urlWords} without blanks`;
    if (/^\w+:\/\/[^/?#@:]+:(?!\d+[/?#])[^@]*[/?#][^@]*@/.test(input))
      return `${urlWords} whose password has no "/", "?" or "#": write %2F, %3F or %23 for these`;
    const [, port] = /^\w+:\/\/[^/?#@]+:([^/?#:@\]]*)(?=[/?#]|$)/.exec(input) ?? [];
    if (port !== undefined && !(/^\d+$/.test(port) && Number(port) <= 65_535))
      return `"${port}" is no port: write a number up to 65535, or leave out ":${port}"`;
    const [, scheme, rest] = /^(https?|wss?)[:;]?\/{1,2}([\w.[-][\w.:/[\]-]*)$/i.exec(input) ?? [];
    if (scheme !== undefined && rest !== undefined) return `${urlWords}: write "${scheme.toLowerCase()}://${rest}"`;
    return /^[\w.-]+(:\d+)?(\/|$)/.test(input) && /[.:]/.test(input)
      ? `${urlWords}: write "${/^(localhost|127\.|\d+\.)/.test(input) ? 'http' : 'https'}://${input}"`
      : urlWords;
  },
});
const count = (fallback: number) => z.int().positive().default(fallback);

function isHostPort(text: string): boolean {
  return hostPortProblem(text) === undefined;
}

function hostPortProblem(text: string): string | undefined {
  const found = /^(\[[^\]]+\]|[^:[\]/]+):(\d+)$/.exec(text);
  if (found?.[1] === '*') return `expected HOST:PORT: write "0.0.0.0:${found[2]}" for all addresses of this machine`;
  if (found !== null && Number(found[2]) > 65_535)
    return 'expected HOST:PORT with a port of at most 65535, for example "127.0.0.1:7300"';
  if (found !== null)
    return hostOf(text) === undefined
      ? 'expected HOST:PORT with the name or an address of this machine, for example "127.0.0.1:7300"'
      : undefined;
  const [, v6, ofV6] = /^([\da-f]*:[\da-f:]*):(\d+)$/i.exec(text) ?? [];
  if (v6 !== undefined && ofV6 !== undefined) return `expected HOST:PORT: write "[${v6}]:${ofV6}"`;
  const [, address] = /^([^:[\]/]+:\d+)\//.exec(text) ?? [];
  if (address !== undefined)
    return `expected HOST:PORT without a path: write "${address}"; the path of clients is /mcp`;
  const [port] = /\d+$/.exec(text) ?? [];
  if (/^:?\d+$/.test(text) && Number(port) > 65_535)
    return 'expected HOST:PORT with a port of at most 65535, for example "127.0.0.1:7300"';
  if (/^:?\d+$/.test(text))
    return `expected HOST:PORT: write "127.0.0.1:${port as string}" for programs of this machine alone, or "0.0.0.0:${port as string}" for every client that reaches it`;
  const [, ofUrl] = /^https?:\/\/([^:/[\]]+:\d+)/.exec(text) ?? [];
  return /^https?:/.test(text)
    ? `expected HOST:PORT without http:// and path: write "${ofUrl ?? '127.0.0.1:7300'}"`
    : 'expected HOST:PORT, for example "127.0.0.1:7300"';
}

function busWords(text: string): string {
  const host = /^[\w.-]+:\d{1,5}$/.test(text) ? text : /^nats$/i.test(text) ? '127.0.0.1:4222' : undefined;
  return `expected "memory" or "nats://host:port"${host === undefined ? '' : `: write "nats://${host}"`}`;
}

const proxy = z
  .union([
    z.literal('none'),
    z.url({ protocol: /^https?$/, error: 'expected the http:// or https:// address of a proxy, or "none"' }),
  ])
  .optional();

const prefixMode = z.enum(['auto', 'always', 'never']);

const tenants = z.array(tenantName).min(1).max(1_000).optional();

const maxResultBytes = z.int().positive().optional();
const toolSettings = z.strictObject({
  timeout: optionalDuration.describe(
    'A call of this tool times out after this time without an answer or progress. Default: `timeout` of the server.',
  ),
  maxTime: optionalDuration.describe(
    'A call of this tool times out after this time, even while it reports progress. Default: `maxTime` of the server.',
  ),
  maxResultBytes: maxResultBytes.describe(
    'A result of this tool that is larger, as JSON, is refused with `result.too_large`. Default: `maxResultBytes` of the server.',
  ),
  ...shapeOptions,
});

/** Keys that desktop clients write into a server's entry for their own use. They are removed when a file is read, with a note that they have no effect here. */
export const ignoredServerKeys = [
  'autoApprove',
  'alwaysAllow',
  'trust',
  'gallery',
  'version',
  'icon',
  'oauth',
  'dev',
] as const;

/** Extended globs such as `!(…)`, which other programs know. Read literally they would match nothing, so an exclusion written that way would exclude nothing. */
const extendedGlob = /[?*+@!]\(/;
const toolGlob = nonEmpty.refine(
  (glob) => !extendedGlob.test(glob),
  'a group in parentheses has no meaning in a glob here; give a glob for each part',
);

const server = z.strictObject({
  description: z.string().optional().describe('A note for the readers of this file.'),
  type: z
    .enum(['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse', 'websocket', 'ws'])
    .optional()
    .describe(
      'The transport to the server. Default: stdio with `command` alone; WebSocket where `url` begins with `ws`; else Streamable HTTP, and HTTP+SSE (`sse`) where the server knows nothing newer.',
    ),
  command: optionalText.describe('A program to start. Without `url` it speaks MCP on stdin and stdout.'),
  args: z.array(z.string()).default([]).describe('Arguments of the program.'),
  env: textMap.describe(
    'Environment variables of the program, in addition to PATH, HOME and a few others that it always gets. Secret.',
  ),
  envFile: optionalText.describe(
    'A file with more environment variables, one `NAME=value` on each line; a relative path starts at the folder of the configuration file. Where both name a variable, `env` wins. Read whenever the configuration is. Secret.',
  ),
  user: z
    .string()
    .regex(/^(\d{1,9}(:\d{1,9})?|[a-z_][a-z0-9_-]{0,31})$/, { error: 'expected the name of a user, UID or UID:GID' })
    .optional()
    .describe(
      "The user that the program runs as, where the gateway runs as root: a name, UID or UID:GID. Programs of one user can read each other's environment and memory, and the gateway's too if it runs as the same user; a user for each server keeps them apart.",
    ),
  sandbox: sandboxSchema
    .optional()
    .describe(
      'Runs the program in namespaces of its own (Linux, by bubblewrap): without network, with the programs of the system and the paths named here only (docs/how-to/security.md). Default: the program may do what its user may.',
    ),
  cwd: z.string().optional().describe('Folder the program starts in. Default: the folder of the configuration file.'),
  url: serverUrl
    .optional()
    .describe(
      'Address of a server over HTTP or WebSocket (`ws://`). With `command` as well, the gateway starts that program, which then serves this address.',
    ),
  openapi: openapiSchema
    .optional()
    .describe(
      'Makes the operations of an HTTP API the tools of this server (docs/how-to/openapi.md): its OpenAPI document, a file or an address, or an object with more. `url` is the address of the API; default: the first of the `servers` of the document.',
    ),
  headers: textMap.describe(
    'HTTP headers that are sent with every request to `url`, for example `Authorization`. `{principal.subject}`, `{principal.issuer}`, `{principal.tenant}`, `{principal.groups}` and `{principal.claims.NAME}` stand for proven facts about the caller; each caller then has separate connections and lists (docs/how-to/credentials.md). Secret.',
  ),
  absentFacts: z
    .enum(['refuse', 'omit'])
    .default('refuse')
    .describe(
      'What becomes of a header with a fact that the caller does not have. refuse: the call is refused with `upstream.caller_fact`. omit: the server is called without the header.',
    ),
  tls: serverTlsSchema
    .optional()
    .describe(
      'TLS with the server at `url`: a certificate that the gateway shows there (mutual TLS), and the authorities that it believes (docs/how-to/credentials.md). Files are read for each new connection.',
    ),
  credentials: credentialsSchema
    .optional()
    .describe(
      'The identity that calls of the server at `url` use (docs/how-to/credentials.md). Default: the calls of all callers carry the same `headers`.',
    ),
  disabled: offByDefault.describe('true: the entry stays in the file and the server is not used.'),
  tenants: tenants.describe(
    'Only callers of these tenants can see and use the server; for all others it does not exist. Default: all callers.',
  ),
  timeout: optionalDuration.describe(
    'A call of this server times out after this time without an answer or progress. Default: `timeouts.call`.',
  ),
  maxTime: optionalDuration.describe(
    'A call of this server times out after this time, even while it reports progress. Default: `timeouts.max`.',
  ),
  maxResultBytes: maxResultBytes.describe(
    "A result of the server's tools, prompts and resources that is larger, as JSON, is refused with `result.too_large`: it does not reach the client, nor the context of its model. Default: only `limits.maxUpstreamMessageBytes`.",
  ),
  proxy: proxy.describe(
    'The proxy through which `url` and the issuers of `credentials` are reached, such as "http://proxy.example:3128", by CONNECT also where `url` begins with http://; "none": no proxy. Default: `proxy` of the gateway, or the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY, which never lead to addresses of this machine. Secret.',
  ),
  connectTimeout: duration('30s').describe('Time the server has to start, accept the connection and be initialized.'),
  era: z
    .enum(['auto', 'legacy', 'modern'])
    .default('auto')
    .describe(
      'legacy: the server speaks a revision up to 2025-11-25, in which a connection is initialized first. modern: it speaks 2026-07-28, in which every request stands alone. auto: the gateway asks the server.',
    ),
  isolation: z
    .enum(['auto', 'shared', 'principal', 'session'])
    .default('auto')
    .describe(
      "Which callers share a connection to the server, and the program behind it. auto: at a server of a revision up to 2025-11-25, each session whose client declared a feature for questions (sampling, elicitation, roots) has its own connection, and so has each such request without a session while it runs; all others share one, except that each known caller (`auth`) has its own where the server may keep state, in a program or in an HTTP session. session: no two sessions share one. principal: like session, but the sessions of one known caller share one. Clients with extensions that matter to such a server share a further connection, which declares these. shared: all callers share one; the server can then send a question only on the stream of that client's call, and can never ask for roots.",
    ),
  validation: z
    .enum(['off', 'warn', 'enforce'])
    .default('warn')
    .describe(
      "Whether the gateway checks arguments and results of tools against their schemas, arguments of prompts against what the prompt declares, clients' answers to the server's questions against the question, and the shape of results and questions against the specification. warn: a mismatch is logged and counted. enforce: the gateway refuses it, names the member in the error, and repairs nothing that violates the specification.",
    ),
  definitions: z
    .enum(['off', 'warn', 'pin'])
    .default('off')
    .describe(
      "Whether the server's definitions are compared with the approved ones (docs/how-to/definitions.md): names, descriptions, schemas and hints of its tools, prompts and resource templates, and its instructions. The definitions at the first connection count as approved. warn: a change is logged, counted and shown by `omnibus definitions`. pin: also, clients keep seeing the approved texts, and the gateway withholds a new tool, prompt or template, or one with a change beyond its texts, until an operator approves it.",
    ),
  flow: z
    .enum(['outside', 'shared', 'store', 'closed'])
    .optional()
    .describe(
      'For `flow: guarded` (docs/how-to/flow.md): the people that read and write the data of the server. outside: strangers, such as the web; its results are untrusted, and each request to it sends. shared: the user and strangers, such as mail; its results are untrusted and private, and its tools that write send. store: the user, or an organization, and text of strangers may wait in it, such as notes that an assistant writes; its results are untrusted and private, and no tool sends. closed: the user, or an organization; its results are private, and no tool sends. Default: as the trusted hints of each tool say; without them, all results are untrusted and private, and all tools send.',
    ),
  hints: z
    .enum(['ignore', 'believe'])
    .default('ignore')
    .describe(
      "Whether rules of `access` and `limits` may rely on the hints of the server's tools, such as `readOnlyHint`. The gateway cannot check hints: choose `believe` only for servers that you run, or whose operator you trust as much.",
    ),
  rereadLists: duration('5m').describe(
    'While clients use the server, its lists are read again after this time even if it announced no change, and sooner where the server gives a shorter time to live. 0: never. They are always read again when the connection that carries its announcements was interrupted.',
  ),
  sleepAfter: duration('0s').describe(
    "After this time without a call the connection to the server is closed and its program ended; its lists stay as they were, and the next call brings the server back. It stays up while a task, a subscription or a caller's own connection needs it. 0: never.",
  ),
  concurrency: count(128).describe(
    'Requests that the server works on at the same time. Where this is 16 or more, one session takes at most three quarters of the places.',
  ),
  maxConnections: count(200).describe(
    'Connections to the server that belong to single callers or sessions (`isolation`); on stdio each has its own program. If all are in use, the gateway closes an idle one before it refuses a caller.',
  ),
  maxWaiting: z
    .int()
    .nonnegative()
    .default(1_000)
    .describe(
      'Requests that may wait for one of the places of `concurrency`; one session may have at most three quarters of them, and sessions take turns. Further requests are refused with `upstream.busy`.',
    ),
  restart: z
    .strictObject({
      minDelay: duration('500ms').describe('Wait before the first attempt to reconnect.'),
      maxDelay: duration('30s').describe('Longest wait between two attempts.'),
    })
    .prefault({})
    .describe(
      'How long the gateway waits before it connects again to a server that was lost. The wait doubles with each failure, with some randomness, and starts over once the server has been up for `maxDelay`.',
    ),
  tools: z
    .record(z.string(), toolSettings)
    .default({})
    .describe('Settings of single tools, keyed by the names that the server gives them.'),
  includeTools: z
    .array(toolGlob)
    .optional()
    .describe(
      'Callers can see and call these tools of the server only, at every endpoint: names as the server lists them, or globs such as "get_*". Default: all.',
    ),
  excludeTools: z
    .array(toolGlob)
    .default([])
    .describe(
      'Tools of the server that no caller can see or call, at any endpoint: names or globs. This overrides `includeTools` and every profile.',
    ),
});

const listing = listingSchema(toolGlob);
const results = resultsSchema(toolGlob);
const flowSchema = z.enum(['rules', 'guarded']);

const profile = z.strictObject({
  description: z.string().optional().describe('A note for the readers of this file.'),
  tenants: tenants.describe(
    'Only callers of these tenants can use the profile; for all others its endpoint does not exist. A server with its own `tenants` appears in it to callers of those only. Default: all callers.',
  ),
  servers: z.array(name).optional().describe('Servers of this profile; its lists are in this order. Default: all.'),
  tools: z
    .array(toolGlob)
    .optional()
    .describe(
      'Globs over `server/tool`, for example "github/get_*", or "github/*" for all tools of a server. A glob with "!" in front excludes its matches. Default: all tools.',
    ),
  rename: textMap.describe('New public names of tools, keyed by `server/tool`.'),
  pin: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .default({})
    .describe(
      'Fixed values of arguments, keyed by `server/tool`. Such an argument disappears from the schema that clients see, and they cannot change it.',
    ),
  prefix: prefixMode.optional().describe('Overrides the global `prefix` at this endpoint.'),
  listing: listing.optional().describe('Overrides the global `listing` at this endpoint.'),
  results: results.optional().describe('Overrides the global `results` at this endpoint.'),
  composites: z
    .array(z.string())
    .optional()
    .describe('Composite tools of this endpoint, by their names. Default: all whose steps call tools of the endpoint.'),
  flow: flowSchema.optional().describe('Overrides the global `flow` at this endpoint.'),
});

const limit = (option: keyof Limits, maximum = Number.MAX_SAFE_INTEGER) =>
  z.int().positive().max(maximum).default(defaultLimits[option]);

export const shape = z.strictObject({
  $schema: z.string().optional().describe('Address of the JSON Schema of this file, for editors.'),
  listen: hostPort
    .default('127.0.0.1:7300')
    .describe('Address and port that clients connect to. The default accepts connections from this machine only.'),
  tls: z
    .strictObject({
      certFile: nonEmpty.describe(
        'File with the server certificate for clients, followed by any intermediate certificates, PEM.',
      ),
      keyFile: nonEmpty.describe('File with the private key of the certificate, PEM, without a password.'),
      admin: offByDefault.describe(
        'Whether the admin port speaks TLS too, with the same certificate. Probes and Prometheus then have to use https.',
      ),
    })
    .optional()
    .describe(
      'TLS for clients, on `listen`. A running gateway follows both files: new connections get the new certificate. Default: plain HTTP, for programs of this machine, or for a proxy in front that terminates TLS.',
    ),
  admin: hostPort
    .default('127.0.0.1:7301')
    .describe(
      'Address and port of the admin port, which serves /metrics, /status, /healthz, /readyz and the acts of administrators (`auth.admin`).',
    ),
  console: consoleSchema.describe(
    'The page at the admin port. `full`: it shows and changes things. `read`: it changes nothing. `off`: there is no page. `auto`: `full` if the admin port listens on this machine only, or `auth.admin` assigns roles; else `off`. The API (`/api/v1`) is always there; restarts and pauses of servers, ends of sessions and tries need `full`. Or an object with `mode` and more.',
  ),
  bus: z
    .string()
    .regex(/^(memory|(nats|tls):\/\/.+)$/, { error: ({ input }) => busWords(String(input)) })
    .default('memory')
    .describe(
      'What edges, session workers and backends talk over. "memory": all of them run in one process. "nats://host:port": NATS, several addresses separated by commas; "tls://host:port" demands TLS.',
    ),
  sessions: z
    .strictObject({
      store: optionalText.describe(
        'A folder in which a gateway of one process stores its sessions and the last messages of their streams, so that clients stay connected when it is restarted or upgraded (docs/how-to/restarts.md). Only the user of the process can read it. Default: sessions end with the process. Over NATS they are stored there, without this option.',
      ),
    })
    .prefault({})
    .describe('The life of client sessions.'),
  nats: z
    .strictObject({
      prefix: name
        .default('omnibus')
        .describe(
          'First word of every subject, bucket and stream on NATS. All processes of one installation have the same; installations with different prefixes can share a NATS, or an account of one, without seeing each other.',
        ),
      region: name
        .optional()
        .describe(
          'The region this process runs in, for a NATS that spans several. Sessions are opened and calls made at processes of the same region as long as one of them can take them.',
        ),
      domain: name
        .optional()
        .describe(
          'The JetStream domain that everything is stored in. Needed only where it differs from the domain of the NATS server this process is connected to: behind a leaf node, name the domain of the hub.',
        ),
      user: optionalText.describe(
        'The NATS user of this process, with `password`. Give at most one of `user`, `token`, `nkeyFile` and `credentialsFile`.',
      ),
      password: optionalText.describe(
        'The password of `user`. Secret: "${NATS_PASSWORD}" takes it from the environment, "${file:/run/secrets/nats}" from a file.',
      ),
      token: optionalText.describe('A NATS token, instead of a user and password. Secret.'),
      nkeyFile: optionalText.describe(
        'A file with the seed of an NKey. It is read for each connection, so it can be replaced without a restart.',
      ),
      credentialsFile: optionalText.describe(
        'A credentials file with a JWT, as `nsc` writes it. It is read for each connection.',
      ),
      tls: z
        .strictObject({
          caFile: optionalText.describe(
            'File with the certificates of the authority that signed those of NATS, PEM. Default: the authorities that Node knows.',
          ),
          certFile: optionalText.describe(
            'File with the certificate that this process shows to NATS, PEM; with `keyFile`.',
          ),
          keyFile: optionalText.describe('File with the private key of `certFile`, PEM.'),
          handshakeFirst: z
            .boolean()
            .optional()
            .describe(
              'Whether TLS begins before NATS has sent anything; it matches `handshake_first` in the configuration of NATS.',
            ),
        })
        .optional()
        .describe(
          'With this, or with a `bus` address that begins with tls://, the process talks to NATS over TLS only.',
        ),
    })
    .prefault({})
    .describe(
      'Names of this installation on NATS, and how this process logs in there. All files are read again for each connection.',
    ),
  nameLength: z
    .number()
    .int()
    .min(32)
    .max(64)
    .default(64)
    .describe(
      'Most characters of the names of tools and prompts. Interfaces of language models take 64, and some clients put words of their own in front: leave room for those, such as 50 for `mcp__omnibus__`. A longer name is cut and ends in a digest; names given by `rename` stay as they are.',
    ),
  prefix: prefixMode
    .default('auto')
    .describe('Whether tools and prompts are named `server__tool`. auto: only at endpoints with more than one server.'),
  listing: listing
    .prefault('full')
    .describe(
      'Which tools the lists of endpoints show. full: all. search: three tools by which a model finds, reads and calls all others, in about 280 tokens. code: two tools by which a model finds typed functions and runs TypeScript that calls them, in about 350 tokens. Or an object with `mode` and more.',
    ),
  catalogue: onByDefault.describe(
    'Whether clients find the endpoints that they may use by the API of the MCP registry, at `/v0.1/servers` and `/v0/servers` (docs/how-to/registries.md).',
  ),
  composites: compositesSchema.describe(
    'Tools that are a sequence of calls of other tools, by their names (docs/how-to/composite-tools.md). A caller sees one at each endpoint where it may use all tools of its steps.',
  ),
  flow: flowSchema
    .default('rules')
    .describe(
      'Rules about labels of conversations (docs/how-to/flow.md). rules: those under `access` alone. guarded: also, results label the conversation `untrusted` and `private`, and a request that sends needs an approval of its caller once both were read. By the `flow` and the trusted hints of servers.',
    ),
  code: codeSchema
    .prefault({})
    .describe(
      'Bounds on scripts that models send to `run_code`, at endpoints with `listing: code` (docs/how-to/code-mode.md). A running gateway follows changes; scripts that run keep their bounds.',
    ),
  results: results
    .default('off')
    .describe(
      'How much of a result of a tool a model gets at once. off: all of it. Or an object with `maxTokens` and more: a larger result is stored, the client gets a preview, and reads the rest in ranges.',
    ),
  searchModel: searchModelSchema
    .optional()
    .describe(
      'An embedding model that ranks the tools of `find_tools` by meaning, beside words: a folder on this machine, or an endpoint by its address. Without an answer of the model the rank is that by words. Default: none.',
    ),
  pageSize: count(1_000).describe('Entries on one page of a list.'),
  timeouts: z
    .strictObject({
      call: duration('60s').describe('A call times out after this time without an answer or progress.'),
      max: duration('10m').describe('A call times out after this time, even while it reports progress.'),
      human: duration('10m').describe(
        'Time a client has to answer a question that a server asks its user. The time limits of the call stand still until the answer; without answers, they stand still for this time in all.',
      ),
      task: duration('1h').describe(
        'How long one `tasks/result` request of a client (2025-11-25) may wait for the result of a task.',
      ),
      idleSession: duration('1h').describe('A session ends after this time without a request or an open stream.'),
      unusedSession: duration('1m').describe(
        'A session ends after this time if its client has neither sent `notifications/initialized` nor made a request.',
      ),
      request: duration('60s').describe(
        'Time a client has to send a whole HTTP request. The headers have to arrive within a quarter of it.',
      ),
      leave: duration('0s').describe(
        "How long a stopping edge goes on serving while it closes each client's connection after the next answer. Set it longer than your load balancer takes to notice that the edge is leaving, and only where other edges serve meanwhile.",
      ),
      drain: duration('10s').describe(
        'How long a stopping process waits for running calls to end, and how long `omnibus stdio` answers messages that it read before the end of its input.',
      ),
    })
    .prefault({}),
  publicUrl: z
    .url({ protocol: /^https?$/, error: 'expected the https:// address that clients use' })
    .refine((text) => !URL.canParse(text) || isPlainAddress(new URL(text)), {
      error:
        'expected an address without user, query and fragment, such as "https://mcp.example.com" or "https://example.com/team", whose path has letters, digits and ._~- only and is not that of an endpoint',
    })
    .transform((text) =>
      URL.canParse(text) ? `${new URL(text).origin}${new URL(text).pathname.replace(/\/$/, '')}` : text,
    )
    .optional()
    .describe(
      'The address under which clients reach the gateway, without /mcp: "https://mcp.example.com", or "https://example.com/team" where it stands below a path, which the proxy in front must pass on unchanged. The audience of tokens follows from it, never from a header of a request.',
    ),
  auth: authSchema
    .optional()
    .describe(
      'How callers authenticate (docs/how-to/identity.md). Default: every caller is `anonymous`, which the gateway accepts only if it listens on this machine alone. none: every caller is `anonymous`, on purpose.',
    ),
  access: accessSchema
    .optional()
    .describe(
      'The tools, prompts and resources that each caller may see and use (docs/how-to/policy.md). Default: every accepted caller may use everything. A running gateway follows changes.',
    ),
  guardrails: guardrailsSchema.describe(
    'Inspects messages between clients and servers, and denies, changes or labels them (docs/how-to/guardrails.md), in the order of this list. A running gateway follows changes.',
  ),
  vault: vaultSchema
    .optional()
    .describe(
      "Storage of the tokens from users' sign-ins at servers (`credentials: { kind: oauth }`, docs/how-to/credentials.md).",
    ),
  secrets: secretsSchema.describe(
    'Where references of this file lead that are neither of the environment nor of files.',
  ),
  security: z
    .strictObject({
      allowedHosts: z
        .array(hostName)
        .optional()
        .describe(
          'Host names that clients may use in the `Host` header; the port does not count. Default: the names of this machine and the host of `publicUrl` where `listen` is a loopback address; else any.',
        ),
      allowedOrigins: z
        .array(webOrigin)
        .default([])
        .describe(
          'Web origins whose pages may connect, such as "https://app.example.com", or "*". If `listen` is a loopback address, pages served from this machine always may.',
        ),
      sealingKeyFile: optionalText.describe(
        'A file with the key that encrypts values that clients receive and send back, such as the ids of tasks: base64 of at least 32 random bytes (`openssl rand -base64 32`). All session workers need the same key, and with `auth` edges too, which sign the identity of a caller. The environment variables OMNIBUS_SEALING_KEY_FILE (the path of such a file) and OMNIBUS_SEALING_KEY (the key itself) do the same. With several keys, one on each line, the first encrypts and all of them decrypt. A gateway of one process makes its own key.',
      ),
      definitionsFile: nonEmpty
        .default('omnibus.definitions.json')
        .describe(
          'File with the approved definitions of servers with `definitions`, in the folder of the configuration: keep it in version control with the configuration and review its changes. Several processes keep them on the bus instead.',
        ),
      trustedProxies: z
        .array(network)
        .default([])
        .describe(
          "Addresses or networks (`10.0.0.0/8`) of proxies in front of the gateway, which are believed when they name a client's address in `X-Forwarded-For` or `Forwarded`. Without, all clients behind a proxy have the proxy's address, and share its limits.",
        ),
    })
    .prefault({}),
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
        .default('info')
        .describe('The least severe level that is logged.'),
      format: z
        .enum(['auto', 'json', 'pretty'])
        .default('auto')
        .describe('auto: text on a terminal, JSON elsewhere. pretty: always text.'),
      calls: z
        .enum(['off', 'debug', 'info'])
        .default('debug')
        .describe(
          'The level at which each call that ends is logged, in one line: method, server, tool, client, outcome, time and size, without arguments and results. At `info` it is seen with the default `level`.',
        ),
    })
    .prefault({}),
  tracing: z
    .strictObject({
      endpoint: z
        .url({ protocol: /^https?$/, error: 'expected the http:// address of an OTLP receiver' })
        .optional()
        .describe(
          'The OTLP receiver over HTTP that traces are sent to, such as "http://127.0.0.1:4318". Default: the environment variable OTEL_EXPORTER_OTLP_ENDPOINT; without either, nothing is traced.',
        ),
      headers: textMap.describe('HTTP headers that are sent with the traces, for example `Authorization`. Secret.'),
      sampleRatio: z
        .number()
        .min(0)
        .max(1)
        .default(1)
        .describe(
          "Share of the traces begun by the gateway that is sent, from 0 to 1. For a request with a trace context, the client's decision holds.",
        ),
    })
    .prefault({}),
  audit: auditSchema
    .optional()
    .describe(
      'Records every call, list, read, refusal, question, sign-in, consent and act of an administrator (docs/how-to/audit.md). Default: nothing is recorded.',
    ),
  limits: z
    .strictObject({
      rules: limitRules.describe(
        'How much callers may use: rates, simultaneous calls, quotas of calls and of bytes (docs/how-to/limits.md). A running gateway follows changes.',
      ),
      maxBodyBytes: limit('maxBodyBytes').describe('Bytes of one message of a client.'),
      maxJsonDepth: limit('maxJsonDepth', 1_000).describe('Levels of nesting in one message of a client or a server.'),
      maxJsonValues: limit('maxJsonValues').describe(
        'Values in one message of a client or a server: objects, arrays, and everything in them.',
      ),
      maxBatchLength: limit('maxBatchLength').describe('Messages in one batch (2025-03-26).'),
      maxHeaderBytes: limit('maxHeaderBytes').describe('Bytes of all headers of one request together.'),
      maxPendingBodyBytes: limit('maxPendingBodyBytes').describe(
        'Bytes of all request bodies that one edge is reading or working on. A quarter of it is reserved for bodies of up to 64 KB.',
      ),
      maxPendingBodyBytesPerAddress: limit('maxPendingBodyBytesPerAddress').describe(
        'Bytes of the request bodies of one client address that one edge is reading or working on; the first 64 KB of each body do not count.',
      ),
      maxUnreadBytes: limit('maxUnreadBytes').describe(
        'Bytes of answers that wait at one edge for clients to read them. Beyond it, the connection that has not been read for the longest time is closed.',
      ),
      maxUnreadBytesPerAddress: limit('maxUnreadBytesPerAddress').describe(
        'Bytes of answers that wait at one edge for the clients of one address to read them.',
      ),
      maxConnections: limit('maxConnections').describe(
        'Connections of clients to one edge; fewer where the operating system lets the process open fewer files. Connections to the admin port do not count.',
      ),
      maxConnectionsPerAddress: limit('maxConnectionsPerAddress').describe(
        'Connections of one client address to one edge. Addresses in `security.trustedProxies` are exempt.',
      ),
      sessionBurst: limit('sessionBurst').describe(
        'Sessions that one client address may open at one edge in a burst. Known callers behind one address each have a burst of their own.',
      ),
      sessionsPerSecond: limit('sessionsPerSecond').describe(
        'Sessions that one client address, or one known caller there, may open at one edge each second after the burst of `sessionBurst`; an ended session counts no longer. Further ones get HTTP 429.',
      ),
      maxSessions: limit('maxSessions').describe('Sessions that one session worker holds.'),
      maxSessionsPerPrincipal: limit('maxSessionsPerPrincipal').describe(
        'Sessions of one known caller on one session worker. `anonymous` callers are not bounded by it.',
      ),
      maxInFlightPerSession: limit('maxInFlightPerSession').describe(
        'Requests of one session that wait for their answers. On a WebSocket, also the frames that wait for the client: while so many wait, nothing more is read from it.',
      ),
      maxInFlightWithoutSession: limit('maxInFlightWithoutSession').describe(
        'Requests without a session (2026-07-28) that wait for their answers at one session worker. One client may have maxInFlightPerSession of them.',
      ),
      maxParkedPerClient: limit('maxParkedPerClient').describe(
        'Calls of one client (2026-07-28) that one session worker holds open while the client collects answers for its next request, or whose outcome it stores for a retry. Beyond it, the worker drops the oldest.',
      ),
      maxParked: limit('maxParked').describe(
        'Calls of all clients together that one session worker holds so (see maxParkedPerClient). Beyond it, a client gives up its own oldest call, and one that has none is refused.',
      ),
      maxParkedBytes: limit('maxParkedBytes').describe(
        'Bytes of the requests, questions and answers that these calls hold. One client may have a quarter of it.',
      ),
      maxWaitingApprovals: limit('maxWaitingApprovals').describe(
        'Calls of all callers that wait for an approval (`ask` under `access`) at one session worker.',
      ),
      maxWaitingApprovalsPerCaller: limit('maxWaitingApprovalsPerCaller').describe(
        'Calls of one caller that wait for an approval at one session worker.',
      ),
      maxListenersPerClient: limit('maxListenersPerClient').describe(
        'Open `subscriptions/listen` streams (2026-07-28) of one client at one session worker.',
      ),
      maxListeners: limit('maxListeners').describe(
        'Open `subscriptions/listen` streams (2026-07-28) of all clients at one session worker.',
      ),
      maxStreamsPerSession: limit('maxStreamsPerSession').describe('Open GET streams of one session.'),
      maxBufferedBytes: limit('maxBufferedBytes').describe(
        'Bytes that wait on one stream for a client that does not read. Beyond it, the stream is closed.',
      ),
      maxKeptBytes: limit('maxKeptBytes').describe(
        'Bytes of messages that one session worker keeps for clients that resume a stream or have none open, and of open requests whose clients have disconnected. Beyond it, the oldest messages are dropped, and such requests are cancelled.',
      ),
      maxKeptBytesPerSession: limit('maxKeptBytesPerSession').describe(
        'Bytes of messages and requests that are so kept for one session.',
      ),
      maxKeptAnswerBytes: limit('maxKeptAnswerBytes').describe(
        'Bytes of answers that one backend worker keeps for 10 s over NATS. If a session worker dies, the next one takes the answers of its calls from there. Beyond it, the oldest answers are dropped, and such calls end with an unknown outcome.',
      ),
      maxKeptAnswerBytesPerCaller: limit('maxKeptAnswerBytesPerCaller').describe(
        'Bytes of answers that one backend worker so keeps for one caller. Answers beyond it, and answers of more than 1 MiB, are not kept.',
      ),
      maxSessionBytes: limit('maxSessionBytes').describe(
        'Bytes of declarations and subscriptions of the clients of all sessions of one worker.',
      ),
      maxSessionBytesPerSession: limit('maxSessionBytesPerSession').describe(
        'Bytes of declarations and subscriptions of the client of one session. The gateway refuses an `initialize` that declares more.',
      ),
      maxPreparedListBytes: limit('maxPreparedListBytes').describe(
        'Characters of the lists that one session worker caches for callers that may see a part only (`access`); callers with the same rights share one list. Beyond it, the worker drops the least recently used lists and computes them again on request.',
      ),
      maxUpstreamMessageBytes: limit('maxUpstreamMessageBytes').describe('Bytes of one message from a server.'),
      maxReadingBytes: limit('maxReadingBytes').describe(
        'Bytes of large answers of servers over HTTP that one backend worker reads at the same time; one server may have half of it. Further answers wait until others are read whole, but one answer of each server is always read.',
      ),
      maxCatalogEntries: limit('maxCatalogEntries').describe('Entries of one list of one server.'),
      maxCatalogPages: limit('maxCatalogPages').describe('Pages of one list of one server.'),
      maxCatalogBytes: limit('maxCatalogBytes').describe(
        'Size of one list of one server, in characters of JSON. Entries beyond it are left out.',
      ),
      maxCallerConnections: limit('maxCallerConnections').describe(
        'Connections that belong to single callers or sessions (`isolation`) in one process, over all its servers. If all are in use, the gateway closes an idle one before it refuses a caller.',
      ),
      maxCallerPrograms: limit('maxCallerPrograms').describe(
        'Programs that one process runs behind connections that belong to single callers or sessions; a shared program does not count. Each program takes memory that the gateway cannot bound.',
      ),
    })
    .prefault({}),
  discovery: z
    .strictObject({
      kubernetes: z
        .strictObject({
          enabled: offByDefault.describe(
            'Whether the gateway also uses the servers of `McpServer` objects and labelled Services.',
          ),
          namespaces: z
            .array(z.string())
            .default([])
            .describe(
              'Namespaces to look in; "*" for the whole cluster. Default: the namespace that the gateway runs in.',
            ),
          allowedHosts: z
            .array(z.string())
            .default([])
            .describe(
              'A `url` of a server from the cluster is refused when its host is, or resolves to, an address of this machine, a link-local address, one where clouds serve credentials, or one of a private network. A name that the cluster gives (`NAME.NAMESPACE.svc`) may be in a private network. Hosts named here are allowed all the same.',
            ),
          secrets: offByDefault.describe(
            'Whether an `McpServer` may take headers from Secrets of its namespace that carry the label `omnibus.dev/mcp: "true"`. The gateway\'s service account must be allowed to get Secrets.',
          ),
          pods: z
            .strictObject({
              image: nonEmpty.describe(
                'The image of this gateway. Pods copy from it the wrapper that serves a stdio program over HTTP.',
              ),
              commandImage: optionalText.describe(
                'The image in which the `command` of an `McpServer` runs that names no image, for example one with npx and uvx.',
              ),
              imagePullSecrets: z
                .array(z.string())
                .default([])
                .describe('Names of the image pull Secrets for these images, in the namespaces of the pods.'),
              resources: z
                .record(z.string(), z.unknown())
                .default({ requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } })
                .describe('Resource requests and limits of a pod whose `McpServer` names none.'),
              user: z
                .int()
                .min(1)
                .max(2 ** 31 - 1)
                .nullable()
                .default(1_000)
                .describe(
                  'Number of the user and of the group of these pods. null: Kubernetes chooses them, as OpenShift does for each namespace. Pods never run as root.',
                ),
              from: z
                .array(z.record(z.string(), z.unknown()))
                .default([])
                .describe('Peers that may connect to these pods, as in a NetworkPolicy. Default: all.'),
              egress: z
                .array(z.record(z.string(), z.unknown()))
                .default([{}])
                .describe('What these pods may connect to, as egress rules of a NetworkPolicy. Default: everything.'),
            })
            .optional()
            .describe(
              "Runs each `McpServer` that has a `command` or an `image` as a pod in its namespace. Default: such servers are not run. The gateway's service account must be allowed to manage Deployments, Services, ServiceAccounts and NetworkPolicies.",
            ),
        })
        .prefault({}),
    })
    .prefault({})
    .describe('Servers that are not in this file.'),
  proxy: proxy.describe(
    'The proxy through which the gateway reaches servers, issuers, webhooks, sinks of the audit and receivers of traces, except what NO_PROXY names and addresses of this machine; "none": no proxy. Read at the start. Default: the variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY. Secret.',
  ),
  mcpServers: z.record(name, server).default({}).describe('The servers behind the gateway; lists are in this order.'),
  profiles: z.record(name, profile).default({}).describe('Named selections, each an endpoint `/mcp/<name>`.'),
});

/** Contents of a configuration, before the checks across options. */
export type Options = z.output<typeof shape>;

/** Whether an address says where something stands and nothing else: its path is compared as a text with those of requests. */
function isPlainAddress({ username, password, search, hash, pathname }: URL): boolean {
  return (
    `${username}${password}${search}${hash}` === '' &&
    /^(\/[\w.~-]+)*\/?$/.test(pathname) &&
    !/^\/(\.well-known|.*\/(mcp|sse|ws|messages)|mcp|sse|ws|messages)(\/|$)/.test(pathname)
  );
}

/** A configuration that `checkedSchema` has checked. */
export type Config = Options;
/**
 * The configuration of one server. `addresses` is set for servers that others add (from a cluster): they may be at an address of this machine, of its
 * link or of a cloud's credentials only where the host is listed there, and with `isPublicOnly` that is true of addresses of private networks too. `isStarted`: something else starts the server when it is needed, so a call waits for it.
 * `problem`: why the server cannot be connected to, for example because a reference in its entry leads nowhere.
 */
export type ServerConfig = Config['mcpServers'][string] & {
  readonly addresses?: { readonly allowedHosts: readonly string[]; readonly isPublicOnly?: boolean } | undefined;
  readonly isStarted?: boolean | undefined;
  readonly problem?: string | undefined;
};
export type ProfileConfig = Config['profiles'][string];

export function configJsonSchema(): object {
  return z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' });
}
