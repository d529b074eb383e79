/** Composite tools, with servers that a test writes into the catalogue: lists by rights, steps with all checks, errors that name the step. */
import type { AuditEvent } from '@omnibus/audit';
import { coderNames, finderNames, resultReader } from '@omnibus/catalog';
import { configOf } from '@omnibus/config/testing';
import { afterEach, describe, expect, it } from 'vitest';
import {
  latestLegacyRevision,
  legacyRevisions,
  modernRevisions,
  noLists,
  type CatalogRecord,
  type ExchangeEvent,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';
import { auditIn, textIn, textOf } from '../../answers-under-test.ts';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from '../../worker-under-test.ts';

let up: WorkerUnderTest | undefined;
afterEach(() => up?.stop());

const revisions: readonly Revision[] = [...legacyRevisions, ...modernRevisions];
const recordOf = (...names: readonly string[]): Partial<CatalogRecord> => ({
  revision: latestLegacyRevision,
  capabilities: { tools: {} },
  lists: { ...noLists, tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) },
});
const close_late = {
  description: 'Closes the oldest late ticket and tells its owner.',
  inputSchema: {
    type: 'object',
    properties: { team: { type: 'string' }, note: { type: 'string' } },
    required: ['team'],
  },
  steps: [
    { id: 'find', call: 'crm/find', arguments: { team: '{args.team}', limit: 1 } },
    { id: 'shut', call: 'crm/close', arguments: { id: '{steps.find.items.0.id}', note: '{args.note}' } },
    { id: 'tell', call: 'mail/send', arguments: { text: 'Closed {steps.find.items.0.title}' } },
  ],
  result: { closed: '{steps.find.items.0.id}', mail: '{steps.tell}' },
};
const events: AuditEvent[] = [];
const audit = auditIn(events);
const found: ExchangeEvent = {
  kind: 'result',
  result: { content: [], structuredContent: { items: [{ id: 7, title: 'Late' }] } },
};

async function started(settings: object = {}): Promise<WorkerUnderTest> {
  events.length = 0;
  up = await WorkerUnderTest.start(['crm', 'mail'], { composites: { close_late }, ...settings }, audit);
  await up.put('crm', recordOf('find', 'close'));
  await up.put('mail', recordOf('send'));
  return up;
}

/** The servers answer with these, in order. */
function answering(worker: WorkerUnderTest, ...answers: readonly ExchangeEvent[]): void {
  const [next, ...rest] = answers;
  if (next === undefined) return;
  worker.takes = (reply) => {
    answering(worker, ...rest);
    reply(next);
  };
}

const call = async (client: ClientUnderTest, given: unknown): Promise<JsonObject> => {
  const { result, error } = await client.ask('tools/call', { name: 'close_late', arguments: given });
  return result ?? { error };
};
const names = async (client: ClientUnderTest): Promise<readonly string[]> =>
  ((await client.ask('tools/list')).result?.['tools'] as readonly { readonly name: string }[]).map(({ name }) => name);
const argumentsAsked = (worker: WorkerUnderTest): readonly unknown[] =>
  worker.asked.values.map(({ params }) => [params['name'], params['arguments']]);

describe.each(revisions)('a client of %s', (revision) => {
  it('sees the tool beside those of servers, calls it once, and gets one result', async () => {
    const worker = await started();
    const client = await worker.open(revision);
    expect(await names(client)).toEqual(['close_late', 'crm__find', 'crm__close', 'mail__send']);
    answering(worker, found, textOf('{"ok":true}'), textOf('sent'));
    const result = await call(client, { team: 'core' });
    expect(textIn(result)).toBe('{"closed":7,"mail":"sent"}');
    expect(argumentsAsked(worker)).toEqual([
      ['find', { team: 'core', limit: 1 }],
      ['close', { id: 7 }],
      ['send', { text: 'Closed Late' }],
    ]);
    // Each step is on record with its tool, and then the composite tool.
    const calls = events.filter(({ name }) => name === 'mcp.call');
    expect(calls.map(({ target }) => target)).toEqual(['find', 'close', 'send', 'close_late']);
    expect(new Set(calls.map(({ more }) => more?.['run'])).size).toBe(1);
    expect(calls[3]?.more).toMatchObject({ calls: 3, steps: 'find shut tell' });
  });

  it('gets an error that names the step that failed, and those that have run', async () => {
    const worker = await started();
    const client = await worker.open(revision);
    const failed = { content: [{ type: 'text', text: 'it is locked.' }], isError: true };
    answering(worker, found, { kind: 'result', result: failed });
    const result = await call(client, { team: 'core' });
    expect(result['isError']).toBe(true);
    expect(textIn(result)).toBe('The step "shut" (crm/close) has failed: it is locked. Steps that have run: find.');
    expect(worker.reached).toEqual(['crm', 'crm']);
  });
});

it('a part that a result lacks, and an argument that the tool needs, are errors before the call is made', async () => {
  const worker = await started();
  const client = await worker.open(latestLegacyRevision);
  answering(worker, textOf('{"items":[]}'));
  expect(textIn(await call(client, { team: 'core' }))).toBe(
    'The step "shut" (crm/close) has failed: the result of the step "find" has no part {steps.find.items.0.id}. Steps that have run: find.',
  );
  expect(textIn(await call(client, {}))).toBe('The tool needs "team". No step was begun.');
  expect(worker.reached).toEqual(['crm']);
});

