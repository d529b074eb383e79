import { expect, it, vi } from 'vitest';
import type { GrantRecord, Principal } from '@omnibus/protocol';
import { Grants } from './grants.ts';
import { MemoryBus } from './memory/bus.ts';
import { MemoryKeyValue } from './memory/key-value.ts';
import { grantsBucket } from './subjects.ts';

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

const hourMs = 3_600_000;
const grant = (id: string, until: number, more: Partial<GrantRecord> = {}): GrantRecord => ({
  ...record(id),
  until,
  ...more,
});

async function ids(of: MemoryBus): Promise<readonly string[]> {
  const found: string[] = [];
  const watch = await (await of.keyValue(grantsBucket)).watch(({ key }) => found.push(key));
  watch.close();
  return found.toSorted();
}

it('grants that ended more than a day ago leave the bucket when the next one is added', async () => {
  const shared = new MemoryBus(({ what }) => expect.fail(what));
  const [one, other] = [await Grants.open(shared), await Grants.open(shared)];
  const now = Date.now();
  await one.add(grant('first', now + hourMs));
  await one.add(grant('old', now - 25 * hourMs));
  await one.add(grant('refused', now - 48 * hourMs, { state: 'refused' }));
  await one.add(grant('yesterday', now - 23 * hourMs));
  await expect.poll(() => ids(shared)).toHaveLength(4);
  await other.add(grant('new', now + hourMs));
  await expect.poll(() => ids(shared)).toEqual(['first', 'new', 'yesterday']);
  await expect.poll(() => one.all.map(({ id }) => id).toSorted()).toEqual(['first', 'new', 'yesterday']);
  expect(one.active(() => true)).toHaveLength(2);
  one.close();
  other.close();
});

it('a full bucket has room for a new grant once those that are over are removed', async () => {
  const shared = new MemoryBus(({ what }) => expect.fail(what));
  const grants = await Grants.open(shared);
  const because = 'x'.repeat(1_000_000);
  await grants.add(grant('first', Date.now() + hourMs));
  for (let each = 0; each < 16; each += 1) await grants.add(grant(`old${each}`, 1, { because }));
  await expect.poll(() => ids(shared)).toHaveLength(17);
  // Two at the same time share the removal.
  await Promise.all(['new', 'other'].map((id) => grants.add(grant(id, Date.now() + hourMs, { because }))));
  await expect.poll(() => ids(shared)).toEqual(['first', 'new', 'other']);
  grants.close();
});

it('a grant that its bucket has removed by age leaves the memory of a worker, too', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  const deleted = vi.spyOn(MemoryKeyValue.prototype, 'delete');
  try {
    const grants = await Grants.open(new MemoryBus(({ what }) => expect.fail(what)));
    const tried = async (id: string): Promise<readonly string[]> => {
      deleted.mockClear();
      await grants.add(grant(id, Date.now() + hourMs));
      await new Promise((resolve) => void setImmediate(resolve));
      return deleted.mock.calls.map(([key]) => key);
    };
    expect(await tried('aged')).toEqual([]);
    vi.advanceTimersByTime(33 * 24 * hourMs);
    expect(await tried('next')).toEqual(['aged']);
    vi.advanceTimersByTime(hourMs / 2);
    expect(await tried('last')).toEqual([]);
    grants.close();
  } finally {
    deleted.mockRestore();
    vi.useRealTimers();
  }
});
