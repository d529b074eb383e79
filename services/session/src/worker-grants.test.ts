/** Grants for a time that callers have asked for (`access.grants`): a session worker on a bus in memory. */
import { Blocks, Grants } from '@omnibus/bus';
import { compile } from '@omnibus/policy';
import {
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  type CatalogRecord,
  type GrantRecord,
  type JsonObject,
  type Principal,
} from '@omnibus/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callerOf, WorkerUnderTest, type ClientUnderTest } from './worker-under-test.ts';

const servers = ['bank', 'other'];
const rules = [
  { id: 'look', who: 'group:eng', allow: ['bank/look'] },
  { id: 'pay', who: 'grant:payer', allow: ['bank/pay'] },
  { id: 'wire', who: 'group:oncall', allow: ['bank/wire'] },
];
const grants = [
  { id: 'payer', who: 'group:eng', lasts: '1h' },
  { id: 'duty', who: 'group:eng', group: 'oncall', lasts: '4h' },
];
const settingsOf = (given: readonly object[] = grants): object => ({
  auth: { keys: { file: 'keys.yaml' } },
  access: { rules, grants: given },
});

let worker: WorkerUnderTest;
let store: Grants;

beforeEach(async () => {
  worker = await WorkerUnderTest.start(servers, settingsOf());
  store = await Grants.open(worker.bus);
  await worker.put('bank', {
    revision: latestLegacyRevision,
    capabilities: { tools: { listChanged: true } },
    lists: {
      ...noLists,
      tools: ['look', 'pay', 'wire'].map((name) => ({
        name,
        inputSchema: { type: 'object' },
      })) as unknown as CatalogRecord['lists']['tools'],
    },
  });
});

afterEach(async () => {
  expect(worker.faults).toEqual([]);
  store.close();
  await worker.stop();
});

const ann = callerOf('ann', { groups: ['eng'] });
const toolsOf = async (client: ClientUnderTest): Promise<unknown[]> =>
  ((await client.ask('tools/list')).result?.['tools'] as JsonObject[]).map(({ name }) => name);
const call = (client: ClientUnderTest, name: string): Promise<unknown> =>
  client
    .ask('tools/call', { name: `bank__${name}`, arguments: {} })
    .then(({ result, error }) => (result === undefined ? error?.data?.['reason'] : 'answered'));

/** The digest of a definition, as every process computes it. */
async function versionOf(name: string): Promise<string> {
  const compiled = await compile({
    default: 'deny',
    rules: [],
    grants: [
      { id: 'payer', who: 'group:eng', lasts: 3_600_000 },
      { id: 'duty', who: 'group:eng', group: 'oncall', lasts: 14_400_000 },
    ],
  });
  return ('policy' in compiled ? compiled.policy.grants : []).find(({ id }) => id === name)?.version ?? '';
}

async function give(name: string, more: Partial<GrantRecord> = {}): Promise<void> {
  await store.add({
    id: `id-${name}`,
    state: 'active',
    at: Date.now(),
    until: Date.now() + 60_000,
    principal: ann.principal,
    who: ['test|ann'],
    access: { name, version: await versionOf(name), forMs: 60_000 },
    by: 'test|bob',
    ...more,
  });
}

describe.each([latestLegacyRevision, latestModernRevision])('a client of %s', (revision) => {
  it('gets a tool with its grant and loses it with its end, and its lists say so', async () => {
    const client = await worker.open(revision, {}, ann);
    expect(await toolsOf(client)).toEqual(['bank__look']);
    expect(await call(client, 'pay')).toBe('tool.unknown');
    await give('payer');
    await expect.poll(() => toolsOf(client)).toEqual(['bank__look', 'bank__pay']);
    expect(await call(client, 'pay')).toBe('answered');
    if (revision === latestLegacyRevision)
      await worker.turning(client.pushed.untilSome(({ method }) => method === 'notifications/tools/list_changed'));
    await store.change('id-payer', (record) => ({ ...record, state: 'ended', endedBy: 'test|bob' }));
    await expect.poll(() => toolsOf(client)).toEqual(['bank__look']);
    expect(await call(client, 'pay')).toBe('tool.unknown');
  });

  it('gets a refusal that names the grant to ask for, if its user may ask for it', async () => {
    const refusal = async (client: ClientUnderTest): Promise<unknown> =>
      (await client.ask('tools/call', { name: 'bank__wire', arguments: {} })).error;
    const client = await worker.open(revision, {}, ann);
    expect(await refusal(client)).toMatchObject({
      message: expect.stringContaining('omnibus grants request duty --for 240m --reason TEXT') as string,
      data: { reason: 'tool.unknown', grants: ['duty'] },
    });
    const unknown = await client.ask('tools/call', { name: 'bank__none', arguments: {} });
    expect(unknown.error?.data).not.toHaveProperty('grants');
    const other = await worker.open(revision, {}, callerOf('hal', { groups: ['hr'] }));
    expect(await refusal(other)).toEqual(
      expect.objectContaining({
        message: String(unknown.error?.message).replaceAll('bank__none', 'bank__wire'),
      }),
    );
    await give('duty');
    await expect.poll(() => call(client, 'wire')).toBe('answered');
  });

  it('counts as a member of the group of its grant, in rules', async () => {
    const client = await worker.open(revision, {}, ann);
    await give('duty');
    await expect.poll(() => call(client, 'wire')).toBe('answered');
    expect(await call(client, 'pay')).toBe('tool.unknown');
  });
});

