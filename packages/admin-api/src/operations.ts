/** The operations of the API, one row each; the routes, the OpenAPI document and its test use them. */
import { z } from 'zod';
import {
  catalogue,
  catalogueKinds,
  configuration,
  ended,
  logs,
  overview,
  paused,
  processes,
  rateHistory,
  restarted,
  serverPage,
  servers,
  sessionPage,
  sessions,
  summary,
} from './state.ts';
import { connectQuery, connectWays } from './connect.ts';
import { connectionRevoked, connections } from './connections.ts';
import { operatorOperations } from './operators.ts';
import { agentOperations } from './agents.ts';
import { programOperations } from './programs.ts';
import { signingKeyOperations } from './signing-keys.ts';
import { attemptOperations } from './attempts.ts';
import { grantOperations } from './grants.ts';
import { labelOperations } from './labels.ts';
import { entryOperations } from './server-entries.ts';
import { auditQuery, auditRecord, auditRecords, recordQuery, verifyQuery } from './audit.ts';
import { explained, explainQuery, policy, sees, seesQuery } from './policy.ts';
import { tokens } from './tokens.ts';
import { callPage, calls, failures, payloads, replay, stateTopics, watchFilter } from './traffic.ts';
import {
  approvalPage,
  approvals,
  decided,
  decision,
  definitions,
  definitionsApproval,
  definitionsApproved,
  definitionsPage,
} from './trust.ts';

export const base = '/api/v1';
/** A header that every change must have: a form of another site's page cannot send it. */
export const changeHeader = 'x-omnibus-console';

/** A header that a change may have: a repeated change with the same key is not made again, and gets the first answer. */
export const idempotencyHeader = 'idempotency-key';

export interface Operation {
  readonly method: 'get' | 'post' | 'delete';
  /** The path, with `{name}` for each parameter. */
  readonly path: string;
  readonly summary: string;
  readonly query?: z.ZodObject;
  /** The body of a change; left out if there is none. */
  readonly body?: z.ZodObject;
  /** Bound on the body. Default: 16 KiB. */
  readonly maxBodyBytes?: number;
  /** Left out when the answer is an event stream or a document. */
  readonly answer?: z.ZodType;
  /** Media type of the answer if it is not JSON with a schema of this package. */
  readonly type?: string;
  /** HTTP status of an answer without a problem. Default: 200. */
  readonly status?: number;
  /** Whether the option `console` must be `full` for this change. Roles decide about the others alone. */
  readonly followsConsole?: boolean;
  /** False for a change that takes no key with which it may be sent again (`idempotencyHeader`). */
  readonly isRepeatable?: boolean;
}

const page = z.object({ cursor: z.string().max(2_000).optional().describe('`next` of the page before.') });

