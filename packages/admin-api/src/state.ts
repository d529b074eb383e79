/** The state of a gateway as the API shows it, assembled from what each of its processes answers. */
import { z } from 'zod';

const at = z.string().describe('ISO 8601.');
const counted = z.int().nonnegative();
const roles = ['supervisor', 'all', 'edge', 'session', 'backend'] as const;
const role = z.enum(roles);

export const missing = z
  .array(z.object({ process: z.string().describe('By its signs of life.'), role: z.string() }))
  .describe('Processes that give signs of life, or gave some until a moment ago, and did not answer in time.');
export type Missing = z.output<typeof missing>;

const rates = z.object({
  calls: counted,
  failed: counted.describe('Answered by anything but a result; a tool that says `isError` among them.'),
  mean: z.number().optional().describe('Milliseconds.'),
  p50: z.number().optional().describe('Milliseconds, of the buckets of all processes together.'),
  p95: z.number().optional(),
  p99: z.number().optional(),
});
export type Rates = z.output<typeof rates>;

const finding = z.object({
  id: z.string().describe('The same as long as it is the same finding.'),
  severity: z.enum(['error', 'warning', 'note']),
  text: z.string(),
  advice: z.string().optional(),
  since: at
    .optional()
    .describe('When the fault began; of several servers, the first of them. Left out where it is not known.'),
  link: z.string().optional().describe('Where in the console it is about: `#/servers/jira`.'),
});
export type Finding = z.output<typeof finding>;

export const overview = z.object({
  name: z.string(),
  version: z.string(),
  process: z.string().describe('The process that answers.'),
  at,
  console: z
    .object({
      mode: z.enum(['read', 'full']),
      who: z.string(),
      roles: z.array(z.string()),
      mayChange: z.boolean(),
      mayWatch: z.boolean(),
      mayPayloads: z.boolean(),
      mayPolicy: z.boolean(),
      mayAudit: z.boolean(),
      maySeeKeys: z.boolean(),
      mayKeys: z.boolean().describe('Whether API keys may be revoked.'),
      maySeePrograms: z.boolean().describe('Whether programs that users have allowed are shown.'),
      mayPrograms: z.boolean().describe('Whether programs of users may be revoked.'),
      maySeeAgents: z.boolean(),
      hasAgents: z.boolean().describe('Whether there is a file of agents.'),
      mayAgents: z.boolean().describe('Whether agents may get other secrets.'),
      mayBlock: z.boolean().describe('Whether callers may be blocked.'),
      maySeeLabels: z.boolean().describe('Whether labels of conversations are shown.'),
      mayEdit: z.enum(['no', 'addresses', 'programs']).describe('Which servers of the configuration file.'),
      isAudited: z.boolean().describe('Whether the configuration has an audit.'),
    })
    .describe('What whoever asks may do here.'),
  findings: z.array(finding),
  counts: z.object({
    processes: counted,
    missing: counted,
    servers: counted,
    up: counted,
    down: counted,
    sessions: counted,
    tools: counted,
    prompts: counted,
    resources: counted,
    failures: counted,
  }),
  missing,
});
export type Overview = z.output<typeof overview>;

export const processRow = z.object({
  process: z.string(),
  role,
  version: z.string(),
  pid: counted,
  host: z.string(),
  startedAt: at,
  endpoint: z.string().optional(),
  problems: z.array(z.string()).describe('What keeps it from serving.'),
  bus: z.object({ kind: z.enum(['memory', 'nats']), isConnected: z.boolean(), reconnects: counted }),
  sessions: z.record(z.string(), counted).optional().describe('By state; left out where it holds none.'),
  waiting: counted.optional().describe('Calls that it holds for approvers; left out where it holds no sessions.'),
  servers: counted.optional().describe('Servers it is connected to; left out where that is not its part.'),
  failures: counted.describe('Failed calls that it remembers.'),
  configuration: z
    .string()
    .describe('A digest of the configuration in force: processes with another one run another file.'),
  isThis: z.boolean(),
});
export const processes = z.object({ processes: z.array(processRow), missing });
export type ProcessRow = z.output<typeof processRow>;
export type Processes = z.output<typeof processes>;

const serverStates = ['up', 'down', 'connecting', 'asleep', 'paused', 'disabled', 'unknown'] as const;
const repair = z
  .object({
    repair: z.string().describe('The name of a row of the table of repairs.'),
    reads: z.string().describe('What the gateway reads as what.'),
    count: counted,
    firstAt: at,
    lastAt: at,
    example: z.string().describe('Where it was seen last.'),
  })
  .describe('What the server writes against the specification, and the gateway reads as the one thing it can mean.');
