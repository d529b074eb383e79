/** Approvals that cover further calls for a time (`lasts` of a rule with `ask`): a session worker on a bus in memory. */
import type { AuditEvent } from '@omnibus/audit';
import { ApprovalBoard, approvalsBucket, Grants } from '@omnibus/bus';
import {
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  type ApprovalRecord,
  type CatalogRecord,
  type GrantRecord,
  type JsonObject,
} from '@omnibus/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { auditIn } from './answers-under-test.ts';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

const servers = ['bank', 'other'];
const rules = [
  { id: 'wire', who: 'group:eng', ask: ['bank/wire', 'bank/other'], approvers: ['group:release'], lasts: '30m' },
  { id: 'pay', who: 'group:eng', ask: ['bank/pay'], lasts: '10m' },
  { id: 'two', who: 'group:eng', ask: ['bank/two'], approvers: ['group:release'], quorum: 2, lasts: '1h' },
  { id: 'once', who: 'group:eng', ask: ['bank/once'], approvers: ['group:release'] },
];
const settingsOf = (given: readonly object[] = rules): object => ({
  auth: { keys: { file: 'keys.yaml' } },
  access: { rules: given },
});
const forms: JsonObject = { elicitation: { form: {} } };

let worker: WorkerUnderTest;
let noted: AuditEvent[];
let board: ApprovalBoard;

const tool = (name: string, description = 'moves money'): JsonObject & { readonly name: string } => ({
  name,
  description,
  inputSchema: { type: 'object' },
});

function putBank(description?: string): Promise<void> {
  const tools = ['wire', 'other', 'pay', 'once', 'two'].map((name) => tool(name, description));
  return worker.put('bank', {
    revision: latestLegacyRevision,
    capabilities: { tools: {} },
    lists: { ...noLists, tools: tools as CatalogRecord['lists']['tools'] },
  });
}

beforeEach(async () => {
  noted = [];
  worker = await WorkerUnderTest.start(servers, settingsOf(), auditIn(noted, true));
  board = await ApprovalBoard.open(worker.bus);
  await putBank();
});

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  await worker.stop();
});

const namesNoted = (): string[] => noted.map(({ name }) => name).filter((name) => name.startsWith('approval.'));
const ann = callerOf('ann', { groups: ['eng'], client: 'desktop' });
const open = (caller = ann, capabilities: JsonObject = {}): Promise<ClientUnderTest> =>
  worker.open(latestModernRevision, capabilities, caller);
const call = (client: ClientUnderTest, name = 'wire', args: JsonObject = {}): Promise<unknown> =>
  client
    .ask('tools/call', { name: `bank__${name}`, arguments: args })
    .then(({ result, error }) => (result === undefined ? error?.data?.['reason'] : 'answered'));

/** The call that waits now. */
async function waiting(): Promise<ApprovalRecord> {
  let found: ApprovalRecord | undefined;
  await expect.poll(async () => (found = (await board.all()).find(({ state }) => state === 'waiting'))).toBeDefined();
  return found as ApprovalRecord;
}

/** Makes a call and approves it. */
async function approved(client: ClientUnderTest, forMs: number | undefined, name = 'wire'): Promise<string> {
  const answered = call(client, name, { amount: 1 });
  const { id } = await waiting();
  await board.decide(id, { state: 'approved', by: 'test|bob', forMs }, () => undefined);
  expect(await answered).toBe('answered');
  return id;
}

/** Whether a call of it is asked about; it is refused then. */
async function isAsked(client: ClientUnderTest, name = 'wire'): Promise<boolean> {
  const answered = call(client, name);
  const first = await Promise.race([answered, waiting().then(({ id }) => ({ id }))]);
  if (typeof first !== 'object' || first === null || !('id' in first)) {
    expect(first).toBe('answered');
    return false;
  }
  await board.decide(String(first.id), { state: 'refused', by: 'test|bob' }, () => undefined);
  expect(await answered).toBe('approval.refused');
  return true;
}

