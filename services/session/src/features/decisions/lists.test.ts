/** Decisions about lists that are kept, without a worker: what open streams use after their time. */
import type { View } from '@omnibus/catalog';
import { anonymous, rootEndpoint, type Caller } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import type { AuthZen } from './authzen.ts';
import { ListDecisions } from './lists.ts';

const caller: Caller = { principal: anonymous, endpoint: rootEndpoint };
const view = {
  records: [
    { server: 'bank', lists: { tools: [{ name: 'look' }], prompts: [], resources: [], resourceTemplates: [] } },
  ],
} as unknown as View;

interface Scripted {
  readonly lists: ListDecisions;
  readonly answers: (boolean | Error)[];
  readonly changes: () => number;
}

/** A decision point that gives these answers, one after the other. @param cacheMs 1: over at once. */
function scripted(cacheMs: number): Scripted {
  const answers: (boolean | Error)[] = [];
  let changes = 0;
  const point = {
    evaluateAll: () => {
      const next = answers.shift() ?? new Error('nothing more is asked');
      return next instanceof Error ? Promise.reject(next) : Promise.resolve([{ isPermitted: next }]);
    },
  } as unknown as AuthZen;
  const lists = new ListDecisions({
    point: () => point,
    cacheMs: () => cacheMs,
    batch: () => 10,
    counted: () => undefined,
    change: (act) => {
      changes += 1;
      act();
    },
  });
  return { lists, answers, changes: () => changes };
}

const sees = ({ lists }: Scripted): boolean =>
  lists.narrowed(undefined, caller, undefined).sees('tool', 'bank' as never, 'look');

it('nothing is seen before a decision', () => {
  expect(sees(scripted(60_000))).toBe(false);
});

it.each([
  ['denies', false],
  ['is away', new Error('away')],
])(
  'an open stream uses the last decision once its time is over, and sees nothing more if the decision point %s then',
  async (_what, later) => {
    const each = scripted(1);
    each.answers.push(true, later);
    await each.lists.pending(view, undefined, caller, undefined);
    await expect.poll(() => each.answers.length === 1 && sees(each)).toBe(true);
    await expect.poll(() => sees(each)).toBe(false);
    expect(each.changes()).toBe(1);
  },
);

it('a request waits for a new decision once the time of the last one is over', async () => {
  const each = scripted(1);
  each.answers.push(true, false);
  await each.lists.pending(view, undefined, caller, undefined);
  await expect.poll(() => each.lists.pending(view, undefined, caller, undefined) !== undefined).toBe(true);
  await each.lists.pending(view, undefined, caller, undefined);
  expect(each.answers).toEqual([]);
  expect(sees(each)).toBe(false);
});