it('a grant ends with its user, whom a directory deactivates, and not with a user of another tenant', async () => {
  const client = await worker.open(latestModernRevision, {}, ann);
  const blocks = await Blocks.open(worker.bus);
  await give('payer');
  await give('duty', { principal: 'p_other' as Principal, who: ['test|ann'], tenant: 'acme' });
  await expect.poll(() => call(client, 'pay')).toBe('answered');
  await blocks.addGone({ name: 'test|Ann', isAnyCase: true, by: 'scim', at: Date.now() });
  await expect.poll(() => call(client, 'look')).toBe('auth.blocked');
  await expect
    .poll(() => store.all.map(({ id, state, endedBy }) => [id, state, endedBy]))
    .toEqual([
      ['id-payer', 'ended', 'scim'],
      ['id-duty', 'active', undefined],
    ]);
  const gone = { name: 'test|Ann', isAnyCase: true };
  await blocks.removeGone(gone, (await blocks.goneRevision(gone)) ?? 0);
  await expect.poll(() => call(client, 'look')).toBe('answered');
  expect(await call(client, 'pay')).toBe('tool.unknown');
  blocks.close();
});

it('a grant ends by itself', async () => {
  const client = await worker.open(latestModernRevision, {}, ann);
  await give('payer', { until: Date.now() + 300 });
  await worker.turning(expect.poll(() => toolsOf(client)).toEqual(['bank__look']));
  expect(await call(client, 'pay')).toBe('tool.unknown');
});

it('a grant is for its caller alone, and only while the caller may ask for it', async () => {
  const eve = await worker.open(latestModernRevision, {}, callerOf('eve', { groups: ['eng'] }));
  const left = await worker.open(latestModernRevision, {}, callerOf('ann', { groups: ['hr'] }));
  const acting = { ...callerOf('ann', { groups: ['eng'], principal: 'p_agent' as Principal }), principal: 'p_agent' };
  const agent = await worker.open(latestModernRevision, {}, acting as typeof ann);
  const hers = await worker.open(latestModernRevision, {}, ann);
  await give('payer');
  await expect.poll(() => call(hers, 'pay')).toBe('answered');
  expect(await call(eve, 'pay')).toBe('tool.unknown');
  expect(await call(left, 'pay')).toBe('tool.unknown');
  expect(await call(agent, 'pay')).toBe('tool.unknown');
});

it.each([
  ['that waits', { state: 'requested' }],
  ['that was refused', { state: 'refused' }],
  ['of an earlier definition', { access: { name: 'payer', version: 'older', forMs: 60_000 } }],
  ['without a definition', { access: { name: 'gone', version: 'x', forMs: 60_000 } }],
] as const)('a grant %s gives nothing', async (_what, more) => {
  const client = await worker.open(latestModernRevision, {}, ann);
  await give('duty');
  await give('payer', more);
  await expect.poll(() => call(client, 'wire')).toBe('answered');
  expect(await call(client, 'pay')).toBe('tool.unknown');
});

it('a changed definition ends a grant, and a grant without definitions is not looked for', async () => {
  const client = await worker.open(latestModernRevision, {}, ann);
  await give('payer');
  await expect.poll(() => call(client, 'pay')).toBe('answered');
  await worker.apply(servers, settingsOf(grants.map((each) => ({ ...each, because: 'say which incident' }))));
  expect(await call(client, 'pay')).toBe('tool.unknown');
  await worker.apply(servers, settingsOf());
  expect(await call(client, 'pay')).toBe('answered');
});