const grantsOf = async (): Promise<readonly GrantRecord[]> => {
  const grants = await Grants.open(worker.bus);
  grants.close();
  return grants.all;
};

describe('an approval for a time', () => {
  it('covers further calls of the tool by the caller, with other arguments, and each is on record', async () => {
    const client = await open();
    const id = await approved(client, 20 * 60_000);
    expect(await call(client, 'wire', { amount: 2 })).toBe('answered');
    expect(await call(await open(), 'wire', { amount: 3 })).toBe('answered');
    expect(namesNoted()).toEqual([
      'approval.asked',
      'approval.approved',
      'approval.used',
      'approval.reused',
      'approval.reused',
    ]);
    expect(noted.find(({ name }) => name === 'approval.approved')?.more).toMatchObject({ for_ms: 1_200_000 });
    expect(noted.find(({ name }) => name === 'approval.reused')?.more).toMatchObject({ approval: id, by: 'test|bob' });
    expect(await worker.metrics.text()).toContain('omnibus_approvals_total{by="approvers",outcome="reused"} 2');
    expect(await grantsOf()).toMatchObject([
      {
        id,
        state: 'active',
        who: ['test|ann'],
        client: 'desktop',
        by: 'test|bob',
        calls: { rule: 'wire', tool: 'wire' },
      },
    ]);
  });

  it('covers no other tool, caller, agent or client', async () => {
    await approved(await open(), 60_000);
    expect(await isAsked(await open(), 'other')).toBe(true);
    expect(await isAsked(await open(callerOf('eve', { groups: ['eng'], client: 'desktop' })))).toBe(true);
    expect(await isAsked(await open(callerOf('ann', { groups: ['eng'], client: 'other' })))).toBe(true);
    expect(await isAsked(await open())).toBe(false);
  });

  it('ends by itself, and when it is revoked', async () => {
    const client = await open();
    const id = await approved(client, 60_000);
    const grants = await Grants.open(worker.bus);
    await grants.change(id, (record) => ({ ...record, state: 'ended', endedBy: 'test|bob' }));
    expect(await isAsked(client)).toBe(true);
    await grants.change(id, (record) => ({ ...record, state: 'active' }));
    expect(await isAsked(client)).toBe(false);
    await grants.change(id, (record) => ({ ...record, until: Date.now() }));
    expect(await isAsked(client)).toBe(true);
    grants.close();
  });

  it('ends when its rule or the definition of its tool changes, and other rules may change', async () => {
    const client = await open();
    await approved(client, 60_000);
    await worker.apply(servers, settingsOf([...rules, { id: 'new', who: 'group:x', allow: servers }]));
    expect(await isAsked(client)).toBe(false);
    await putBank('moves all money');
    expect(await isAsked(client)).toBe(true);
    await putBank();
    expect(await isAsked(client)).toBe(false);
    await worker.apply(servers, settingsOf(rules.map((rule) => ({ ...rule, because: 'it is another rule now' }))));
    expect(await isAsked(client)).toBe(true);
  });

  it('is bounded by the rule, and not possible where the rule has no `lasts`', async () => {
    const client = await open();
    const answered = [call(client), call(client, 'once')];
    await expect.poll(async () => (await board.all()).length).toBe(2);
    const records = await board.all();
    for (const [rule, problem] of [
      ['wire', 'allows further calls for at most 1800 s'],
      ['once', 'needs an approval of each call'],
    ] as const) {
      const { id } = records.find((record) => record.rule === rule) as ApprovalRecord;
      await expect(
        board.decide(id, { state: 'approved', by: 'test|bob', forMs: 1_800_001 }, () => undefined),
      ).rejects.toThrow(problem);
      await board.decide(id, { state: 'refused', by: 'test|bob' }, () => undefined);
    }
    expect(await Promise.all(answered)).toEqual(['approval.refused', 'approval.refused']);
    expect(await grantsOf()).toEqual([]);
  });

  it('an approval without a time covers one call', async () => {
    const client = await open();
    await approved(client, undefined);
    expect(await isAsked(client)).toBe(true);
  });

  it('is a choice in the form of the caller, if the rule has `lasts`', async () => {
    const client = await open(ann, forms);
    const params = { name: 'bank__pay', arguments: {} };
    const { result } = await worker.turning(client.ask('tools/call', params));
    const { requestState, inputRequests } = result as unknown as {
      readonly requestState: string;
      readonly inputRequests: Readonly<Record<string, { readonly params: JsonObject }>>;
    };
    const [[key, request]] = Object.entries(inputRequests) as [[string, { readonly params: JsonObject }]];
    expect(JSON.stringify(request)).toContain('Also approve further calls for 10 minutes');
    const inputResponses = { [key]: { action: 'accept', content: { approve: true, further: true } } };
    const done = await worker.turning(client.ask('tools/call', { ...params, requestState, inputResponses }));
    expect(done.error).toBeUndefined();
    expect(await call(client, 'pay')).toBe('answered');
    expect(namesNoted().at(-1)).toBe('approval.reused');
  });
});

