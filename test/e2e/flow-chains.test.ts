/** The chains of `npm run bench -- flow`: with `flow: guarded` all that steal are stopped, and none that works is held up. */
import { expect, it } from 'vitest';
import { runFlow } from '../bench/flow/run.ts';

it('stops all chains that steal, and holds up none that works', async () => {
  const rows = await runFlow('embedded', 'guarded');
  const short = rows.map(({ list, chains, stopped, leaked }) => ({
    list,
    chains,
    stopped: list.startsWith('stealing') ? stopped.length : stopped,
    leaked: list.startsWith('stealing') ? leaked : [],
  }));
  expect(short).toEqual([
    { list: 'stealing, first half', chains: 30, stopped: 30, leaked: [] },
    { list: 'stealing, second half', chains: 30, stopped: 30, leaked: [] },
    { list: 'working, first half', chains: 100, stopped: [], leaked: [] },
    { list: 'working, second half', chains: 100, stopped: [], leaked: [] },
  ]);
});