const serverInfo = {
  unfit: z
    .array(
      z.object({
        kind: z.enum(['tools', 'prompts', 'resources', 'resourceTemplates']),
        name: z.string().optional().describe("The server's own name of it, where it has one."),
        problem: z.string(),
      }),
    )
    .optional()
    .describe('Entries that are in no list, the first hundred; left out where there is none.'),
  repairs: z
    .array(repair)
    .optional()
    .describe('Since its process began; left out where there is none, as with `validation: enforce`.'),
  era: z.enum(['legacy', 'modern']).optional(),
  revision: z.string().optional(),
  lastWords: z
    .string()
    .optional()
    .describe(
      'The last line on stderr, of a program; of one that is down, the line that says why, as far as one does.',
    ),
};
const signIns = counted
  .optional()
  .describe('Users who came and have yet to sign in before it serves them; left out where nobody has to.');
export const serverPlace = z.object({
  process: z.string(),
  state: z.enum(serverStates),
  problem: z.string().optional(),
  trouble: z
    .string()
    .optional()
    .describe('What kind of problem: program, ended, address, credentials, time, speech or configuration.'),
  since: at.optional(),
  running: counted,
  waiting: counted,
  connections: counted.describe('Besides the first.'),
  tools: counted,
  prompts: counted,
  resources: counted,
  leftOut: counted,
  held: counted,
  signIns,
  ...serverInfo,
});
export type ServerPlace = z.output<typeof serverPlace>;
export const serverRow = z.object({
  name: z.string(),
  description: z.string().optional(),
  account: z.string().optional().describe('On whose account it is called; left out where it is sent no credentials.'),
  state: z.enum(serverStates),
  problem: z.string().optional(),
  advice: z.string().optional(),
  transport: z.enum(['stdio', 'http', 'sse', 'websocket']),
  since: at.optional(),
  tools: counted,
  prompts: counted,
  resources: counted,
  leftOut: counted.describe('Entries that are in no list because they do not fit.'),
  held: counted.describe('Entries that wait to be approved.'),
  signIns,
  ...serverInfo,
  paused: z
    .object({ by: z.string(), since: at, until: at.optional(), because: z.string().optional() })
    .optional()
    .describe(
      'Nothing new is sent to it, and what runs there goes on. Its state is `paused` unless it is down besides.',
    ),
  running: counted,
  waiting: counted,
  connections: counted,
  rates: rates.optional(),
  places: z.array(serverPlace).describe('Processes that are connected to it.'),
});
export type ServerRow = z.output<typeof serverRow>;
export const servers = z.object({ servers: z.array(serverRow), missing });
export type Servers = z.output<typeof servers>;

export const line = z.object({ at, process: z.string(), text: z.string() });
export type Line = z.output<typeof line>;
export const serverPage = z.object({
  server: serverRow,
  lines: z.array(line).describe('What it wrote to stderr last, and what became of it, without secrets; oldest first.'),
  address: z.string().optional().describe('Without what may be secret.'),
  command: z.array(z.string()).optional(),
  endpoints: z.array(z.string()),
  tools: z.array(z.object({ tool: z.string(), rates })),
  missing,
});
export type ServerPage = z.output<typeof serverPage>;
export const logs = z.object({ server: z.string(), lines: z.array(line), missing });
export type Logs = z.output<typeof logs>;
export const restarted = z.object({
  server: z.string(),
  done: counted.describe('Processes that connected anew.'),
  of: counted.describe('Processes that are connected to it.'),
  missing,
});
export type Restarted = z.output<typeof restarted>;
export const paused = z.object({ server: z.string(), isPaused: z.boolean(), until: at.optional() });
export type Paused = z.output<typeof paused>;

const json = z.record(z.string(), z.unknown());
export const catalogueKinds = ['tool', 'prompt', 'resource', 'template'] as const;
const catalogueEntry = z.object({
  kind: z.enum(catalogueKinds),
  name: z.string().describe('As clients of this endpoint see it.'),
  ownName: z.string().describe('As its server says it.'),
  server: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  renamed: z
    .enum(['prefixed', 'shortened', 'configured', 'cleaned', 'alias'])
    .optional()
    .describe(
      'Why its name differs: the server in front; that, and shortened to 64 characters; `rename` of a profile; characters that models do not take; a URI that two servers have.',
    ),
  isForAskable: z
    .literal(true)
    .optional()
    .describe('Only clients are offered it that servers can ask something (elicitation, sampling).'),
  annotations: json.optional(),
  inputSchema: json.optional(),
  outputSchema: json.optional(),
  arguments: z.array(z.unknown()).optional(),
  mimeType: z.string().optional(),
});
export type CatalogueEntry = z.output<typeof catalogueEntry>;
export const cataloguePart = z.object({
  total: counted.describe('Entries that match, of all pages.'),
  entries: z.array(catalogueEntry),
  next: z.string().optional().describe('`cursor` of the next page.'),
  problems: z.array(z.string()).describe('What servers offer and clients cannot be shown.'),
  unreachable: z.array(z.object({ server: z.string(), problem: z.string() })),
});
export const catalogue = cataloguePart.extend({
  endpoint: z.string().describe('Empty for the one of all servers.'),
  endpoints: z.array(z.object({ name: z.string(), path: z.string() })),
  missing,
});
export type Catalogue = z.output<typeof catalogue>;