describe('a call that needs two approvers', () => {
  const vote = (id: string, person: string, more: object = {}): Promise<ApprovalRecord> =>
    board.decide(id, { state: 'approved', by: person, person, ...more }, () => undefined);

  it('goes on with the second one, for the shorter time that they chose', async () => {
    const answered = call(await open(), 'two');
    const { id, quorum } = await waiting();
    expect(quorum).toBe(2);
    expect(await vote(id, 'test|bob', { forMs: 60_000 })).toMatchObject({ state: 'waiting' });
    await expect(vote(id, 'test|bob')).rejects.toThrow('2 different approvers');
    await expect(board.decide(id, { state: 'approved', by: 'local' }, () => undefined)).rejects.toThrow('not known');
    expect(await vote(id, 'test|cid', { forMs: 30_000 })).toMatchObject({ state: 'approved', forMs: 30_000 });
    expect(await answered).toBe('answered');
    const [grant] = await grantsOf();
    expect((grant?.until ?? 0) - (grant?.at ?? 0)).toBe(30_000);
    expect(grant?.by).toBe('test|bob, test|cid');
  });

  it('is for one call if one of them allows no more', async () => {
    const client = await open();
    const answered = call(client, 'two');
    const { id } = await waiting();
    await vote(id, 'test|bob', { forMs: 60_000 });
    await vote(id, 'test|cid');
    expect(await answered).toBe('answered');
    expect(await grantsOf()).toEqual([]);
  });

  it('waits again for one that has taken the approval back, and is refused by one', async () => {
    const answered = call(await open(), 'two');
    const { id } = await waiting();
    await vote(id, 'test|bob');
    await expect(board.withdrawVote(id, 'test|cid')).rejects.toThrow('you have not approved');
    await board.withdrawVote(id, 'test|bob');
    expect(await vote(id, 'test|cid')).toMatchObject({ state: 'waiting', votes: [{ person: 'test|cid' }] });
    await board.decide(id, { state: 'refused', by: 'test|dan', person: 'test|dan' }, () => undefined);
    expect(await answered).toBe('approval.refused');
  });

  it('does not go on by a record without the votes of two', async () => {
    const answered = call(await open(), 'two');
    const record = await waiting();
    const bucket = await worker.bus.keyValue(approvalsBucket);
    const twice = { person: 'test|bob', by: 'test|bob', at: 1 };
    await bucket.put(record.id, { ...record, state: 'approved', by: 'test|bob', votes: [twice, twice] });
    await bucket.put(record.id, record);
    await board.decide(record.id, { state: 'refused', by: 'test|bob' }, () => undefined);
    expect(await answered).toBe('approval.refused');
    expect(worker.reached).toEqual([]);
  });
});
