/** Calls that rules have approved first, in every revision that knows forms: a session worker on a bus in memory. */
import type { AuditEvent } from '@omnibus/audit';
import { ApprovalBoard, approvalsBucket, Blocks } from '@omnibus/bus';
import {
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  type ApprovalRecord,
  type CatalogRecord,
  type HeldEntry,
  type JsonObject,
  type Revision,
} from '@omnibus/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { auditIn, reasonOf } from './answers-under-test.ts';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

const servers = ['bank', 'other'];
const schema = { type: 'object' as const };
const rules = [
  { id: 'eng', who: 'group:eng', allow: ['bank/look'] },
  { id: 'pay', who: 'group:eng', ask: ['bank/pay'], because: 'money is gone then' },
  { id: 'wire', who: 'group:eng', ask: ['bank/wire'], approvers: ['group:release', 'test|ann'] },
  { id: 'said', who: 'group:eng', ask: ['prompt:bank/letter', 'resource:bank/bank://vault*'] },
  { id: 'kept', who: 'group:eng', ask: ['resource:bank/bank://secret*'], approvers: 'group:release' },
  { id: 'read', who: 'group:eng', allow: ['resource:other/*'] },
  { id: 'quick', who: 'group:eng', ask: ['bank/quick'], expires: '1m' },
];
const settings = { auth: { keys: { file: 'keys.yaml' } }, access: { rules } };
const ann = callerOf('ann', { groups: ['eng'] });
const forms: JsonObject = { elicitation: { form: {} } };

let worker: WorkerUnderTest;
let noted: AuditEvent[];

const tool = (name: string): JsonObject & { readonly name: string } => ({
  name,
  inputSchema: schema,
  execution: { taskSupport: 'optional' },
});

const bankTools = ['look', 'pay', 'wire', 'quick'].map((name) => tool(name));

/** @param tools of the bank. @param held its withheld tools. */
function putBank(
  tools: readonly (JsonObject & { readonly name: string })[],
  held: readonly HeldEntry[] = [],
): Promise<void> {
  return worker.put('bank', {
    revision: latestLegacyRevision,
    capabilities: {
      tools: {},
      prompts: {},
      resources: { subscribe: true },
      completions: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    },
    lists: {
      ...noLists,
      prompts: [{ name: 'letter', arguments: [{ name: 'to' }] }],
      resources: [
        { uri: 'bank://vault', name: 'vault' },
        { uri: 'bank://secret', name: 'secret' },
      ],
      tools: tools as CatalogRecord['lists']['tools'],
    },
    held,
  });
}

async function start(given: object = settings): Promise<void> {
  noted = [];
  worker = await WorkerUnderTest.start(servers, given, auditIn(noted, true));
  await putBank(bankTools);
}

beforeEach(() => start());

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  expect(await worker.metrics.text()).toContain('omnibus_approvals_waiting 0');
  await worker.stop();
});

const approvalsNoted = (): unknown[] =>
  noted
    .filter(({ name }) => name.startsWith('approval.'))
    .map(({ name, more }) => (more?.['by'] === undefined ? name : [name, more['by']]));
const pay = (amount: unknown = 5): JsonObject => ({ name: 'bank__pay', arguments: { amount } });

/** A call that asks, and a way to answer its question, in either era. */
interface Asking {
  readonly message: string;
  readonly answer: (given: JsonObject, by?: JsonObject) => Promise<unknown>;
}

async function asking(
  client: ClientUnderTest,
  revision: Revision,
  params: JsonObject,
  method = 'tools/call',
): Promise<Asking> {
  if (revision === latestModernRevision) {
    const { result } = await worker.turning(client.ask(method, params));
    const { requestState, inputRequests } = result as {
      readonly requestState: string;
      readonly inputRequests: Readonly<Record<string, { readonly params: JsonObject }>>;
    };
    const [[key, request]] = Object.entries(inputRequests) as [[string, { readonly params: JsonObject }]];
    return {
      message: String(request.params['message']),
      answer: async (given, by = params) =>
        reasonOf(await worker.turning(client.ask(method, { ...by, requestState, inputResponses: { [key]: given } }))),
    };
  }
  const answered = client.ask(method, params);
  await worker.turning(client.asked.untilSome(({ method }) => method === 'elicitation/create'));
  const question = client.asked.values.findLast(({ method }) => method === 'elicitation/create') as JsonObject;
  return {
    message: String((question['params'] as JsonObject)['message']),
    answer: async (given) => {
      client.say({ kind: 'response', message: { jsonrpc: '2.0', id: question['id'] as string, result: given } });
      return reasonOf(await worker.turning(answered));
    },
  };
}

