/** Calls that wait for approvers, in the MCP clients of these: session workers on a bus in memory. */
import type { AuditEvent } from '@omnibus/audit';
import { ApprovalBoard } from '@omnibus/bus';
import {
  latestLegacyRevision,
  noLists,
  type ApprovalRecord,
  type Caller,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { auditIn, reasonOf } from './answers-under-test.ts';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

const servers = ['bank', 'other'];
const rules = [
  {
    id: 'wire',
    who: 'group:eng',
    ask: ['bank/wire'],
    approvers: ['group:release', 'test|ann'],
    because: 'it cannot be undone',
  },
  { id: 'quick', who: 'group:eng', ask: ['bank/quick'], approvers: ['group:release'], expires: '1m' },
];
const roles = { approver: ['group:release', 'test|ann', 'group:elsewhere'] };
const settings = {
  auth: { keys: { file: 'keys.yaml' }, admin: { roles } },
  access: { rules, approvals: { clients: true } },
};
const forms: JsonObject = { elicitation: { form: {} } };
const ann = callerOf('ann', { groups: ['eng'] });
const bob = callerOf('bob', { groups: ['release'] });
const cal = callerOf('cal', { groups: ['release'] });

let worker: WorkerUnderTest;
let noted: AuditEvent[];

async function start(given: object = settings): Promise<void> {
  noted = [];
  worker = await WorkerUnderTest.start(servers, given, auditIn(noted, true));
  await worker.put('bank', {
    revision: latestLegacyRevision,
    capabilities: { tools: {} },
    lists: { ...noLists, tools: ['wire', 'quick'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
  });
}

beforeEach(() => start());

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  await worker.stop();
});

const isForm = ({ method }: JsonObject): boolean => method === 'elicitation/create';
const formsOf = ({ pushed }: ClientUnderTest): readonly JsonObject[] => pushed.values.filter(isForm);
const eventsOf = (name: string): readonly AuditEvent[] => noted.filter((event) => event.name === `approval.${name}`);
const wire = (to = 'DE1'): JsonObject => ({ name: 'bank__wire', arguments: { to } });

async function shownTo(client: ClientUnderTest, count = 1): Promise<JsonObject> {
  await client.pushed.untilSome(() => formsOf(client).length >= count);
  return formsOf(client)[count - 1] as JsonObject;
}

function answer(client: ClientUnderTest, form: JsonObject, result: JsonObject): void {
  client.say({ kind: 'response', message: { jsonrpc: '2.0', id: form['id'] as string, result } });
}

const decided = (decision: string, more: JsonObject = {}): JsonObject => ({
  action: 'accept',
  content: { decision, ...more },
});
const open = (by: Caller, revision: Revision = latestLegacyRevision, capabilities = forms): Promise<ClientUnderTest> =>
  worker.open(revision, capabilities, by);

describe.each(['2025-06-18', '2025-11-25'] as const)('an approver with a client of %s', (revision) => {
  it('is shown the exact call of somebody else, and what he approves is done once', async () => {
    const [caller, approver] = [await open(ann, revision, {}), await open(bob, revision)];
    const answered = caller.ask('tools/call', wire()).then(reasonOf);
    const form = await shownTo(approver);
    const message = String((form['params'] as JsonObject)['message']);
    for (const part of ['caller: test|ann', 'arguments: {"to":"DE1"}', 'it cannot be undone', 'sha256: '])
      expect(message).toContain(part);
    expect(worker.reached).toEqual([]);
    answer(approver, form, decided('approve'));
    expect(await answered).toBe('answered');
    answer(approver, form, decided('approve'));
    expect(worker.reached).toEqual(['bank']);
    expect(eventsOf('approved')).toMatchObject([{ who: { subject: 'ann' }, more: { by: 'test|bob' } }]);
    expect(eventsOf('shown')).toMatchObject([
      { who: { subject: 'bob' }, server: 'bank', target: 'wire', rule: 'wire' },
    ]);
    await expect
      .poll(() => eventsOf('answered'))
      .toMatchObject([
        {
          who: { subject: 'bob' },
          more: { answer: 'approved', approval: eventsOf('approved')[0]?.more?.['approval'] as string },
        },
      ]);
    expect(await worker.metrics.text()).toContain('omnibus_approval_forms_total{outcome="approved"} 1');
  });

  it('refuses it for everybody, with a reason', async () => {
    const [caller, approver, other] = [
      await open(ann, revision, {}),
      await open(bob, revision),
      await open(cal, revision),
    ];
    const answered = caller.ask('tools/call', wire());
    const form = await shownTo(approver);
    await shownTo(other);
    answer(approver, form, decided('refuse', { reason: 'not today' }));
    expect((await answered).error).toMatchObject({
      message: expect.stringContaining('not today') as string,
      data: { reason: 'approval.refused' },
    });
    await other.pushed.untilSome(({ method }) => method === 'notifications/cancelled');
    expect(worker.reached).toEqual([]);
  });

  it.each([
    [{ action: 'decline' }],
    [{ action: 'cancel' }],
    [decided('leave')],
    [{ action: 'accept', content: {} }],
    [{ action: 'accept', content: { approve: true } }],
  ])('%j leaves it to the others', async (given) => {
    const [caller, approver, other] = [
      await open(ann, revision, {}),
      await open(bob, revision),
      await open(cal, revision),
    ];
    const answered = caller.ask('tools/call', wire()).then(reasonOf);
    answer(approver, await shownTo(approver), given);
    await expect.poll(() => eventsOf('answered')).toMatchObject([{ more: { answer: 'left' } }]);
    answer(other, await shownTo(other), decided('approve'));
    expect(await answered).toBe('answered');
    expect(formsOf(approver)).toHaveLength(1);
  });
});

it('a call that a form cannot show whole is approved where it can be shown, and may be refused in the form', async () => {
  const [caller, approver] = [await open(ann, latestLegacyRevision, {}), await open(bob)];
  const board = await ApprovalBoard.open(worker.bus);
  for (const decision of ['approve', 'refuse']) {
    const to = `${'x'.repeat(5_000)}/prod/everything`;
    const answered = caller.ask('tools/call', wire(to)).then(reasonOf);
    const form = await shownTo(approver, decision === 'approve' ? 1 : 2);
    const text = JSON.stringify(form);
    const listed = (await board.all()).find(({ state }) => state === 'waiting');
    const record = await board.get(String(listed?.id));
    expect(text).toContain(`omnibus approvals approve ${record?.id ?? ''}`);
    expect(text).not.toContain('"const":"approve"');
    expect(record?.arguments).toBe(JSON.stringify({ to }));
    expect(record?.hidden).toBeUndefined();
    answer(approver, form, decided(decision));
    if (decision === 'approve') {
      await expect.poll(() => eventsOf('answered')).toMatchObject([{ more: { answer: 'left' } }]);
      expect(worker.reached).toEqual([]);
      await board.decide(String(record?.id), { state: 'approved', by: 'test|bob' }, () => undefined);
      expect(await answered).toBe('answered');
    } else expect(await answered).toBe('approval.refused');
  }
  expect(worker.reached).toHaveLength(1);
});

it('nobody is shown his own call, nor one that is for others, nor through an agent or a client without forms', async () => {
  const strangers = [
    await open(callerOf('dan', { groups: ['elsewhere'] })),
    await open(callerOf('eve', { groups: ['eng'] })),
    await open(callerOf('bob', { groups: ['release'], actors: [{ issuer: 'test', subject: 'agent' }] })),
    await open(callerOf('tia', { tenant: 'acme', groups: ['release'] })),
    await open(bob, latestLegacyRevision, {}),
    await open(bob, latestLegacyRevision, { elicitation: { url: {} } }),
    await open(callerOf('old', { groups: ['release'], expiresAt: Date.now() - 1 })),
    await open(ann),
  ];
  const caller = await open(ann);
  const answered = caller.ask('tools/call', wire()).then(reasonOf);
  const approver = await open(bob);
  answer(approver, await shownTo(approver), decided('approve'));
  expect(await answered).toBe('answered');
  for (const each of [caller, ...strangers]) expect(formsOf(each)).toEqual([]);
});

it('who has lost the role before he answers approves nothing', async () => {
  const [caller, approver, other] = [await open(ann, latestLegacyRevision, {}), await open(bob), await open(cal)];
  const answered = caller.ask('tools/call', wire()).then(reasonOf);
  const form = await shownTo(approver);
  approver.become(callerOf('bob', { groups: [] }));
  answer(approver, form, decided('approve'));
  await expect.poll(() => eventsOf('answered')).toMatchObject([{ more: { answer: 'late' } }]);
  answer(other, await shownTo(other), decided('approve'));
  expect(await answered).toBe('answered');
});

it('the form is withdrawn when the call is cancelled, decided elsewhere, or its time is over', async () => {
  const [caller, approver] = [await open(ann, latestLegacyRevision, {}), await open(bob)];
  void caller.ask('tools/call', wire());
  const first = await shownTo(approver);
  caller.say({
    kind: 'notification',
    message: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: caller.lastId() } },
  });
  await approver.pushed.untilSome(
    ({ method, params }) => method === 'notifications/cancelled' && (params as JsonObject)['requestId'] === first['id'],
  );
  const second = caller.ask('tools/call', wire('DE2')).then(reasonOf);
  const form = await shownTo(approver, 2);
  const board = await ApprovalBoard.open(worker.bus);
  const record = (await board.all()).find(({ state }) => state === 'waiting') as ApprovalRecord;
  await board.decide(record.id, { state: 'refused', by: 'test|cal' }, () => undefined);
  expect(await second).toBe('approval.refused');
  await approver.pushed.untilSome(
    ({ method, params }) => method === 'notifications/cancelled' && (params as JsonObject)['requestId'] === form['id'],
  );
  answer(approver, form, decided('approve'));
  const third = caller.ask('tools/call', { name: 'bank__quick', arguments: {} }).then(reasonOf);
  const last = await shownTo(approver, 3);
  expect(await worker.turning(third)).toBe('approval.expired');
  answer(approver, last, decided('approve'));
  expect(worker.reached).toEqual([]);
});