export const operations = {
  overview: {
    method: 'get',
    path: '/overview',
    summary: 'Whether all is well, and what to do where it is not.',
    answer: overview,
  },
  processes: { method: 'get', path: '/processes', summary: 'The processes of the gateway.', answer: processes },
  servers: {
    method: 'get',
    path: '/servers',
    summary: 'The servers behind the gateway, in the order of the configuration.',
    answer: servers,
  },
  server: {
    method: 'get',
    path: '/servers/{name}',
    summary: 'One server.',
    answer: serverPage,
    query: z.object({
      lines: z
        .enum(['true', 'false'])
        .default('true')
        .describe('False leaves `lines` empty, for those who watch the topic `logs`.'),
    }),
  },
  logs: {
    method: 'get',
    path: '/servers/{name}/logs',
    summary: 'What a server wrote to stderr, and what became of its connection, in one order.',
    answer: logs,
  },
  restart: {
    method: 'post',
    path: '/servers/{name}/restart',
    followsConsole: true,
    summary: 'Connects to a server anew, in every process; what is at work there is finished first.',
    answer: restarted,
  },
  pause: {
    method: 'post',
    path: '/servers/{name}/pause',
    followsConsole: true,
    summary: 'Pauses a server in every process: nothing new is sent to it, and what runs there goes on.',
    answer: paused,
    query: z.object({
      forMs: z.coerce
        .number()
        .int()
        .min(1)
        .max(3_650 * 86_400_000)
        .optional()
        .describe('Milliseconds. Default: until it is resumed.'),
      because: z.string().max(500).optional().describe('The reason, which callers are told.'),
    }),
  },
  resume: {
    method: 'post',
    path: '/servers/{name}/resume',
    followsConsole: true,
    summary: 'Ends the pause of a server.',
    answer: paused,
  },
  ...entryOperations,
  catalogue: {
    method: 'get',
    path: '/catalogue',
    summary: 'What an endpoint offers, in the words that its clients see.',
    answer: catalogue,
    query: page.extend({
      endpoint: z.string().max(64).optional().describe('Default: the one of all servers.'),
      q: z.string().max(200).optional().describe('Stands in a name, title or description.'),
      kind: z.enum(catalogueKinds).optional(),
      server: z.string().max(64).optional(),
    }),
  },
  tokens: {
    method: 'get',
    path: '/tokens',
    summary: 'What the tools of an endpoint cost a model in each conversation, and what each measure saves.',
    answer: tokens,
    query: z.object({
      endpoint: z.string().max(64).optional().describe('Default: the one of all servers.'),
      server: z.string().max(64).optional().describe('The tools of this server, one by one. Default: all servers.'),
    }),
  },
  sessions: {
    method: 'get',
    path: '/sessions',
    summary: 'Clients with a session.',
    answer: sessions,
    query: page.extend({ client: z.string().max(200).optional(), endpoint: z.string().max(64).optional() }),
  },
  session: { method: 'get', path: '/sessions/{key}', summary: 'One session.', answer: sessionPage },
  end: {
    method: 'delete',
    path: '/sessions/{key}',
    followsConsole: true,
    summary: 'Ends a session, and what is open in it.',
    answer: ended,
  },
  connect: {
    method: 'get',
    path: '/connect',
    summary: 'How each known client is connected to an endpoint.',
    answer: connectWays,
    query: connectQuery,
  },
  connections: {
    method: 'get',
    path: '/connections',
    summary:
      'What users have connected to servers by signing in there, without secrets. Asked at a process that serves clients.',
    answer: connections,
  },
  revoke: {
    method: 'delete',
    path: '/connections/{connection}',
    summary: 'Revokes a connection, `SERVER|PRINCIPAL`, here and at its issuer. Its user is asked to sign in again.',
    answer: connectionRevoked,
  },
  ...operatorOperations,
  ...agentOperations,
  ...programOperations,
  ...signingKeyOperations,
  configuration: {
    method: 'get',
    path: '/configuration',
    summary: 'What is in force in this process, where it is from, and what was refused.',
    answer: configuration,
  },
  policy: {
    method: 'get',
    path: '/policy',
    summary: 'The rules in force that say who may do what, and where they are from.',
    answer: policy,
    query: page,
  },
  explain: {
    method: 'get',
    path: '/policy/explain',
    summary:
      'Whether a caller may use something, which rule decides, and what each other rule says. Nothing is called.',
    answer: explained,
    query: explainQuery,
  },
  sees: {
    method: 'get',
    path: '/policy/sees',
    summary: 'What of all that servers offer a caller may use, is asked about, is refused, or is not shown.',
    answer: sees,
    query: seesQuery,
  },
  audit: {
    method: 'get',
    path: '/audit/records',
    summary: 'Audit records, the latest first. The search is itself on record.',
    answer: auditRecords,
    query: auditQuery,
  },
  auditRecord: {
    method: 'get',
    path: '/audit/record',
    summary: 'One audit record in full, and its place in the chain of its writer. Reading it is on record.',
    answer: auditRecord,
    query: recordQuery,
  },
  auditVerify: {
    method: 'get',
    path: '/audit/verify',
    summary:
      'Verifies the chain of one writer: events `progress`, and then `verified` or `failed`. That it was asked for is on record.',
    type: 'text/event-stream',
    query: verifyQuery,
  },
  metrics: {
    method: 'get',
    path: '/metrics/summary',
    summary: 'Calls, failures and how long they take.',
    answer: summary,
  },
  rates: {
    method: 'get',
    path: '/metrics/history',
    summary: 'Calls, failures and how long they took in the last half hour, in steps of ten seconds.',
    answer: rateHistory,
    query: z.object({ server: z.string().max(64).optional().describe('Default: all servers together.') }),
  },
  calls: {
    method: 'get',
    path: '/calls',
    summary: 'Calls that were watched lately, and that failed.',
    answer: calls,
    query: watchFilter,
  },
  call: { method: 'get', path: '/calls/{tag}', summary: 'One call, in all processes.', answer: callPage },
  replay: {
    method: 'get',
    path: '/calls/{tag}/replay',
    summary:
      'What it takes to make a call of a tool again, at the same or at another server: the name of the tool at an endpoint, and the arguments if they are known.',
    answer: replay,
    query: z.object({
      server: z
        .string()
        .max(64)
        .optional()
        .describe(
          'Default: the server that the call went to. One that offers no tool of the same name is refused (404).',
        ),
    }),
  },
  failures: {
    method: 'get',
    path: '/failures',
    summary: 'The last calls that failed, of every process.',
    answer: failures,
  },
  approvals: {
    method: 'get',
    path: '/approvals',
    summary: 'Calls that wait for approvers, and those of the last day that were decided, expired or withdrawn.',
    answer: approvals,
    query: page.extend({ state: z.enum(['waiting', 'over']).optional().describe('Default: all.') }),
  },
  approval: {
    method: 'get',
    path: '/approvals/{id}',
    summary: 'One call that waits for approvers, or did.',
    answer: approvalPage,
  },
  decide: {
    method: 'post',
    path: '/approvals/{id}',
    summary: 'Approves or refuses a call that waits. No user decides their own calls.',
    body: decision,
    answer: decided,
  },
  withdrawVote: {
    method: 'delete',
    path: '/approvals/{id}',
    summary: 'Takes back your approval of a call that waits for further approvers.',
    answer: decided,
  },
  ...grantOperations,
  ...labelOperations,
  definitions: {
    method: 'get',
    path: '/definitions',
    summary:
      'What servers say of themselves that differs from what was approved, without the differences, and what is suspicious.',
    answer: definitions,
  },
  serverDefinitions: {
    method: 'get',
    path: '/definitions/{server}',
    summary: 'What one server says of itself that differs from what was approved, with the differences.',
    answer: definitionsPage,
  },
  approve: {
    method: 'post',
    path: '/definitions/{server}',
    summary: 'Approves definitions of a server as they were shown.',
    body: definitionsApproval,
    answer: definitionsApproved,
  },
  watch: {
    method: 'get',
    path: '/watch',
    summary:
      'What happens from now on: events `calls`, events `logs` with the lines of one server, the first with the last lines so far, and one for each topic of state whenever its answer differs. A comment every 15 seconds.',
    type: 'text/event-stream',
    query: watchFilter.extend({
      topics: z
        .string()
        .max(200)
        .optional()
        .describe(
          `Several with commas, of: calls, logs (of the server that \`server\` names), ${stateTopics.join(', ')}. Default: calls.`,
        ),
      rate: z.coerce
        .number()
        .int()
        .min(1)
        .max(200)
        .default(50)
        .describe('Calls a second that are told of; others are counted.'),
      payload: z
        .enum(payloads)
        .default('none')
        .describe(
          'What is told of arguments and results: nothing but sizes; names and types; values without what looks secret, where `console.payloads` says so.',
        ),
    }),
  },
  ...attemptOperations,
  openapi: {
    method: 'get',
    path: '/openapi.json',
    summary: 'This document.',
    answer: z.record(z.string(), z.unknown()),
  },
} as const satisfies Readonly<Record<string, Operation>>;
export type OperationName = keyof typeof operations;
export type AnswerOf<Name extends OperationName> = (typeof operations)[Name] extends {
  readonly answer: infer Answer extends z.ZodType;
}
  ? z.output<Answer>
  : never;
export type BodyOf<Name extends OperationName> = (typeof operations)[Name] extends {
  readonly body: infer Body extends z.ZodType;
}
  ? z.output<Body>
  : undefined;
export type QueryOf<Name extends OperationName> = (typeof operations)[Name] extends {
  readonly query: infer Query extends z.ZodType;
}
  ? z.output<Query>
  : object;