const untilNoted = async (name: string): Promise<void> => expect.poll(() => approvalsNoted()).toContain(name);
const yes = { action: 'accept', content: { approve: true } };

describe.each(['2025-06-18', '2025-11-25', latestModernRevision] as const)('a client of %s', (revision) => {
  const open = (capabilities = forms): Promise<ClientUnderTest> => worker.open(revision, capabilities, ann);

  it('is shown the exact call, and what its user approves is done once', async () => {
    const client = await open();
    const { message, answer } = await asking(client, revision, pay());
    expect(message).toContain('arguments: {"amount":5}');
    expect(message).toContain('money is gone then');
    expect(worker.reached).toEqual([]);
    expect(await answer(yes)).toBe('answered');
    expect(worker.asked.values.map(({ params }) => params)).toMatchObject([{ name: 'pay', arguments: { amount: 5 } }]);
    expect(approvalsNoted()).toEqual(['approval.asked', 'approval.approved', 'approval.used']);
    // The next call of the same is another one.
    const again = await asking(client, revision, pay());
    expect(await again.answer({ action: 'decline' })).toBe('approval.refused');
    expect(worker.reached).toHaveLength(1);
  });

  it.each<readonly [string, JsonObject, string]>([
    ['prompts/get', { name: 'bank__letter', arguments: { to: 'eve' } }, 'prompt: letter\narguments: {"to":"eve"}'],
    ['resources/read', { uri: 'bank://vault' }, 'resource: bank://vault\nsha256'],
    ['resources/read', { uri: 'bank://vault/on-no-list' }, 'resource: bank://vault/on-no-list\nsha256'],
  ])('%s %j: is shown what is read, and its user approves it', async (method, params, said) => {
    const client = await open();
    const { message, answer } = await asking(client, revision, params, method);
    expect(message).toContain(said);
    expect(worker.reached).toEqual([]);
    expect(await answer(yes)).toBe('answered');
    expect(worker.reached).toHaveLength(1);
    expect(approvalsNoted()).toEqual(['approval.asked', 'approval.approved', 'approval.used']);
    const again = await asking(client, revision, params, method);
    expect(await again.answer({ action: 'decline' })).toBe('approval.refused');
    expect(worker.reached).toHaveLength(1);
    expect(
      reasonOf(
        await client.ask('completion/complete', {
          ref: { type: 'ref/prompt', name: 'bank__letter' },
          argument: { name: 'to', value: 'e' },
        }),
      ),
    ).toBe('answered');
  });

  it.each([
    [{ action: 'decline' }],
    [{ action: 'cancel' }],
    [{ action: 'accept', content: { approve: false } }],
    [{ action: 'accept', content: {} }],
  ])('%j approves nothing', async (given) => {
    const { answer } = await asking(await open(), revision, pay());
    expect(await answer(given)).toBe('approval.refused');
    expect(worker.reached).toEqual([]);
    expect(approvalsNoted()).toEqual(['approval.asked', 'approval.refused']);
  });

  it('sees all arguments, however long, and a call that is too long for that cannot be approved', async () => {
    const client = await open();
    const args = { note: 'x'.repeat(4_100), path: '/prod/everything' };
    const { message, answer } = await asking(client, revision, { name: 'bank__pay', arguments: args });
    expect(message).toContain(JSON.stringify(args));
    expect(await answer(yes)).toBe('answered');
    const { error } = await client.ask('tools/call', {
      name: 'bank__pay',
      arguments: { ...args, note: 'x'.repeat(100_000) },
    });
    expect(error).toMatchObject({
      message: expect.stringContaining('and who approves can be shown 100000; send less') as string,
      data: { reason: 'approval.impossible' },
    });
    expect(worker.reached).toHaveLength(1);
  });

  it('that has no forms is told so at once', async () => {
    for (const capabilities of [{}, { elicitation: { url: {} } }])
      expect(reasonOf(await (await open(capabilities)).ask('tools/call', pay()))).toBe('approval.impossible');
    expect(worker.reached).toEqual([]);
  });

  it('finds the tool on its list, and nothing asks for what no rule is about', async () => {
    const client = await open({});
    expect(((await client.ask('tools/list')).result?.['tools'] as JsonObject[]).map(({ name }) => name)).toContain(
      'bank__pay',
    );
    expect(reasonOf(await client.ask('tools/call', { name: 'bank__look', arguments: {} }))).toBe('answered');
  });

  it('that does not answer in time is told so, and nothing waits any more', async () => {
    const client = await open();
    if (revision === latestModernRevision) {
      const { answer } = await asking(client, revision, { name: 'bank__quick', arguments: {} });
      await worker.turning(untilNoted('approval.expired'));
      expect(await answer(yes)).toBe('approval.expired');
    } else
      expect(reasonOf(await worker.turning(client.ask('tools/call', { name: 'bank__quick', arguments: {} })))).toBe(
        'approval.expired',
      );
    expect(worker.reached).toEqual([]);
  });

  it('whose rights were taken meanwhile has approved nothing', async () => {
    const client = await open();
    const { answer } = await asking(client, revision, pay());
    await worker.apply(servers, { ...settings, access: { rules: rules.filter(({ id }) => id !== 'pay') } });
    expect(await answer(yes)).toBe('tool.unknown');
    expect(worker.reached).toEqual([]);
  });

  it.each([
    ['changed', 'approval.void'],
    ['held back', 'definition.held'],
    ['taken away', 'tool.unknown'],
  ])('whose tool was %s meanwhile has approved nothing', async (what, expected) => {
    const client = await open();
    const { answer } = await asking(client, revision, pay());
    const others = bankTools.filter(({ name }) => name !== 'pay');
    if (what === 'changed') await putBank([...others, { ...tool('pay'), description: 'pays everybody' }]);
    else await putBank(others, what === 'held back' ? [{ kind: 'tools', name: 'pay' }] : []);
    const other = await worker.open(latestLegacyRevision, {}, ann);
    await expect
      .poll(async () => JSON.stringify((await other.ask('tools/list')).result))
      .toEqual(
        what === 'changed' ? expect.stringContaining('pays everybody') : expect.not.stringContaining('bank__pay'),
      );
    expect(await answer(yes)).toBe(expected);
    expect(worker.reached).toEqual([]);
    expect(approvalsNoted()).not.toContain('approval.used');
  });

  it('whose call needs approvers by now has approved nothing', async () => {
    const { answer } = await asking(await open(), revision, pay());
    await worker.apply(servers, {
      ...settings,
      access: { rules: rules.map((rule) => (rule.id === 'pay' ? { ...rule, by: 'approvers' } : rule)) },
    });
    expect(await answer(yes)).toBe('approval.void');
    expect(approvalsNoted()).toEqual(['approval.asked', 'approval.approved', 'approval.void']);
  });

  it('is answered so when the tool is blocked while it is asked', async () => {
    const blocks = await Blocks.open(worker.bus);
    const client = await open();
    const { answer } = await asking(client, revision, pay());
    await blocks.add({ kind: 'tool', name: 'bank/pay', by: 'test', at: 0 });
    await expect.poll(() => approvalsNoted()).toContain('approval.withdrawn');
    expect(await answer(yes)).toBe('call.blocked');
    expect(worker.reached).toEqual([]);
    blocks.close();
  });

  it('waits for approvers where a rule names them, who decide once', async () => {
    const client = await open({});
    const board = await ApprovalBoard.open(worker.bus);
    const seen: ApprovalRecord[] = [];
    const watch = await board.watch((record) => seen.push(record));
    const call = async (): Promise<readonly [Promise<unknown>, ApprovalRecord]> => {
      seen.length = 0;
      const answered = client.ask('tools/call', { name: 'bank__wire', arguments: { to: 'DE\u202E1' } }).then(reasonOf);
      await expect.poll(() => seen).toHaveLength(1);
      return [answered, seen[0] as ApprovalRecord];
    };
    const [approved, first] = await call();
    expect(first).toMatchObject({
      state: 'waiting',
      rule: 'wire',
      server: 'bank',
      tool: 'wire',
      arguments: '{"to":"DE⟨U+202E⟩1"}',
      who: ['test|ann'],
      approvers: ['group:release', 'test|ann'],
    });
    await board.decide(first.id, { state: 'approved', by: 'test|bob' }, () => undefined);
    expect(await approved).toBe('answered');
    await expect.poll(() => board.get(first.id)).toMatchObject({ state: 'used', by: 'test|bob' });
    await expect(board.decide(first.id, { state: 'approved', by: 'test|bob' }, () => undefined)).rejects.toThrow(
      'does not wait any more: used by test|bob',
    );
    const [refused, second] = await call();
    await board.decide(second.id, { state: 'refused', by: 'test|bob', reason: 'not today' }, () => undefined);
    expect(await refused).toBe('approval.refused');
    expect(worker.reached).toEqual(['bank']);
    expect(approvalsNoted()).toEqual([
      'approval.asked',
      ['approval.approved', 'test|bob'],
      'approval.used',
      'approval.asked',
      ['approval.refused', 'test|bob'],
    ]);
    watch.close();
  });

  it('a URI on no list is read where a rule asks only after approvers were shown it, and where none asks as well', async () => {
    await worker.put('other', { revision: latestLegacyRevision, capabilities: { resources: {} } });
    const client = await open({});
    const board = await ApprovalBoard.open(worker.bus);
    const seen: ApprovalRecord[] = [];
    const watch = await board.watch((record) => seen.push(record));
    worker.takes = (reply) => reply({ kind: 'error', error: { code: -32_002, message: 'not here' } });
    const answered = client.ask('resources/read', { uri: 'bank://secret/plan' }).then(reasonOf);
    await expect.poll(() => seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      state: 'waiting',
      rule: 'kept',
      server: 'bank',
      kind: 'resource',
      tool: 'bank://secret/plan',
    });
    expect(worker.reached).toEqual([]);
    await board.decide((seen[0] as ApprovalRecord).id, { state: 'approved', by: 'test|bob' }, () => undefined);
    expect(await answered).toBe('answered');
    expect(worker.reached.toSorted()).toEqual(['bank', 'other']);
    expect(noted.find(({ name }) => name === 'approval.approved')).toMatchObject({
      server: 'bank',
      uri: 'bank://secret/plan',
      rule: 'kept',
    });
    watch.close();
  });

  it('asks nobody where rules are only recorded', async () => {
    await worker.stop();
    await start({ ...settings, access: { mode: 'record', rules } });
    expect(reasonOf(await (await open({})).ask('tools/call', pay()))).toBe('answered');
    expect(await worker.metrics.text()).toContain('omnibus_policy_refusals_total{outcome="recorded",rule="pay"} 1');
  });
});

