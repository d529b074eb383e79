/** The lists of an endpoint for operators. */
import { afterEach, expect, it } from 'vitest';
import { latestLegacyRevision, noLists } from '@omnibus/protocol';
import { WorkerUnderTest } from '../worker-under-test.ts';

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });

let test: WorkerUnderTest;
afterEach(() => test.stop());

it('the catalogue has tools that a server offers only to clients which it can ask, and says so', async () => {
  test = await WorkerUnderTest.start(['a']);
  const lists = { ...noLists, tools: [tool('plain')] };
  await test.put('a', { revision: latestLegacyRevision, lists });
  const shown = () => test.worker?.desk.catalogue({ endpoint: '', from: 0, limit: 10 });
  expect(shown()).toMatchObject({ total: 1, entries: [{ name: 'plain' }] });
  const wanted = await test.controls.untilSome((command) => command.kind === 'wanted');
  expect(wanted).toMatchObject({
    caller: { standsAlone: true, capabilities: { sampling: {}, elicitation: {}, roots: {} } },
  });
  await test.put('a', {
    revision: latestLegacyRevision,
    lists,
    offers: [
      { key: 'elicitation(form,url) roots sampling', lists: { tools: { entries: [tool('ask')], without: [] } } },
    ],
  });
  expect(shown()).toMatchObject({ total: 2, entries: [{ name: 'plain' }, { name: 'ask', isForAskable: true }] });
  expect(test.faults).toEqual([]);
});

it('the tokens of tools are counted as servers define them, by server and by tool, with what each measure saves', async () => {
  const $schema = 'http://json-schema.org/draft-07/schema#';
  const large = {
    ...tool('large'),
    inputSchema: { $schema, type: 'object' },
    outputSchema: { type: 'object', description: 'o'.repeat(400) },
  };
  test = await WorkerUnderTest.start(['a', 'b'], {
    listing: { mode: 'search', slim: true },
    results: { maxTokens: 1_000 },
  });
  await test.put('a', { revision: latestLegacyRevision, lists: { ...noLists, tools: [tool('small'), large] } });
  await test.put('b', { revision: latestLegacyRevision, lists: { ...noLists, tools: [tool('small')] } });
  const desk = test.worker?.desk;
  const all = await desk?.tokens('', undefined);
  expect(all?.rows.map(({ name, tools }) => [name, tools])).toEqual([
    ['a', 2],
    ['b', 1],
  ]);
  const size = (value: object): number => Math.ceil(JSON.stringify(value).length / 4);
  expect(all?.rows[1]?.tokens).toBe(size({ ...tool('small'), name: 'b__small' }));
  const { outputSchema: _output, ...withoutOutput } = large;
  const ofA = await desk?.tokens('', 'a');
  expect(ofA?.rows[0]).toEqual({
    name: 'large',
    tools: 1,
    tokens: size({ ...large, name: 'a__large' }),
    slim: size({ ...large, name: 'a__large', inputSchema: { type: 'object' } }),
  });
  expect(ofA?.savings.find(({ measure }) => measure === 'schema')?.tokens).toBeGreaterThan(0);
  expect(ofA?.total.tokens).toBe((ofA?.rows[0]?.tokens ?? 0) + (ofA?.rows[1]?.tokens ?? 0));
  expect((ofA?.total.tokens ?? 0) - (all?.bounded ?? 0)).toBeLessThan(
    size({ ...withoutOutput, name: 'a__large' }) + 100,
  );
  expect(all?.listed).toMatchObject({ mode: 'search', isSlim: true, tools: 4 });
  expect(all?.search).toBeLessThan(300);
  expect(await desk?.tokens('nowhere', undefined)).toBeUndefined();
  expect(test.faults).toEqual([]);
});

it('of more tools than an answer has rows, the most expensive are there, and the others as a sum', async () => {
  test = await WorkerUnderTest.start(['a']);
  const tools = Array.from({ length: 600 }, (_, at) => ({ ...tool(`t${at}`), description: 'four'.repeat(at) }));
  await test.put('a', { revision: latestLegacyRevision, lists: { ...noLists, tools } });
  const found = await test.worker?.desk.tokens('', 'a');
  expect(found?.rows).toHaveLength(500);
  expect(found?.rows[0]?.name).toBe('t599');
  expect(found?.others).toMatchObject({ rows: 100, tools: 100 });
  const shown = (found?.rows ?? []).reduce((sum, { tokens }) => sum + tokens, 0);
  expect(shown + (found?.others?.tokens ?? 0)).toBe(found?.total.tokens);
});
