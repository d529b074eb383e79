/** Servers with everything, their answers, and an audit that a test reads: shared by tests of what happens to messages of servers. */
import type { Audit, AuditEvent } from '@omnibus/audit';
import {
  latestLegacyRevision,
  latestModernRevision,
  newWorkerId,
  noLists,
  parseServerName,
  tasksExtension,
  type CatalogRecord,
  type ExchangeEvent,
  type JsonObject,
  type Revision,
  type TaskPlace,
} from '@omnibus/protocol';
import { expect } from 'vitest';
import type { ClientUnderTest, WorkerUnderTest } from './worker-under-test.ts';

/** @param events where each record goes. */
export function auditIn(events: AuditEvent[], wantsResults = false): Audit {
  return {
    isStrict: false,
    wantsResults,
    wants: () => true,
    record: (event) => void events.push(event),
    confirm: () => Promise.resolve(true),
  };
}

/** The answer of a server: a result with one text. */
export function textOf(text: string, more: JsonObject = {}): ExchangeEvent {
  return { kind: 'result', result: { content: [{ type: 'text', text }], ...more } };
}

/** Requests to the server `crm` (`serverOf`) of each kind, with an answer that contains a text. */
export function answersWith(text: string): readonly (readonly [string, JsonObject, ExchangeEvent])[] {
  const tell = { name: 'crm__tell', arguments: {} };
  const result = (made: JsonObject): ExchangeEvent => ({ kind: 'result', result: made });
  return [
    ['tools/call', tell, textOf(`write to ${text}`)],
    ['tools/call', tell, textOf(text, { isError: true })],
    ['tools/call', tell, { kind: 'error', error: { code: -32_000, message: `no such: ${text}`, data: { text } } }],
    ['tools/call', tell, { kind: 'fault', fault: { reason: 'upstream.refused', message: `answered: ${text}` } }],
    ['prompts/get', { name: 'crm__ask' }, result({ messages: [{ role: 'user', content: { type: 'text', text } }] })],
    ...['crm://one', 'crm://on-no-list'].map(
      (uri) => ['resources/read', { uri }, result({ contents: [{ uri, text }] })] as const,
    ),
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'crm__ask' }, argument: { name: 'a', value: '' } },
      result({ completion: { values: [text] } }),
    ],
  ];
}

/** A server with tools that may run as tasks, a prompt and a resource. @param tools more of them. */
export function serverOf(name: string, tools: CatalogRecord['lists']['tools'] = []): Partial<CatalogRecord> {
  const asTask = { inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } };
  return {
    revision: latestLegacyRevision,
    capabilities: {
      tools: {},
      prompts: {},
      resources: {},
      completions: {},
      logging: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    },
    lists: {
      ...noLists,
      tools: [...['find', 'tell'].map((tool) => ({ name: tool, ...asTask })), ...tools],
      prompts: [{ name: 'ask' }],
      resources: [{ uri: `${name}://one`, name: 'one' }],
    },
  };
}

/** Capabilities of a client that takes tasks. */
export function takingTasks(revision: Revision): JsonObject {
  return revision === latestModernRevision ? { extensions: { [tasksExtension]: {} } } : { tasks: {} };
}

/** The reason of an error; `answered` for a result. */
export function reasonOf({ error, result }: Awaited<ReturnType<ClientUnderTest['ask']>>): unknown {
  return result === undefined ? error?.data?.['reason'] : 'answered';
}

/** The first text of a result; the whole as JSON if it has none. */
export function textIn(result: JsonObject): string {
  return (result['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(result);
}

const place: TaskPlace = { worker: newWorkerId('backend'), connection: 'run-1', isProgram: false };

/** Begins a task of the tool `tell` at `crm`. @param text which the task says of itself. */
export function beginTask(
  worker: WorkerUnderTest,
  client: ClientUnderTest,
  revision: Revision,
  text: string,
): ReturnType<ClientUnderTest['ask']> {
  worker.outcome = { kind: 'result', result: { task: taskWith(text, 'working') }, place };
  const task = revision === latestModernRevision ? {} : { task: {} };
  return client.ask('tools/call', { name: 'crm__tell', arguments: {}, ...task });
}

/** Expects that a text is redacted in all that the client hears of a task which it has begun. */
export async function expectRedactedTask(
  worker: WorkerUnderTest,
  client: ClientUnderTest,
  revision: Revision,
  { text, started }: { readonly text: string; readonly started: Awaited<ReturnType<typeof beginTask>> },
): Promise<void> {
  const { taskId } = (started.result?.['task'] ?? started.result) as JsonObject;
  worker.outcome = { kind: 'result', result: taskWith(text, 'working') };
  const state = await client.ask('tasks/get', { taskId });
  expect(JSON.stringify(state)).not.toContain(text);
  expect(state.result?.['taskId']).toBe(taskId);
  if (revision === latestModernRevision) {
    worker.takes = (reply) => {
      worker.outcome = textOf(text);
      reply({ kind: 'result', result: taskWith(text, 'completed') });
    };
    expect(JSON.stringify(await client.ask('tasks/get', { taskId }))).toMatch(/"text":"\[redacted\]"/);
    return;
  }
  worker.outcome = textOf(text);
  expect(JSON.stringify(await client.ask('tasks/result', { taskId }))).toMatch(/"text":"\[redacted\]"/);
  worker.outcome = { kind: 'result', place, result: { tasks: [taskWith(text, 'working')] }, tools: ['tell'] };
  const list = await client.ask('tasks/list');
  expect(JSON.stringify(list)).not.toContain(text);
  expect(list.result?.['tasks']).toMatchObject([{ taskId, statusMessage: 'asks [redacted]' }]);
  const [server, sessions] = [parseServerName('crm'), [client.key as never]];
  worker.notice({ kind: 'task-status', server, task: taskWith(text, 'working'), place, tool: 'tell', sessions });
  worker.notice({ kind: 'log', server, params: { level: 'error', data: text }, sessions });
  await client.pushed.untilSome(({ method }) => method === 'notifications/message');
  expect(JSON.stringify(client.pushed.values)).not.toContain(text);
  expect(client.pushed.values.map(({ method }) => method)).toEqual([
    'notifications/tasks/status',
    'notifications/message',
  ]);
}

function taskWith(text: string, status: string): JsonObject {
  const at = { createdAt: 'now', lastUpdatedAt: 'now', ttl: 60_000 };
  return { taskId: 't-1', status, statusMessage: `asks ${text}`, ...at };
}