it('other arguments than those that were approved are another call', async () => {
  const { answer } = await asking(await worker.open(latestModernRevision, forms, ann), latestModernRevision, pay(5));
  expect(await answer(yes, pay(5_000))).toBe('state.invalid');
  expect(worker.reached).toEqual([]);
  expect(await answer(yes)).toBe('answered');
  // The same answer again gets the same, and does nothing.
  expect(await answer(yes)).toBe('answered');
  expect(worker.reached).toHaveLength(1);
});

it('a client that cancels takes back what was asked, of its user and of approvers', async () => {
  const client = await worker.open(latestLegacyRevision, forms, ann);
  const board = await ApprovalBoard.open(worker.bus);
  const seen: ApprovalRecord[] = [];
  const watch = await board.watch((record) => seen.push(record));
  for (const params of [pay(), { name: 'bank__wire', arguments: {} }]) {
    void client.ask('tools/call', params);
    if (params['name'] === 'bank__pay') await client.asked.untilSome(({ method }) => method === 'elicitation/create');
    await expect.poll(() => approvalsNoted().at(-1)).toBe('approval.asked');
    client.say({
      kind: 'notification',
      message: {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: client.lastId(), reason: 'enough' },
      },
    });
    await expect.poll(() => approvalsNoted().at(-1)).toBe('approval.withdrawn');
  }
  await client.asked.untilSome(({ method }) => method === 'notifications/cancelled');
  await expect.poll(() => seen.at(-1)?.state ?? 'withdrawn').toBe('withdrawn');
  expect(worker.reached).toEqual([]);
  watch.close();
});

