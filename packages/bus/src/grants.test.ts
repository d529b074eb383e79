import { expect, it } from 'vitest';
import type { GrantRecord, Principal } from '@omnibus/protocol';
import { Grants } from './grants.ts';
import { MemoryBus } from './memory/bus.ts';

const record = (id: string): GrantRecord => ({
  id,
  state: 'active',
  at: Date.now(),
  until: Date.now() + 60_000,
  principal: 'p_ann' as Principal,
  who: ['https://login.example.com|ann'],
});

it('a grant that is there stays as it is when its approval is used again after the loss of a worker', async () => {
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const grants = await Grants.open(bus);
  await grants.add(record('one'));
  await grants.change('one', (present) => ({ ...present, state: 'ended' }));
  await grants.add(record('one'));
  expect(grants.all.map(({ state }) => state)).toEqual(['ended']);
  grants.close();
});
