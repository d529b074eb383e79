/** Redaction of messages of servers, over every path to a client: a session worker on a bus in memory. */
import type { AuditEvent } from '@omnibus/audit';
import { latestLegacyRevision, latestModernRevision, type Revision } from '@omnibus/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  answersWith,
  auditIn,
  beginTask,
  expectRedactedTask,
  serverOf,
  takingTasks,
  textOf,
} from './answers-under-test.ts';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

const servers = ['crm', 'other'];
const rules = [
  { id: 'all', who: 'everyone', allow: ['*'] },
  { id: 'no-mail', who: 'group:interns', redact: ['crm', 'resource:crm/*'], patterns: ['email'] },
  { id: 'no-phone', who: 'group:interns', redact: ['crm/find'], paths: ['/people/*/phone'] },
];
const settings = { auth: { keys: { file: 'keys.yaml' } }, access: { rules } };
const [intern, staff] = [callerOf('ann', { groups: ['interns'] }), callerOf('bob')];
const mail = 'eve@x.example';

let worker: WorkerUnderTest;
let noted: AuditEvent[];

async function start(given: object = settings): Promise<void> {
  noted = [];
  worker = await WorkerUnderTest.start(servers, given, auditIn(noted, true));
  for (const server of servers) await worker.put(server, serverOf(server));
}

beforeEach(() => start());

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  await worker.stop();
});

describe.each([latestLegacyRevision, latestModernRevision] as const)('in %s', (revision: Revision) => {
  const open = (by = intern): Promise<ClientUnderTest> => worker.open(revision, takingTasks(revision), by);

  it.each(answersWith(mail))(
    '%s %j: what a pattern finds is not in the answer for whom the rule is about, and for others it is',
    async (method, params, outcome) => {
      worker.outcome = outcome;
      const [mine, others] = [await (await open()).ask(method, params), await (await open(staff)).ask(method, params)];
      expect(JSON.stringify(mine)).not.toContain(mail);
      expect(JSON.stringify(mine)).toContain('[redacted]');
      expect(JSON.stringify(others)).toContain(mail);
      expect(JSON.stringify(noted.filter(({ who }) => who?.subject === 'ann'))).not.toContain(mail);
    },
  );

  it('what is at a path is not in the answer, nor in the text that says the same', async () => {
    const structuredContent = { people: [{ name: 'eve', phone: 123, n: 1 }] };
    worker.outcome = {
      kind: 'result',
      result: { structuredContent, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] },
    };
    const { result } = await (await open()).ask('tools/call', { name: 'crm__find', arguments: {} });
    expect(result?.['structuredContent']).toEqual({ people: [{ name: 'eve', phone: '[redacted]', n: 1 }] });
    expect(JSON.stringify(result)).not.toContain('123');
  });

  it('of a task, what it says of itself and its result are the same as of a call', async () => {
    const client = await open();
    const started = await beginTask(worker, client, revision, mail);
    expect(JSON.stringify(started)).not.toContain(mail);
    await expectRedactedTask(worker, client, revision, { text: mail, started });
  });

  it('where rules are only recorded, nothing is taken out, and it is counted', async () => {
    await worker.stop();
    await start({ ...settings, access: { mode: 'record', rules } });
    worker.outcome = textOf(mail);
    expect(JSON.stringify(await (await open()).ask('tools/call', { name: 'crm__tell', arguments: {} }))).toContain(
      mail,
    );
    expect(await worker.metrics.text()).toContain('omnibus_policy_refusals_total{outcome="recorded",rule="no-mail"} 1');
  });
});

it('progress, log messages and questions of a call say nothing of it either', async () => {
  const client = await worker.open(latestLegacyRevision, { elicitation: {} }, intern);
  worker.takes = (reply) => {
    reply({ kind: 'progress', progress: 1, message: `at ${mail}` });
    reply({ kind: 'log', params: { level: 'error', data: { mail } } });
    reply({ kind: 'notification', method: 'notifications/x/odd', params: { mail } });
    reply({
      kind: 'input',
      input: 1 as never,
      method: 'elicitation/create',
      params: { message: `is it ${mail}?`, requestedSchema: { type: 'object', properties: {} } },
    });
  };
  const answered = client.ask('tools/call', { name: 'crm__tell', arguments: {}, _meta: { progressToken: 'p' } });
  await client.asked.untilSome(({ method }) => method === 'elicitation/create');
  expect(client.asked.values.map(({ method }) => method)).toEqual([
    'notifications/progress',
    'notifications/message',
    'notifications/x/odd',
    'elicitation/create',
  ]);
  expect(JSON.stringify(client.asked.values)).not.toContain(mail);
  client.say({
    kind: 'notification',
    message: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: client.lastId() } },
  });
  void answered;
});

it('the record of a call names the version of the rules', async () => {
  const client = await worker.open(latestLegacyRevision, {}, staff);
  await client.ask('tools/call', { name: 'crm__tell', arguments: {} });
  expect(noted.find(({ name }) => name === 'mcp.call')).toMatchObject({
    rule: 'all',
    policy: expect.stringMatching(/^[\w-]{12}$/) as string,
  });
});

it('the record of a call names the definition that was approved, where its server is pinned', async () => {
  await worker.stop();
  await start({
    auth: { keys: { file: 'keys.yaml' } },
    mcpServers: {
      crm: { url: 'http://127.0.0.1:1/mcp', definitions: 'pin' },
      other: { url: 'http://127.0.0.1:1/mcp' },
    },
  });
  const client = await worker.open(latestLegacyRevision, {}, staff);
  for (const server of servers) await client.ask('tools/call', { name: `${server}__tell`, arguments: {} });
  expect(
    noted.filter(({ name }) => name === 'mcp.call').map(({ server, more }) => [server, typeof more?.['definition']]),
  ).toEqual([
    ['crm', 'string'],
    ['other', 'undefined'],
  ]);
});
