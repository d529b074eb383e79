/** The operations about agents of the gateway's own authorization server. */
import { z } from 'zod';

const name = z.string().min(1).max(255);
const names = z.array(name).max(64);
const publicKeys = z
  .array(z.record(z.string(), z.unknown()))
  .max(8)
  .optional()
  .describe('Public keys (JWK) by which the agent signs assertions. Default: the agent gets a secret.');
const dayMs = 86_400_000;

const agentSeen = z.object({
  name: z.string(),
  client: z.string().describe('The client id.'),
  owner: z.string(),
  tenant: z.string().optional(),
  groups: z.array(z.string()),
  scopes: z.array(z.string()),
  endpoints: z.array(z.string()).optional(),
  proof: z.enum(['secret', 'key', 'workload']).describe('How it proves that it is the agent.'),
  state: z.enum(['valid', 'expired', 'blocked']),
  because: z.string().optional().describe('The reason of a block.'),
  blockedUntil: z.number().optional().describe('Milliseconds since 1970.'),
  created: z.string(),
  expires: z.string().optional(),
  note: z.string().optional(),
  lastUse: z
    .string()
    .optional()
    .describe('ISO 8601: the last accepted request, since the processes that serve clients were started.'),
});
export type AgentSeen = z.output<typeof agentSeen>;

const wantedAgent = z.strictObject({
  name,
  owner: name.describe('The person or team that answers for the agent.'),
  tenant: name.optional(),
  groups: names.default([]),
  scopes: names.default([]).describe('Scopes that its tokens may have besides those that every token has.'),
  endpoints: names
    .optional()
    .describe('Endpoints that it may use; `/mcp` is that of all servers. Default: every endpoint.'),
  expires: z.string().optional().describe('Days such as `90d`, or a date. Default: never.'),
  note: z.string().max(1_000).optional(),
  keys: publicKeys,
  isWorkload: z
    .literal(true)
    .optional()
    .describe('It gets tokens for assertions of a workload, and has neither secret nor key.'),
});
const wantedRotation = z.strictObject({
  keepMs: z
    .int()
    .nonnegative()
    .max(30 * dayMs)
    .default(0)
    .describe('How long the old secret or key stays valid, in milliseconds. 0: it and all tokens end at once.'),
  keys: publicKeys,
});
export type AgentMade = z.output<typeof agentMade>;
const agentMade = z.object({
  name: z.string(),
  client: z.string(),
  secret: z.string().optional().describe('Shown only here; left out for an agent with keys and for a workload.'),
});

const agentsSeen = z.object({ agents: z.array(agentSeen) });
export type Agents = z.output<typeof agentsSeen>;

export const agentOperations = {
  agents: {
    method: 'get',
    path: '/agents',
    summary: "The agents of the gateway's own authorization server.",
    answer: agentsSeen,
  },
  makeAgent: {
    method: 'post',
    path: '/agents',
    summary: 'Adds an agent, and shows its secret this once.',
    body: wantedAgent,
    answer: agentMade,
    isRepeatable: false,
  },
  rotateAgent: {
    method: 'post',
    path: '/agents/{name}',
    summary: 'Gives an agent another secret, or other keys.',
    body: wantedRotation,
    answer: agentMade,
    isRepeatable: false,
  },
  removeAgent: {
    method: 'delete',
    path: '/agents/{name}',
    summary: 'Removes an agent. Its tokens end at once.',
    answer: z.object({ name: z.string() }),
  },
} as const;