export const sessionRow = z.object({
  key: z.string().describe('The beginning of a digest; opens nothing.'),
  client: z.object({ name: z.string(), version: z.string().optional() }).optional(),
  revision: z.string(),
  endpoint: z.string(),
  principal: z.string(),
  state: z.string(),
  declared: z.array(z.string()).describe('What it may be asked.'),
  open: counted.describe('Requests that wait for their answer.'),
  streams: counted,
  subscriptions: counted,
  idleMs: counted,
  servers: z.array(z.string()).describe('Those that may keep something for it.'),
  process: z.string(),
});
export type SessionRow = z.output<typeof sessionRow>;
export const recentClient = sessionRow
  .pick({ client: true, revision: true, endpoint: true, principal: true, declared: true, idleMs: true, process: true })
  .extend({ requests: counted.describe('Since it was first seen.') });
export type RecentClient = z.output<typeof recentClient>;
export const sessions = z.object({
  sessions: z.array(sessionRow),
  total: counted,
  next: z.string().optional(),
  clients: z
    .array(recentClient)
    .describe('Clients without a session (2026-07-28) that asked something in the last five minutes, the first 500.'),
  missing,
});
export type Sessions = z.output<typeof sessions>;
export const sessionPage = z.object({ session: sessionRow });
export type SessionPage = z.output<typeof sessionPage>;
export const ended = z.object({ ended: z.string() });
export type Ended = z.output<typeof ended>;

const configDifference = z.object({
  options: z.array(
    z.object({
      path: z.string(),
      before: z.unknown().optional().describe('Left out where the option was not there.'),
      after: z.unknown().optional().describe('Left out where the option is not there any more.'),
      isSecret: z.boolean().optional(),
    }),
  ),
  more: counted.describe('Changed options that are left out.'),
});
export type ConfigDifference = z.output<typeof configDifference>;

export const configuration = z.object({
  file: z.string(),
  appliedAt: at,
  digest: z.string(),
  values: z.array(
    z.object({
      path: z.string(),
      value: z.unknown(),
      from: z.enum(['default', 'file', 'environment', 'option', 'kubernetes']),
      place: z.string().optional().describe('`omnibus.yaml:14`.'),
      isSecret: z.boolean().optional(),
      reference: z.string().optional().describe('Where a secret comes from: `${GITHUB_TOKEN}`.'),
    }),
  ),
  changed: z
    .object({ at, difference: configDifference })
    .optional()
    .describe('The last change that was taken since the process started, and what it has changed.'),
  rejected: z
    .object({
      at,
      problems: z.array(z.string()),
      difference: configDifference
        .optional()
        .describe('What it would have changed; left out where it could not be read as a configuration.'),
    })
    .optional()
    .describe('The last change, where it was refused.'),
  restart: z.array(z.string()).describe('Options that were changed and take effect with the next start.'),
  missing,
});
export type Configuration = z.output<typeof configuration>;

export const summary = z
  .object({
    at,
    servers: z.array(z.object({ server: z.string(), rates })),
    tools: z.array(z.object({ server: z.string(), tool: z.string(), rates })),
    all: rates,
    missing,
  })
  .describe('Since each process began.');
export type Summary = z.output<typeof summary>;

const ratePoint = z.object({
  at: at.describe('ISO 8601, when the time of the point begins.'),
  calls: counted,
  failed: counted,
  p50: z
    .number()
    .optional()
    .describe('Milliseconds, of the buckets of all processes together; left out where there was no call.'),
  p95: z.number().optional(),
});
export type RatePoint = z.output<typeof ratePoint>;
export const rateHistory = z
  .object({
    everyMs: counted.describe('Milliseconds of one point.'),
    points: z.array(ratePoint).describe('The oldest first; none for times before the first process began.'),
    missing,
  })
  .describe('Of the last half hour, as far as processes are running for so long.');
export type RateHistory = z.output<typeof rateHistory>;