it('a caller that withdraws call after call leaves a bounded number of short records', async () => {
  const client = await worker.open(latestLegacyRevision, {}, ann);
  const bucket = await worker.bus.keyValue(approvalsBucket);
  const records = new Map<string, ApprovalRecord>();
  const watch = await bucket.watch((change) =>
    change.kind === 'put' ? records.set(change.key, change.value) : records.delete(change.key),
  );
  const calls = 103;
  for (let each = 1; each <= calls; each += 1) {
    void client.ask('tools/call', { name: 'bank__wire', arguments: { each, note: 'x'.repeat(50_000) } });
    await expect.poll(() => approvalsNoted(), { interval: 1 }).toHaveLength(2 * each - 1);
    const params = { requestId: client.lastId() };
    client.say({ kind: 'notification', message: { jsonrpc: '2.0', method: 'notifications/cancelled', params } });
    await expect.poll(() => approvalsNoted(), { interval: 1 }).toHaveLength(2 * each);
  }
  const eachOf = ({ arguments: args }: ApprovalRecord): number => Number(/"each":\s*(\d+)/.exec(args)?.[1]);
  await expect.poll(() => records.size).toBe(100);
  await expect.poll(() => [...records.values()].every(({ state }) => state === 'withdrawn')).toBe(true);
  const kept = [...records.values()];
  expect(kept.map(eachOf).toSorted((one, other) => one - other)[0]).toBe(calls - 99);
  expect(Math.max(...kept.map((record) => JSON.stringify(record).length))).toBeLessThan(6_000);
  expect(kept[0]?.hidden).toBeGreaterThan(40_000);
  watch.close();
});