it.each([...Object.values(finderNames), ...Object.values(coderNames), resultReader.name])(
  'no composite tool has the name %s, which the gateway itself uses',
  (name) => {
    const options = { mcpServers: { crm: { url: 'http://127.0.0.1:1/mcp' } }, composites: { [name]: {} } };
    expect(() => configOf(options)).toThrow('the gateway itself has a tool of this name');
  },
);

it('arguments that are no object are refused, as for a tool of a server', async () => {
  const only = { ...close_late, inputSchema: { ...close_late.inputSchema, required: [] } };
  const worker = await started({ composites: { close_late: only } });
  worker.takes = () => undefined;
  const client = await worker.open(latestLegacyRevision);
  expect(await call(client, '{"team":"core"}')).toMatchObject({ error: { data: { reason: 'params.invalid' } } });
  expect(worker.reached).toEqual([]);
});

it('without `result` it has the result of its last step', async () => {
  const worker = await started({ composites: { close_late: { ...close_late, result: undefined } } });
  const client = await worker.open(latestLegacyRevision);
  answering(worker, found, textOf('{}'), textOf('sent'));
  expect(await call(client, { team: 'core' })).toEqual({ content: [{ type: 'text', text: 'sent' }] });
});

describe('by the rights of the caller', () => {
  const keyed = { auth: { keys: { file: 'keys.yaml' } } };
  const allow = { id: 'all', who: 'everyone', allow: ['crm', 'mail'] };

  it('a caller that does not see a step does not see the tool, and calls it in vain', async () => {
    const hidden = { id: 'no-mail', who: 'everyone', deny: 'mail/send' };
    const worker = await started({ ...keyed, access: { rules: [allow, hidden] } });
    const client = await worker.open(latestLegacyRevision, {}, callerOf('ann'));
    expect(await names(client)).toEqual(['crm__find', 'crm__close']);
    expect(await call(client, { team: 'core' })).toMatchObject({ error: { data: { reason: 'tool.unknown' } } });
  });

  it('a rule about arguments refuses the step that it is about', async () => {
    const careful = {
      id: 'careful',
      who: 'everyone',
      deny: 'crm/close',
      args: { id: { min: 5 } },
      because: 'too high',
    };
    const worker = await started({ ...keyed, access: { rules: [allow, careful] } });
    const client = await worker.open(latestLegacyRevision, {}, callerOf('ann'));
    answering(worker, found);
    expect(textIn(await call(client, { team: 'core' }))).toMatch(
      /^The step "shut" \(crm\/close\) has failed: .*too high/,
    );
    expect(worker.reached).toEqual(['crm']);
  });
});

it('a profile chooses composite tools, and lists without the tools of their steps', async () => {
  const composites = { close_late: { ...close_late, hideSteps: true } };
  const worker = await started({ composites, profiles: { few: { composites: [] } } });
  expect(await names(await worker.open(latestLegacyRevision))).toEqual(['close_late']);
});

it('progress of its steps is progress of its request', async () => {
  const worker = await started();
  const client = await worker.open(latestLegacyRevision);
  answering(worker, found, textOf('{}'), textOf('sent'));
  await client.ask('tools/call', {
    name: 'close_late',
    arguments: { team: 'core' },
    _meta: { progressToken: 'p' },
  });
  const steps = client.asked.values.filter(({ method }) => method === 'notifications/progress');
  expect(steps.map(({ params }) => (params as JsonObject)['message'])).toEqual([
    'step find has answered (1 of 3)',
    'step shut has answered (2 of 3)',
    'step tell has answered (3 of 3)',
  ]);
});

it('a limit that the client sets for the request holds for its steps', async () => {
  const worker = await started();
  worker.takes = () => undefined;
  const client = await worker.open(latestLegacyRevision);
  const ask = async (limit: unknown): Promise<JsonObject> => {
    const params = { name: 'close_late', arguments: { team: 'core' }, _meta: { 'dev.omnibus/timeoutMs': limit } };
    const { result, error } = await client.ask('tools/call', params);
    return result ?? { error };
  };
  expect(textIn(await ask(20))).toMatch(/^The step "find" \(crm\/find\) has failed: .*the limit of this request/);
  expect(await ask('soon')).toMatchObject({ error: { data: { reason: 'params.invalid' } } });
});

it('a client cancels the tool, and its step with it', async () => {
  const worker = await started();
  worker.takes = () => undefined;
  const client = await worker.open(latestLegacyRevision);
  void client.ask('tools/call', { name: 'close_late', arguments: { team: 'core' } });
  await worker.asked.until(1);
  client.say({
    kind: 'notification',
    message: {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: client.lastId(), reason: 'enough' },
    },
  });
  expect(await worker.controls.untilSome(({ kind }) => kind === 'cancel')).toMatchObject({ reason: 'enough' });
  expect(await client.ask('ping')).toMatchObject({ result: {} });
});

it('at an endpoint with all tools, a tool of a server with the name of a finder is still that of the server', async () => {
  const only = { ...close_late, steps: [{ id: 'find', call: 'crm/find' }], result: undefined };
  up = await WorkerUnderTest.start(['crm'], { composites: { close_late: only } }, audit);
  await up.put('crm', recordOf('find', 'find_tools'));
  up.outcome = textOf('of the server');
  const client = await up.open(latestLegacyRevision);
  const { result } = await client.ask('tools/call', { name: 'find_tools', arguments: { query: 'x' } });
  expect(textIn(result ?? {})).toBe('of the server');
});
