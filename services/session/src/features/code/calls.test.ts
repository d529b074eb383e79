/** What works for a direct call works from inside a script: one test for each feature, in revisions of both eras. */
import type { AuditEvent } from '@omnibus/audit';
import { afterEach, describe, expect, it } from 'vitest';
import { coderNames } from '@omnibus/catalog';
import {
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  type CatalogRecord,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';
import { auditIn, textIn, textOf } from '../../answers-under-test.ts';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from '../../worker-under-test.ts';

let up: WorkerUnderTest | undefined;
afterEach(() => up?.stop());

const eras: readonly Revision[] = [latestLegacyRevision, latestModernRevision];

const record: Partial<CatalogRecord> = {
  revision: latestLegacyRevision,
  capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } },
  lists: {
    ...noLists,
    tools: [
      { name: 'plain', inputSchema: { type: 'object' } },
      { name: 'drop', inputSchema: { type: 'object' }, annotations: { destructiveHint: true } },
      { name: 'slow', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } },
    ],
  },
};
const events: AuditEvent[] = [];
const audit = auditIn(events);

async function started(settings: object = {}): Promise<WorkerUnderTest> {
  events.length = 0;
  up = await WorkerUnderTest.start(['crm'], { listing: 'code', ...settings }, audit);
  await up.put('crm', record);
  up.outcome = textOf('done');
  return up;
}

async function run(client: ClientUnderTest, code: string, more: JsonObject = {}): Promise<JsonObject> {
  const { result, error } = await client.ask('tools/call', { name: coderNames.run, arguments: { code }, ...more });
  return result ?? { error };
}

const ann = (): ReturnType<typeof callerOf> => callerOf('ann');
const keyed = { auth: { keys: { file: 'keys.yaml' } } };
const denied = {
  ...keyed,
  access: {
    rules: [
      { id: 'all', who: 'everyone', allow: ['crm'] },
      { id: 'careful', who: 'everyone', deny: 'crm/drop', args: { n: { max: 5 } }, because: 'one by one' },
    ],
  },
};
const hundred = `let caught = 0;
  for (let at = 0; at < 100; at += 1) try { await servers.crm.drop({ n: 1 }); } catch { caught += 1; }
  return caught;`;

