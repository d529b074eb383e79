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
  expect(wanted).toMatchObject({ caller: { standsAlone: true, capabilities: { sampling: {}, elicitation: {} } } });
  await test.put('a', {
    revision: latestLegacyRevision,
    lists,
    offers: [{ key: 'elicitation(form,url) sampling', lists: { tools: { entries: [tool('ask')], without: [] } } }],
  });
  expect(shown()).toMatchObject({ total: 2, entries: [{ name: 'plain' }, { name: 'ask', isForAskable: true }] });
  expect(test.faults).toEqual([]);
});
