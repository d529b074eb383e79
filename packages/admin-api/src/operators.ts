/** Acts of operators: the configuration, API keys, users, blocks, usage, the vault, and recovery. */
import { z } from 'zod';
import { forgotten, userGone } from './connections.ts';

const name = z.string().min(1).max(255);
const names = z.array(name).max(200);
const dayMs = 86_400_000;

const whoami = z.object({
  name: z.string(),
  roles: z.array(z.string()),
  looksAfter: z.string().optional().describe('The only tenant that the caller administers.'),
  issuer: z.string().optional(),
  subject: z.string().optional(),
  tenant: z.string().optional(),
  groups: z.array(z.string()).optional(),
  until: z.string().optional().describe('ISO 8601: the end of the credentials.'),
});

const reloaded = z.object({
  later: z.array(z.string()).describe('Options of the configuration that take effect with the next start.'),
});

const keySeen = z.object({
  id: z.string(),
  subject: z.string(),
  tenant: z.string().optional(),
  groups: z.array(z.string()),
  endpoints: z.array(z.string()).optional(),
  tools: z.array(z.string()).optional(),
  created: z.string().optional(),
  expires: z.string().optional(),
  revoked: z.string().optional(),
  note: z.string().optional(),
  lastUse: z
    .string()
    .optional()
    .describe('ISO 8601: the last accepted request, since the processes that serve clients were started.'),
});
export type KeySeen = z.output<typeof keySeen>;
const keysSeen = z.object({ keys: z.array(keySeen) });
export type Keys = z.output<typeof keysSeen>;
const wantedKey = z.strictObject({
  subject: name,
  tenant: name.optional(),
  groups: names.default([]),
  endpoints: names.optional(),
  tools: z.array(z.string().min(1).max(1_000)).min(1).max(100).optional(),
  expires: z.string().optional().describe('Days such as `90d`, or a date. Default: never.'),
  note: z.string().max(1_000).optional(),
});
const keyMade = z.object({ id: z.string(), key: z.string().describe('Shown only here.') });
const keyRevoked = z.object({ id: z.string() });

const usersSeen = z.object({
  users: z.array(z.object({ name: z.string(), groups: z.array(z.string()), created: z.string().optional() })),
});
const wantedUser = z.strictObject({ name, password: z.string().max(1_000), groups: names.default([]) });
const userSet = z.object({ name: z.string(), isNew: z.boolean() });
const userRemoved = z.object({ name: z.string() });

/** Kinds of blocks, as `packages/protocol` has them. */
const blockKind = z.enum(['user', 'key', 'client', 'tool', 'server']);
const block = z.object({
  kind: blockKind,
  name: z.string(),
  by: z.string(),
  at: z.number().describe('Milliseconds since 1970.'),
  until: z.number().optional(),
  because: z.string().optional(),
  isPause: z.boolean().optional().describe('Of a server: what runs there goes on.'),
});
const blocks = z.object({ blocks: z.array(block) });
const wantedBlock = z.strictObject({
  kind: blockKind,
  name: z.string().min(1).max(1_000),
  forMs: z
    .int()
    .positive()
    .max(3_650 * dayMs)
    .optional()
    .describe('Milliseconds. Default: until it is unblocked.'),
  because: z.string().max(500).optional().describe('The reason, which refused callers see.'),
});
const blocked = z.object({
  kind: blockKind,
  name: z.string(),
  until: z.number().optional().describe('Milliseconds since 1970.'),
  isServerKnown: z
    .boolean()
    .describe('Whether the configuration has the server that the block is about, if it is about one.'),
});
const unblocked = z.object({ kind: blockKind, name: z.string() });

/** Retention of usage, in days. */
const maxDays = 62;
const usageQuery = z.object({
  days: z.coerce.number().int().min(1).max(maxDays).default(1).describe('Days of UTC, today included.'),
});
const usage = z.object({
  rows: z
    .array(
      z.object({
        caller: z.string(),
        tenant: z.string().optional(),
        groups: z.array(z.string()),
        server: z.string(),
        tool: z.string(),
        calls: z.number(),
        failed: z.number(),
        bytes: z.number(),
      }),
    )
    .describe('Those with the most calls first.'),
});