it('a call that runs as a task is approved before it begins, and its task is not asked about again', async () => {
  const client = await worker.open(latestLegacyRevision, { ...forms, tasks: {} }, ann);
  worker.outcome = {
    kind: 'result',
    result: { task: { taskId: 'one', status: 'working', createdAt: 'now', lastUpdatedAt: 'now', ttl: 60_000 } },
  };
  const answered = client.ask('tools/call', { ...pay(), task: {} });
  await client.asked.untilSome(({ method }) => method === 'elicitation/create');
  client.say({
    kind: 'response',
    message: { jsonrpc: '2.0', id: client.asked.values[0]?.['id'] as string, result: yes },
  });
  const { taskId } = (await answered).result?.['task'] as JsonObject;
  worker.outcome = { kind: 'result', result: { taskId: 'one', status: 'working' } };
  expect(reasonOf(await client.ask('tasks/get', { taskId }))).toBe('answered');
  expect(approvalsNoted()).toEqual(['approval.asked', 'approval.approved', 'approval.used']);
});

it('one caller has so many calls waiting and no more, and others have theirs', async () => {
  await worker.stop();
  await start({ ...settings, limits: { maxWaitingApprovalsPerCaller: 2 } });
  const client = await worker.open(latestLegacyRevision, {}, ann);
  const wire = { name: 'bank__wire', arguments: {} };
  const waiting = [client.ask('tools/call', wire), client.ask('tools/call', wire)];
  await expect.poll(() => approvalsNoted()).toHaveLength(2);
  expect(reasonOf(await client.ask('tools/call', wire))).toBe('approval.limit');
  const other = await worker.open(latestLegacyRevision, {}, callerOf('bob', { groups: ['eng'] }));
  waiting.push(other.ask('tools/call', wire));
  await expect.poll(() => approvalsNoted()).toHaveLength(3);
  const board = await ApprovalBoard.open(worker.bus);
  for (const { id } of await board.all()) await board.decide(id, { state: 'refused', by: 'x' }, () => undefined);
  expect((await Promise.all(waiting)).map(reasonOf)).toEqual([
    'approval.refused',
    'approval.refused',
    'approval.refused',
  ]);
});
