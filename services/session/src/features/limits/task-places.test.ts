import { DeadlineWheel } from '@omnibus/lifecycle';
import type { SessionKey } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { TaskPlaces } from './task-places.ts';

it('beyond the bound, whoever has most tasks loses the place of the oldest, and nobody else', () => {
  const wheel = new DeadlineWheel({
    onFault: (error) => {
      throw error as Error;
    },
  });
  const places = new TaskPlaces(wheel);
  const left: string[] = [];
  const begin = (owner: string, count: number): void => {
    for (let index = 0; index < count; index += 1) {
      const key = `${owner} ${index}`;
      places.follow({
        key,
        owner,
        session: owner as SessionKey,
        everyMs: 60_000,
        keptMs: undefined,
        ask: () => undefined,
        leave: () => left.push(key),
      });
    }
  };
  begin('ann', 2);
  begin('bob', 9_998);
  expect([places.size, left]).toEqual([10_000, []]);
  begin('eve', 3);
  expect([places.size, left]).toEqual([10_000, ['bob 0', 'bob 1', 'bob 2']]);
  places.heard('ann 0', 'tasks/get', { kind: 'result', result: { taskId: 'x', status: 'completed' } });
  begin('ann', 1);
  expect([places.size, left.slice(3)]).toEqual([10_000, ['ann 0']]);
  places.stop();
});
