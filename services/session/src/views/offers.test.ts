/** Lists by a client's declarations, which are known before its first call. */
import { afterEach, describe, expect, it } from 'vitest';
import {
  declaredBy,
  latestLegacyRevision,
  latestModernRevision,
  noLists,
  ownerKey,
  type CatalogRecord,
  type Principal,
  type ServerName,
} from '@omnibus/protocol';
import { WorkerUnderTest, type ClientUnderTest } from '../worker-under-test.ts';
import { Offers, type OfferRequest, type OffersOptions } from './offers.ts';

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });
const lists = { ...noLists, tools: [tool('act'), tool('plain')] };
const known = (key: string, name: string): Partial<CatalogRecord> => ({
  revision: latestLegacyRevision,
  lists,
  offers: [{ key, lists: { tools: { entries: [tool(name)], without: ['plain'] } } }],
});
const namesOf = async (client: ClientUnderTest): Promise<string[]> =>
  ((await client.ask('tools/list')).result?.['tools'] as { name: string }[]).map(({ name }) => name);

let test: WorkerUnderTest;
/** A worker whose servers say what they offer when the test does. */
async function silent(servers: readonly string[]): Promise<WorkerUnderTest> {
  const made = await WorkerUnderTest.start(servers);
  made.saysOffers = false;
  return made;
}
afterEach(() => test.stop());

describe.each([latestLegacyRevision, latestModernRevision])('a client of %s', (revision) => {
  it('is offered what is for its capabilities, and others are not', async () => {
    test = await silent(['a']);
    await test.put('a', known('sampling', 'ask'));
    expect(await namesOf(await test.open(revision, { sampling: {} }))).toEqual(['act', 'ask']);
    expect(await namesOf(await test.open(revision))).toEqual(['act', 'plain']);
    expect(test.faults).toEqual([]);
  });

  it('waits for its first list until it is known what it is offered, and adapters are told of it once', async () => {
    test = await silent(['a']);
    await test.put('a', { revision: latestLegacyRevision, lists });
    const client = await test.open(revision, { sampling: {} });
    const answers = [namesOf(client), namesOf(client)];
    await test.controls.untilSome((command) => command.kind === 'wanted' && command.caller !== undefined);
    await test.put('a', known('sampling', 'ask'));
    expect(await Promise.all(answers)).toEqual([
      ['act', 'ask'],
      ['act', 'ask'],
    ]);
    expect(await namesOf(await test.open(revision, { sampling: {} }))).toEqual(['act', 'ask']);
    expect(
      test.controls.values.filter((command) => command.kind === 'wanted' && command.caller !== undefined),
    ).toHaveLength(1);
  });

  it('gets the names of servers that have not yet listed their tools for it', async () => {
    test = await silent(['a']);
    await test.put('a', { revision: latestLegacyRevision, lists });
    const client = await test.open(revision, { sampling: {} });
    const missing = { server: 'a', problem: 'what it offers to such a client is still being read' };
    const { result } = await test.turning(client.ask('tools/list'));
    expect(result).toMatchObject({ _meta: { 'omnibus.dev/missing': [missing] } });
    await test.put('a', known('sampling', 'ask'));
    expect((await client.ask('tools/list')).result).not.toMatchObject({ _meta: { 'omnibus.dev/missing': [missing] } });
  });

  it('calls a tool that only it is offered, also when it asks for no list first', async () => {
    test = await silent(['a']);
    await test.put('a', { revision: latestLegacyRevision, lists });
    const client = await test.open(revision, { sampling: {} });
    const answer = client.ask('tools/call', { name: 'ask' });
    await test.controls.untilSome((command) => command.kind === 'wanted' && command.caller !== undefined);
    await test.put('a', known('sampling', 'ask'));
    expect((await answer).result).toBeDefined();
    // Of a client that is not offered the tool, the server decides.
    const common = await test.open(revision);
    test.outcome = { kind: 'error', error: { code: -32_602, message: 'not for you' } };
    expect((await common.ask('tools/call', { name: 'ask' })).error?.message).toBe('not for you');
  });

  it('has its answer when its worker has left, although nobody knows yet what it is offered', async () => {
    test = await silent(['a']);
    await test.put('a', { revision: latestLegacyRevision, lists });
    const client = await test.open(revision, { sampling: {} });
    let answered: unknown;
    void client.ask('tools/list').then((response) => (answered = response));
    await test.controls.untilSome((command) => command.kind === 'wanted' && command.caller !== undefined);
    await test.stop();
    expect(answered).toMatchObject({ result: { tools: lists.tools } });
  });

  it('is shown what everybody is when nobody says in time what it is offered', async () => {
    test = await silent(['a']);
    await test.put('a', { revision: latestLegacyRevision, lists });
    const client = await test.open(revision, { sampling: {} });
    expect(await test.turning(namesOf(client))).toEqual(['act', 'plain']);
    expect(await namesOf(client)).toEqual(['act', 'plain']);
  });
});

it('adapters that came later are told of a set too, and one that was told is not told again', () => {
  const told: string[] = [];
  const record = {
    server: 'a',
    status: 'up',
    revision: latestLegacyRevision,
    lists,
    owners: {},
  } as unknown as CatalogRecord;
  const offers = new Offers({
    bus: {
      publish: (_to: unknown, { kind }: { readonly kind: string }) => void told.push(kind),
    } as unknown as OffersOptions['bus'],
    wheel: { now: () => 0, schedule: () => ({ cancel: () => undefined }) } as unknown as OffersOptions['wheel'],
    recordsOf: () => [record],
  });
  const asking = {
    place: {},
    declared: declaredBy({}, true, 'p_ann' as Principal),
    caller: { principal: 'p_ann', session: 's', standsAlone: false, capabilities: {} },
  } as unknown as OfferRequest;
  void offers.settling(asking);
  void offers.settling(asking);
  expect(told).toHaveLength(1);
  offers.adaptersChanged(['other' as ServerName]);
  void offers.settling(asking);
  expect(told).toHaveLength(1);
  offers.adaptersChanged(['a' as ServerName]);
  void offers.settling(asking);
  expect(told).toHaveLength(2);
});

