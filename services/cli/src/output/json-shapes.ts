/** The output of each command with `--json`; `docs/reference/commands.md` is generated from it, and tests check each command against it. */
import {
  approvals,
  callPage,
  calls,
  definitions,
  deviation,
  logs,
  missing,
  operations,
  paused,
  processRow,
  restarted,
  serverRow,
  sessions,
  summary,
  tokens,
  vaultReport,
} from '@omnibus/admin-api';
import { z } from 'zod';

const text = z.string();
const count = z.int();
/** A page of the documents. */
const topic = { topic: text, kind: text, title: text };
/** Unchanged data of a server or of a user's file. */
const whole = z.record(z.string(), z.unknown());
const ms = count.describe('milliseconds since 1970');

const { agents, blocks, grants, labels, usage } = operations;
const agent = agents.answer.shape.agents.element;
const approval = approvals.shape.approvals.element;
const signingKeys = operations.signingKeys.answer.shape.keys;
const placed = z.object({ file: text, line: count, column: count, path: text, message: text });
const change = { file: text, isChanged: z.boolean().optional(), text: text.optional().describe('with --print') };
const taken = z.array(
  z.object({
    server: text,
    from: text,
    client: text,
    given: text.optional(),
    differences: z.array(text).optional(),
  }),
);
const starts = z
  .array(z.object({ server: text, line: text, digest: text, risks: z.array(text), unpinned: text.optional() }))
  .describe('what it starts on this machine');
const sum = z.object({ name: text, calls: count, failed: count, bytes: count });
const outcome = z.enum(['allow', 'ask', 'deny', 'hidden']);
const client = z.object({ client: text, copy: text.optional(), ...change });
const gateway = { gateway: text };
const results = z.looseObject({}).describe('as the server answered');

