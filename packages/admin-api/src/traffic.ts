/** Calls as the tap reports them. */
import { z } from 'zod';
import { logs, missing } from './state.ts';

const counted = z.int().nonnegative();
const outcomes = ['result', 'toolError', 'error', 'fault', 'cancelled', 'timeout'] as const;
export type Outcome = (typeof outcomes)[number];
const callStates = ['running', 'queued', 'asked', 'approval', 'ended'] as const;
export type CallState = (typeof callStates)[number];
export const payloads = ['none', 'shape', 'redacted'] as const;
export type PayloadMode = (typeof payloads)[number];

export const tapEvent = z
  .looseObject({
    tag: z.string().describe('Of all events of one call.'),
    at: z.number().describe('Milliseconds since 1970, by the clock of the process.'),
    process: z.string(),
    from: z.enum(['edge', 'session', 'backend']),
    what: z
      .string()
      .describe(
        'edge: arrived, first-frame, answered, gone, refused; session: approval-asked, run, routed, asked, client-answered, withdrawn, parked, joined, continued, repeated, unknown, settled; backend: standing, queued, written, server-progress, server-asked, server-answered. Others may come.',
      ),
  })
  .describe(
    'Members besides these depend on `what`: method, name, server, tool, client, session, principal, endpoint, bytes, ms, how, by, asks, call, round, running, waiting, progress, total, outcome, reason, problem, payload.',
  );
export type TapEvent = z.output<typeof tapEvent>;

export const call = z.object({
  tag: z.string(),
  at: z.number(),
  method: z.string(),
  name: z.string().optional(),
  server: z.string().optional(),
  tool: z.string().optional(),
  endpoint: z.string().optional(),
  client: z.string().optional(),
  session: z.string().optional(),
  principal: z.string().optional(),
  state: z
    .enum(callStates)
    .optional()
    .describe(
      'What it does: is at work; waits for a place at its server; waits for its client, which a server has asked something; waits for an approval; or has ended. Left out for calls of which only the end is known.',
    ),
  progress: z.object({ done: z.number(), total: z.number().optional() }).optional().describe('As its server says.'),
  outcome: z.enum(outcomes).optional().describe('Left out while it runs.'),
  reason: z.string().optional(),
  problem: z.string().optional(),
  ms: z.number().optional(),
  bytes: counted.optional().describe('Length of its answer to the client as JSON. Left out while it runs.'),
  run: z.string().optional().describe('The tag of the call that has made it: of a script or of a composite tool.'),
  runs: z.boolean().optional().describe('Whether it makes calls itself: a script or a composite tool.'),
  processes: z.array(z.string()),
});
export type Call = z.output<typeof call>;

export const failure = call.extend({ process: z.string() });
export type Failure = z.output<typeof failure>;

export const calls = z.object({
  calls: z
    .array(call)
    .describe('The latest first: what those who watch at this process were told of, and what failed anywhere.'),
  missing,
});
export type Calls = z.output<typeof calls>;
export const callPage = z.object({
  call,
  events: z.array(tapEvent),
  inner: z.array(call).describe('The calls that it has made itself, the first one first, as far as they were watched.'),
  missing,
});
export type CallPage = z.output<typeof callPage>;
export const replay = z
  .object({
    name: z.string().describe('The tool as clients of the endpoint see it.'),
    endpoint: z.string().describe('Empty for the one of all servers.'),
    server: z.string().optional().describe('Left out for a call that went to none.'),
    tool: z.string().optional().describe('As the server calls it.'),
    annotations: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('What its server says of it, such as that it may destroy something.'),
    arguments: z
      .string()
      .optional()
      .describe('JSON. Left out unless values were watched, and none of them was hidden or cut.'),
  })
  .describe('What it takes to make a call again.');
export type Replay = z.output<typeof replay>;
export const failures = z.object({ failures: z.array(failure).describe('The latest first.'), missing });
export type Failures = z.output<typeof failures>;

export const watchFilter = z.object({
  server: z.string().optional(),
  tool: z.string().optional().describe('As the server calls it.'),
  client: z.string().optional(),
  session: z.string().optional(),
  outcome: z.enum(outcomes).optional(),
  minMs: z.coerce.number().nonnegative().optional(),
});
export type WatchFilter = z.output<typeof watchFilter>;
export const stateTopics = [
  'overview',
  'processes',
  'servers',
  'sessions',
  'metrics',
  'configuration',
  'approvals',
  'definitions',
] as const;
export type StateTopic = (typeof stateTopics)[number];
const watched = z.object({
  events: z.array(tapEvent),
  dropped: counted.describe('Calls that were not told of, because there were more than the rate.'),
});
export type Watched = z.output<typeof watched>;
/** An event `logs`: lines of one server that its reader was not told of before; the first has the last lines so far. */
export const followedLogs = logs.extend({
  dropped: counted.describe('Lines that are in no event, because more were written than a process keeps.'),
});
export type FollowedLogs = z.output<typeof followedLogs>;
