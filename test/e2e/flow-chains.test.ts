/** The chains of `npm run bench -- flow`: with `flow: guarded` all that steal are stopped, and none that works is held up. */
import { expect, it } from 'vitest';
import { isLongLane } from '../support/lane.ts';
import { runFlow } from '../bench/flow/run.ts';

/** The gate runs a fifth of the chains that work. */
const nth = isLongLane ? 1 : 5;

it('stops all chains that steal, and holds up none that works', async () => {
  const rows = await runFlow('embedded', 'guarded', nth);
  const short = rows.map(({ list, chains, stopped, leaked }) => ({
    list,
    chains,
    stopped: list.startsWith('stealing') ? stopped.length : stopped,
    leaked: list.startsWith('stealing') ? leaked : [],
  }));
  expect(short).toEqual([
    { list: 'stealing, first half', chains: 30, stopped: 30, leaked: [] },
    { list: 'stealing, second half', chains: 30, stopped: 30, leaked: [] },
    { list: 'working, first half', chains: 100 / nth, stopped: [], leaked: [] },
    { list: 'working, second half', chains: 100 / nth, stopped: [], leaked: [] },
  ]);
});