/** Shapes by the words of the command. Commands that are missing here have no `--json`: {@link withoutJson}. */
export const jsonShapes: Readonly<Record<string, z.ZodType>> = {
  doctor: z.array(
    z.object({ about: text, state: z.enum(['good', 'warning', 'unchecked', 'bad']), text, advice: text.optional() }),
  ),
  'nats setup': z.array(
    z.object({
      stream: text,
      did: z.enum(['created', 'updated', 'left', 'failed']),
      changed: z.array(text),
      problem: text.optional(),
    }),
  ),
  reload: z.object({ isReloaded: z.literal(true) }),
  block: z.object({ kind: text, name: text, isBlocked: z.literal(true) }),
  unblock: z.object({ kind: text, name: text, isBlocked: z.literal(false) }),
  blocks: blocks.answer.shape.blocks,
  usage: z.object({
    by: text,
    sums: z.array(sum),
    rows: usage.answer.shape.rows,
  }),
  recover: z.object({ token: text, until: text }),
  check: z.object({
    file: text,
    isGood: z.boolean(),
    client: text.optional(),
    problems: z.array(placed.partial()),
    warnings: z.array(placed.partial()),
    notes: z.array(placed),
    servers: z.array(text),
    profiles: z.array(text),
    accounts: z.array(z.object({ server: text, account: text })),
    starts,
    consent: text.optional().describe('of all of starts'),
  }),
  migrate: z.object({
    file: text,
    outdated: z.array(z.object({ line: count, path: text, instead: text })),
    text,
    isWritten: z.boolean(),
  }),
  'definitions status': z.array(definitions.shape.servers.element),
  'definitions diff': z.array(deviation),
  'definitions approve': z.object({ server: text, approved: count }),
  'policy test': z.object({
    cases: z.array(
      z.object({
        as: text,
        call: text,
        outcome,
        rule: text.optional(),
        redacted: text.optional(),
        guardrails: z.array(text),
        becomes: text.optional(),
        expected: text,
        isAsExpected: z.boolean(),
      }),
    ),
    failed: count,
  }),
  'policy explain': z.object({
    who: text,
    what: text,
    outcome,
    rule: text.optional(),
    because: text.optional(),
    redacted: text.optional(),
    labels: z.array(text),
    rules: z.array(z.object({ effect: text, id: text, why: text })),
    guardrails: z.array(z.object({ id: text, on: z.array(text), action: text, isRecorded: z.boolean() })),
  }),
  'policy replay': z.object({
    records: count,
    calls: count,
    from: text.optional(),
    until: text.optional(),
    asked: count,
    denied: count,
    unsure: count,
    rows: z.array(
      z.object({
        would: z.enum(['ask', 'deny']),
        rule: text,
        server: text,
        item: text,
        user: text,
        labels: z.array(text),
        calls: count,
        unsure: count,
      }),
    ),
    others: count,
    forgotten: count,
    unsureRules: z.array(text),
    unhinted: z.array(text),
    damaged: count,
  }),
  'policy diff': z.array(
    z.object({
      who: text,
      changes: z.array(
        z.object({ what: text, was: text, is: text, rule: text.optional(), gains: z.boolean().optional() }),
      ),
    }),
  ),
  'labels list': labels.answer.omit({ missing: true }),
  'labels clear': operations.clearLabel.answer,
  'grants list': grants.answer.omit({ at: true, missing: true }),
  'grants request': operations.requestGrant.answer,
  'grants approve': z.object({ id: text, state: z.literal('active'), until: ms }),
  'grants deny': z.object({ id: text, state: z.literal('refused') }),
  'grants end': operations.endGrant.answer,
  'approvals list': z.array(approval),
  'approvals show': approval,
  'approvals approve': z.object({ id: text, state: z.enum(['approved', 'waiting']) }),
  'approvals withdraw': z.object({ id: text, state: z.literal('waiting') }),
  'approvals deny': z.object({ id: text, state: z.literal('refused') }),
  tools: z.array(z.looseObject({ name: text, inputSchema: whole })),
  call: results,
  prompts: z.array(z.looseObject({ name: text })),
  get: results,
  resources: z.object({
    resources: z.array(z.looseObject({ uri: text })),
    resourceTemplates: z.array(z.looseObject({ uriTemplate: text })),
  }),
  read: results,
  complete: results,
  add: z.object({ server: text, ...change }),
  remove: z.object({ server: text, ...change }),
  import: z.object({
    taken,
    same: taken,
    remarks: z.array(z.object({ from: text, line: count, path: text, text })),
    starts,
    ...change,
  }),
  clients: z.array(z.object({ id: text, name: text, files: z.array(text), found: z.array(text) })),
  connect: client,
  disconnect: client,
  status: z.object({ processes: z.array(processRow), servers: z.array(serverRow), missing }),
  sessions: sessions.omit({ next: true }),
  restart: restarted,
  pause: paused,
  resume: paused,
  'calls list': calls.describe('with --follow a call a line'),
  'calls show': callPage,
  'calls replay': results,
  logs: logs.describe('with --follow a line of the log a line'),
  top: z.object({ servers: z.array(serverRow), tools: summary.shape.tools, all: summary.shape.all, missing }),
  tokens: tokens.omit({ endpoint: true, endpoints: true }),
  'sign-in': z.object({ server: text, isSignedIn: z.boolean(), wasSignedIn: z.boolean() }),
  'connections list': z.object({
    connections: z.array(
      z.object({
        server: text,
        host: text,
        principal: text,
        owner: text.optional(),
        issuer: text,
        scope: text.optional(),
        since: ms,
        state: text,
      }),
    ),
    total: count,
  }),
  'connections revoke': z.object({ server: text, isRevokedAtIssuer: z.boolean().nullable() }),
  'connections remove': z.object({ user: text, count, notRevoked: count }),
  'vault status': vaultReport.extend({
    processes: z.array(z.object({ process: text, keys: z.array(text) })),
    missing: z.array(text),
  }),
  'vault rotate': z.object({ key: text, renewed: count, lost: count, isGoingOn: z.boolean() }),
  'vault backup': z.object({ file: text, entries: count }),
  'vault restore': z.object({ file: text, restored: count, kept: count }),
  'keys create': z.object({ id: text, key: text, subject: text, file: text }),
  'keys list': z.array(z.looseObject({ id: text, subject: text, groups: z.array(text) })),
  search: z.object({
    servers: z.array(
      z.object({
        name: text,
        version: text,
        ways: z.array(text),
        description: text,
        status: text.optional(),
      }),
    ),
    isCut: z.boolean(),
  }),
  'search-model add': z.object({ folder: text, sha256: text, numbers: count, ms: count }),
  'keys revoke': z.object({ id: text, file: text, isRevoked: z.literal(true) }),
  'users add': z.object({ name: text, file: text, isNew: z.boolean() }),
  'users list': z.array(z.object({ name: text, groups: z.array(text), created: text.optional() })),
  'users show': operations.programs.answer,
  'users revoke': operations.revokeProgram.answer,
  'users remove': z.object({ name: text, file: text, isRemoved: z.literal(true) }),
  'agents add': operations.makeAgent.answer,
  'agents list': agents.answer.shape.agents,
  'agents show': agent,
  'agents block': z.object({ name: text, isBlocked: z.literal(true) }),
  'agents unblock': z.object({ name: text, isBlocked: z.literal(false) }),
  'agents rotate': operations.rotateAgent.answer,
  'signing-keys list': signingKeys,
  'signing-keys rotate': signingKeys,
  'agents remove': z.object({ name: text, isRemoved: z.literal(true) }),
  'audit verify': z.object({
    records: count,
    writers: count,
    checkpoints: count,
    findings: z.array(z.looseObject({ weight: text, text })),
  }),
  'audit search': whole.describe('a record a line'),
  login: z.object({ ...gateway, isSignedIn: z.boolean(), subject: text.optional(), file: text.optional() }),
  logout: z.object({ ...gateway, isSignedIn: z.literal(false), isRevoked: z.boolean(), file: text }),
  whoami: z.object({
    ...gateway,
    issuer: text,
    subject: text.optional(),
    groups: z.unknown(),
    scope: text.optional(),
    client: text,
    tokenUntil: text.optional(),
    isRefreshed: z.boolean(),
  }),
  token: z.object({ ...gateway, token: text, tokenUntil: text.optional() }),
  docs: z
    .object({
      topics: z.array(z.object(topic)).optional(),
      topic: text.optional(),
      kind: text.optional(),
      title: text.optional(),
      text: text.optional(),
    })
    .describe('topics without TOPIC, else the Markdown of the page'),
};