it('an approver who connects later is shown what waits, four at a time', async () => {
  const caller = await open(ann, latestLegacyRevision, {});
  const answers = ['1', '2', '3', '4', '5', '6'].map((to) => caller.ask('tools/call', wire(to)).then(reasonOf));
  await expect.poll(() => eventsOf('asked')).toHaveLength(6);
  const approver = await open(bob);
  await shownTo(approver, 4);
  expect(formsOf(approver)).toHaveLength(4);
  for (let count = 1; count <= 6; count += 1) answer(approver, await shownTo(approver, count), decided('approve'));
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 6 }, () => 'answered'));
});

it('nobody is asked in a client where that is not configured', async () => {
  await worker.stop();
  await start({ ...settings, access: { rules } });
  const [caller, approver] = [await open(ann, latestLegacyRevision, {}), await open(bob)];
  const answered = caller.ask('tools/call', wire()).then(reasonOf);
  await expect.poll(() => eventsOf('asked')).toHaveLength(1);
  const board = await ApprovalBoard.open(worker.bus);
  const [record] = await board.all();
  await board.decide((record as ApprovalRecord).id, { state: 'approved', by: 'test|cal' }, () => undefined);
  expect(await answered).toBe('answered');
  expect(formsOf(approver)).toEqual([]);
});