export const vaultReport = z.object({
  current: z.string().optional(),
  keys: z.array(z.object({ id: z.string(), check: z.string(), entries: z.number() })),
  makesKeys: z.boolean(),
  lostCount: z.number(),
  lost: z.array(
    z.object({ server: z.string(), principal: z.string(), key: z.string().optional(), issuer: z.string().optional() }),
  ),
});
const vault = vaultReport.extend({
  processes: z
    .array(z.object({ process: z.string(), keys: z.array(z.string()) }))
    .describe('Processes that have the vault, with the names of their keys.'),
  missing: z.array(z.string()).describe('Processes that may have it and have not answered.'),
});
export type Vault = z.output<typeof vault>;
const wantedRotation = z.strictObject({
  key: z.string().min(1).max(40).optional().describe('Id of the key. Default: the newest.'),
});
const vaultRotated = z.object({
  key: z.string(),
  renewed: z.number(),
  lost: z.number(),
  isGoingOn: z.boolean().describe('Whether the re-encryption goes on after this answer.'),
});
export type VaultRotated = z.output<typeof vaultRotated>;

const recoveryQuestion = z.object({ question: z.string() });
const recoveryProven = z.strictObject({ question: z.string().max(1_000), proof: z.string().max(1_000) });
const recovered = z.object({ token: z.string(), until: z.string().describe('ISO 8601.') });

export const operatorOperations = {
  forget: {
    method: 'post',
    path: '/connections',
    summary: 'Removes everything that a user has connected, and takes it back at the issuers.',
    body: userGone,
    answer: forgotten,
  },
  whoami: { method: 'get', path: '/whoami', summary: 'Who asks, and with which roles.', answer: whoami },
  reload: {
    method: 'post',
    path: '/reload',
    summary: 'Reads the configuration of this process again. One that is wrong is not used (409).',
    answer: reloaded,
  },
  keys: { method: 'get', path: '/keys', summary: 'The API keys, without their secrets.', answer: keysSeen },
  makeKey: {
    method: 'post',
    path: '/keys',
    summary: 'Makes an API key, and shows it this once.',
    body: wantedKey,
    answer: keyMade,
    isRepeatable: false,
  },
  revokeKey: {
    method: 'delete',
    path: '/keys/{id}',
    summary: 'Revokes an API key: its id, or the whole key.',
    answer: keyRevoked,
  },
  users: { method: 'get', path: '/users', summary: 'The users in the file of the gateway.', answer: usersSeen },
  setUser: {
    method: 'post',
    path: '/users',
    summary: 'Adds a user, or gives one another password.',
    body: wantedUser,
    answer: userSet,
  },
  removeUser: {
    method: 'delete',
    path: '/users/{name}',
    summary: 'Removes a user. What was allowed and connected in that name ends.',
    answer: userRemoved,
  },
  blocks: { method: 'get', path: '/blocks', summary: 'Who and what is blocked or paused.', answer: blocks },
  block: {
    method: 'post',
    path: '/blocks',
    summary: 'Blocks a caller, key, client, tool or server in every process at once.',
    body: wantedBlock,
    answer: blocked,
  },
  unblock: { method: 'delete', path: '/blocks/{block}', summary: 'Ends a block, `KIND:NAME`.', answer: unblocked },
  usage: {
    method: 'get',
    path: '/usage',
    summary: 'What known callers have used.',
    answer: usage,
    query: usageQuery,
  },
  vault: {
    method: 'get',
    path: '/vault',
    summary: 'The keys of the vault, without secrets, and what none of them decrypts.',
    answer: vault,
  },
  rotateVault: {
    method: 'post',
    path: '/vault',
    summary: 'Encrypts everything in the vault under another key, in all processes or in none.',
    body: wantedRotation,
    answer: vaultRotated,
  },
  recovery: {
    method: 'get',
    path: '/recovery',
    summary: 'A question for the holder of the sealing key. Needs no role.',
    answer: recoveryQuestion,
  },
  recover: {
    method: 'post',
    path: '/recovery',
    summary: 'Makes the holder of the sealing key an admin of this process for a quarter of an hour. Needs no role.',
    body: recoveryProven,
    answer: recovered,
    isRepeatable: false,
  },
} as const;