/** Commands without JSON output, with the reason. */
export const withoutJson: Readonly<Record<string, string>> = {
  serve: 'it runs until it is ended',
  stdio: 'it speaks MCP on stdout',
  expose: 'it runs until it is ended',
  copy: 'it answers nothing',
  completion: 'it prints a script',
  'nats-permissions': 'it prints a file of NATS',
};

/** A shape in one line: `{ name, groups: [...], created? }`. */
export function shapeText(shape: z.ZodType): string {
  return `${write(z.toJSONSchema(shape, { unrepresentable: 'any', io: 'output' }) as Schema, 0)}${shape.description === undefined ? '' : ` (${shape.description})`}`;
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

const maxDepth = 2;

function write(schema: Schema, depth: number): string {
  const { type, properties, required = [], items, additionalProperties } = schema;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(' | ');
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => write(each, depth)).join(' | ');
  if (type === 'array') return depth > maxDepth ? '[…]' : `[${items === undefined ? '…' : write(items, depth + 1)}]`;
  if (type !== 'object') return typeof type === 'string' ? type : 'any';
  if (properties === undefined || depth > maxDepth) return '{…}';
  const isOpen = additionalProperties !== undefined && additionalProperties !== false;
  const names = Object.entries(properties).map(([name, inner]) => {
    const written = inner.type === 'object' || inner.type === 'array' ? `: ${write(inner, depth + 1)}` : '';
    return `${name}${required.includes(name) ? '' : '?'}${written}`;
  });
  return `{ ${[...names, ...(isOpen ? ['…'] : [])].join(', ')} }`;
}