it('a request that names what a user alone may be offered waits on after lists are shown, until his are read', async () => {
  let now = 0;
  let record = {
    server: 'a',
    status: 'up',
    revision: latestLegacyRevision,
    lists,
    owners: {},
    offers: [],
  } as unknown as CatalogRecord;
  let limit: () => void = () => undefined;
  const offers = new Offers({
    bus: { publish: () => undefined } as unknown as OffersOptions['bus'],
    wheel: {
      now: () => now,
      schedule: (_ms: number, run: () => void) => ({ cancel: () => undefined, run: (limit = run) }),
    } as unknown as OffersOptions['wheel'],
    recordsOf: () => [record],
  });
  const declared = declaredBy({}, true, 'p_ann' as Principal);
  const asking = {
    place: {},
    declared,
    caller: { principal: 'p_ann', session: 's', standsAlone: false, capabilities: {} },
  } as unknown as OfferRequest;
  const listed = offers.settling(asking);
  now += 3_000;
  limit();
  await listed;
  expect(offers.settling(asking)).toBeUndefined();
  const called = offers.settling({ ...asking, isNamed: true });
  expect(called).toBeDefined();
  record = { ...record, owners: { [ownerKey(declared)]: 'own 1' }, offers: [{ key: 'own 1', lists: {} }] };
  offers.changed();
  await called;
  expect(offers.settling({ ...asking, isNamed: true })).toBeUndefined();
});

it('a list waits as long as its client gives it, up to 55 seconds, where that is longer than usual', async () => {
  let now = 0;
  const waits: number[] = [];
  let limit: () => void = () => undefined;
  const record = {
    server: 'a',
    status: 'up',
    capabilities: {},
    revision: latestLegacyRevision,
    lists,
  } as unknown as CatalogRecord;
  const offers = new Offers({
    bus: { publish: () => undefined } as unknown as OffersOptions['bus'],
    wheel: {
      now: () => now,
      schedule(ms: number, run: () => void) {
        waits.push(ms);
        limit = run;
        return { cancel: () => undefined };
      },
    } as unknown as OffersOptions['wheel'],
    recordsOf: () => [record],
  });
  const asking = {
    place: {},
    declared: declaredBy({ sampling: {} }, true, 'p_ann' as Principal),
    caller: { principal: 'p_ann', session: 's', standsAlone: false, capabilities: {} },
  } as unknown as OfferRequest;
  for (const ownMs of [undefined, 500, 15_000, 600_000]) {
    const waiting = offers.settling({ ...asking, ownMs });
    limit();
    await waiting;
    now += 0;
  }
  expect(waits.map((ms) => Math.ceil(ms / 1_000))).toEqual([2, 2, 15, 55]);
});

it('only those clients are told of a change that concerns them', async () => {
  test = await silent(['a']);
  await test.put('a', known('sampling', 'ask'));
  const [samples, plain] = [
    await test.open(latestLegacyRevision, { sampling: {} }),
    await test.open(latestLegacyRevision),
  ];
  expect([await namesOf(samples), await namesOf(plain)]).toEqual([
    ['act', 'ask'],
    ['act', 'plain'],
  ]);
  await test.put('a', known('sampling', 'ask_more'));
  await samples.pushed.untilSome(({ method }) => method === 'notifications/tools/list_changed');
  expect(await namesOf(samples)).toEqual(['act', 'ask_more']);
  expect(plain.pushed.values).toEqual([]);
  await test.put('a', {
    ...known('sampling', 'ask_more'),
    lists: { ...lists, tools: [tool('act'), tool('plain'), tool('new')] },
  });
  await plain.pushed.untilSome(({ method }) => method === 'notifications/tools/list_changed');
  expect([await namesOf(samples), await namesOf(plain)]).toEqual([
    ['act', 'new', 'ask_more'],
    ['act', 'plain', 'new'],
  ]);
});

it("a list that depends on what a client declared is nobody else's", async () => {
  test = await silent(['a']);
  const notes = { tools: { ttlMs: 60_000, isPublic: true } };
  await test.put('a', { ...known('sampling', 'ask'), notes });
  for (const capabilities of [{}, { sampling: {} }])
    expect((await (await test.open(latestModernRevision, capabilities)).ask('tools/list')).result).toMatchObject({
      cacheScope: 'private',
      ttlMs: 60_000,
    });
  await test.put('a', { revision: latestLegacyRevision, lists, offers: [{ key: 'sampling', lists: {} }], notes });
  expect((await (await test.open(latestModernRevision, { sampling: {} })).ask('tools/list')).result).toMatchObject({
    cacheScope: 'public',
  });
});

it('an endpoint is said to be used, once for many clients and again while they are there', async () => {
  test = await silent(['a', 'b']);
  const wanted = () =>
    test.controls.values.filter((command) => command.kind === 'wanted' && command.caller === undefined).length;
  for (let each = 0; each < 5; each += 1) await test.open(latestLegacyRevision);
  await test.open(latestModernRevision);
  await expect.poll(wanted).toBe(2);
});