describe.each(eras)('a script of a client of %s', (revision) => {
  it('gets an exception with the reason, when a call is refused', async () => {
    const client = await (await started(denied)).open(revision, {}, ann());
    const code = `try { await servers.crm.drop({ n: 1 }); } catch (error) { return [error.name, error.reason, error.message]; }`;
    expect(JSON.parse(textIn(await run(client, code)))).toEqual([
      'CallError',
      'policy.denied',
      expect.stringContaining('one by one'),
    ]);
    expect(up?.reached).toEqual([]);
  });

  it('is ended after so many refusals, whatever it catches', async () => {
    const client = await (await started({ ...denied, code: { refusals: 3 } })).open(revision, {}, ann());
    const result = await run(client, hundred);
    expect(result['isError']).toBe(true);
    expect(textIn(result)).toContain('the gateway has refused 3 calls, so the script was ended (code.refusals)');
    expect(events.filter(({ name }) => name === 'mcp.refused')).toHaveLength(3);
  });

  it('gets an exception with the text of a tool that fails', async () => {
    const worker = await started();
    worker.outcome = { kind: 'result', result: { content: [{ type: 'text', text: 'no such row' }], isError: true } };
    const result = await run(await worker.open(revision), `await servers.crm.plain();`);
    expect(result['isError']).toBe(true);
    expect(textIn(result)).toMatch(/^CallError: no such row\n {4}at line 1, column \d+$/);
  });

  it('is on record with its calls, which name their tool and the run', async () => {
    const client = await (await started()).open(revision);
    await run(client, `await servers.crm.plain({ a: 1 }); await servers.crm.drop();`);
    const calls = events.filter(({ name }) => name === 'mcp.call');
    expect(calls.map(({ target, outcome }) => [target, outcome])).toEqual([
      ['plain', 'ok'],
      ['drop', 'ok'],
      [coderNames.run, 'ok'],
    ]);
    expect(new Set(calls.map(({ more }) => more?.['run'])).size).toBe(1);
    expect(calls[2]?.more).toMatchObject({ calls: 2, refusals: 0, seed: expect.any(Number) as number });
  });

  it('waits for the result of a tool that runs as a task only', async () => {
    const worker = await started();
    worker.takes = (reply) => {
      worker.outcome = textOf('finished');
      reply({
        kind: 'result',
        result: { task: { taskId: 't1', status: 'working', createdAt: '2026-01-01T00:00:00Z', ttl: null } },
      });
    };
    expect(textIn(await run(await worker.open(revision), `return await servers.crm.slow();`))).toBe('finished');
    expect(worker.asked.values.map(({ method }) => method)).toEqual(['tools/call', 'tasks/result']);
  });

  it('runs calls beside each other, and no more than its bound', async () => {
    const worker = await started({ code: { callsAtOnce: 2 } });
    let most = 0;
    const open: (() => void)[] = [];
    const take = (): void => {
      worker.takes = (reply) => {
        open.push(() => reply(textOf('one')));
        most = Math.max(most, open.length);
        take();
        if (open.length === 2) for (const answer of open.splice(0)) answer();
      };
    };
    take();
    const client = await worker.open(revision);
    const code = `return (await Promise.all([1, 2, 3, 4].map(() => servers.crm.plain()))).length;`;
    expect(textIn(await run(client, code))).toBe('4');
    expect(most).toBe(2);
  });

  it('is refused while as many scripts run as its caller may have, and those of others are not', async () => {
    const worker = await started({ ...keyed, code: { runsPerCaller: 1 } });
    const [client, other] = [await worker.open(revision, {}, ann()), await worker.open(revision, {}, callerOf('bob'))];
    let answer = (): void => undefined;
    worker.takes = (reply) => {
      answer = () => reply(textOf('late'));
    };
    const first = run(client, `return await servers.crm.plain();`);
    await worker.asked.until(1);
    expect(await run(client, `return 1;`)).toMatchObject({ error: { data: { reason: 'code.busy' } } });
    expect(textIn(await run(other, `return 1;`))).toBe('1');
    answer();
    expect(textIn(await first)).toBe('late');
    expect(textIn(await run(client, `return 2;`))).toBe('2');
  });

  it('is ended after its time, which cancels its calls', async () => {
    const worker = await started({ code: { timeout: '5s' } });
    worker.takes = () => undefined;
    const result = run(await worker.open(revision), `return await servers.crm.plain();`);
    await worker.asked.until(1);
    expect(textIn(await worker.turning(result))).toBe('the script ran for too long (code.timeout)');
    await worker.controls.untilSome(({ kind }) => kind === 'cancel');
  });

  it('waits while its user is asked, however long that takes, and goes on with the answer', async () => {
    const worker = await started({ code: { timeout: '5s' } });
    worker.takes = (reply) => {
      reply({
        kind: 'input',
        input: 1,
        method: 'elicitation/create',
        params: { message: 'sure?', requestedSchema: { type: 'object', properties: {} } },
      });
      void worker.controls
        .untilSome(({ kind }) => kind === 'answer')
        .then((command) => reply(textOf(JSON.stringify('answer' in command ? command.answer : undefined))));
    };
    const client = await worker.open(revision, { elicitation: { form: {} } });
    const code = `return (await servers.crm.plain()).result.action;`;
    // The user takes longer than the script may run.
    const later = (): Promise<void> => worker.turning(new Promise((resolve) => worker.wheel.schedule(20_000, resolve)));
    if (revision === latestModernRevision) {
      const { requestState, inputRequests } = await run(client, code);
      await later();
      const [key = ''] = Object.keys(inputRequests as JsonObject);
      const result = await run(client, code, { requestState, inputResponses: { [key]: { action: 'accept' } } });
      expect(textIn(result)).toBe('accept');
    } else {
      const result = run(client, code);
      const { id } = await client.asked.untilSome(({ method }) => method === 'elicitation/create');
      await later();
      client.say({ kind: 'response', message: { jsonrpc: '2.0', id: id as number, result: { action: 'accept' } } });
      expect(textIn(await result)).toBe('accept');
    }
  });
});

it('reports progress of all its calls as one, which only increases', async () => {
  const worker = await started();
  worker.takes = (reply) => {
    reply({ kind: 'progress', progress: 50, total: 100, message: 'half' });
    reply({ kind: 'progress', progress: 100, total: 100 });
    reply(textOf('one'));
  };
  const client = await worker.open(latestLegacyRevision);
  await run(client, `await servers.crm.plain(); await servers.crm.plain();`, { _meta: { progressToken: 'p' } });
  const heard = client.asked.values.filter(({ method }) => method === 'notifications/progress');
  expect(heard.map(({ params }) => params)).toEqual([
    { progressToken: 'p', progress: 1, message: 'half' },
    { progressToken: 'p', progress: 2, message: '100 of 100' },
    { progressToken: 'p', progress: 3, message: 'servers.crm.plain has answered' },
    { progressToken: 'p', progress: 4, message: 'servers.crm.plain has answered' },
  ]);
});

it('is cancelled with its calls, and never answered', async () => {
  const worker = await started();
  worker.takes = () => undefined;
  const client = await worker.open(latestLegacyRevision);
  void client.ask('tools/call', { name: coderNames.run, arguments: { code: `await servers.crm.plain();` } });
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
  expect(events.filter(({ target }) => target === coderNames.run)).toMatchObject([{ outcome: 'cancelled' }]);
  expect(await client.ask('ping')).toMatchObject({ result: {} });
});
