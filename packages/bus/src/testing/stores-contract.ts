/** Behaviour that both implementations must have where something is stored: part of `contract.ts`. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Bucket, BusFault, Journal, JournalDefinition, KeyValueChange } from '../bus.ts';
import { subject, type Subject } from '../subject.ts';
import type { BusUnderTest } from './bus-under-test.ts';
import { Heard } from './heard.ts';

/** @param bus and `faults` of the current test. */
export function storesContract(bus: () => BusUnderTest, faults: () => Heard<BusFault>): void {
  describe('key-value', () => {
    let bucket: Bucket<{ readonly text: string }>;
    let buckets = 0;

    beforeEach(() => {
      buckets += 1;
      bucket = { name: `contract-${buckets}` };
    });

    it('stores, reads, replaces and deletes', async () => {
      const near = await bus().near.keyValue(bucket);
      const far = await bus().far.keyValue(bucket);
      expect(await near.get('a')).toBeUndefined();
      const revision = await near.put('a', { text: 'one' });
      expect(await far.get('a')).toEqual({ key: 'a', value: { text: 'one' }, revision });
      await far.put('a', { text: 'two' });
      expect((await near.get('a'))?.value).toEqual({ text: 'two' });
      await near.delete('a');
      expect(await far.get('a')).toBeUndefined();
    });

    it('has nothing under a name that can be no key', async () => {
      const near = await bus().near.keyValue(bucket);
      for (const name of ['', ' ', 'a b', '%00', '..', 'a:b', '>', 'ä', 'x'.repeat(5_000)])
        expect(await near.get(name), name).toBeUndefined();
    });

    it('lets only one of two writers win', async () => {
      const store = await bus().near.keyValue(bucket);
      const revision = await store.create('a', { text: 'one' });
      await expect(store.create('a', { text: 'again' })).rejects.toMatchObject({ kind: 'revision-conflict' });
      await store.update('a', { text: 'two' }, revision);
      await expect(store.update('a', { text: 'three' }, revision)).rejects.toMatchObject({ kind: 'revision-conflict' });
      expect((await store.get('a'))?.value).toEqual({ text: 'two' });
    });

    it('deletes only what has the revision that is named', async () => {
      const [near, far] = [await bus().near.keyValue(bucket), await bus().far.keyValue(bucket)];
      const first = await near.create('a', { text: 'one' });
      const second = await far.update('a', { text: 'two' }, first);
      await expect(near.delete('a', first)).rejects.toMatchObject({ kind: 'revision-conflict' });
      expect((await near.get('a'))?.value).toEqual({ text: 'two' });
      await far.delete('a', second);
      expect(await near.get('a')).toBeUndefined();
    });

    it('forgets a key at its age, and restores what is forgotten, but nothing that was deleted', async () => {
      const aging: Bucket<{ readonly text: string }> = { name: `${bucket.name}-aging`, isSmall: true, maxAgeMs: 300 };
      const store = await bus().near.keyValue(aging);
      await store.create('a', { text: 'one' });
      await expect(store.restore('a', { text: 'again' })).rejects.toMatchObject({ kind: 'revision-conflict' });
      await expect.poll(() => store.get('a')).toBeUndefined();
      const revision = await store.restore('a', { text: 'back' });
      expect(await store.get('a')).toEqual({ key: 'a', value: { text: 'back' }, revision });
      const kept = await bus().near.keyValue(bucket);
      await kept.create('b', { text: 'one' });
      await kept.delete('b');
      await expect(kept.restore('b', { text: 'again' })).rejects.toMatchObject({ kind: 'revision-conflict' });
      expect([await kept.wasDeleted('b'), await kept.wasDeleted('never'), await store.wasDeleted('a')]).toEqual([
        true,
        false,
        false,
      ]);
      await kept.create('b', { text: 'anew' });
      expect(await kept.wasDeleted('b')).toBe(false);
    });

    it('takes no more bytes than it may, and takes others when some are gone', async () => {
      const small: Bucket<{ readonly text: string }> = {
        name: `${bucket.name}-small`,
        isSmall: true,
        maxBytes: 10_000,
      };
      const [near, far] = [await bus().near.keyValue(small), await bus().far.keyValue(small)];
      await near.put('a', { text: 'x'.repeat(6_000) });
      await expect(far.put('b', { text: 'y'.repeat(6_000) })).rejects.toMatchObject({ kind: 'overloaded' });
      await near.delete('a');
      await far.put('b', { text: 'y'.repeat(6_000) });
      expect((await near.get('b'))?.value.text.length).toBe(6_000);
    });

    it('shows a watcher every present value, then every change', async () => {
      const near = await bus().near.keyValue(bucket);
      const far = await bus().far.keyValue(bucket);
      await near.put('a', { text: 'one' });
      await near.put('b', { text: 'two' });
      const heard = new Heard<KeyValueChange<{ readonly text: string }>>();
      const watch = await far.watch(heard.add);
      expect(heard.values.map((change) => change.key).sort()).toEqual(['a', 'b']);
      await near.put('c', { text: 'three' });
      await near.delete('a');
      const changes = await heard.until(4);
      expect(changes[2]).toMatchObject({ kind: 'put', key: 'c', value: { text: 'three' } });
      expect(changes[3]).toMatchObject({ kind: 'delete', key: 'a' });
      watch.close();
    });

    it('shows a watcher every present value before it goes on, also after keys were deleted', async () => {
      const near = await bus().near.keyValue(bucket);
      const gone = ['a', 'b', 'c', 'd'];
      for (const key of gone) await near.put(key, { text: key });
      for (const key of gone) await near.delete(key);
      for (const key of ['e', 'f']) await near.put(key, { text: 'x'.repeat(1_500_000) });
      const heard = new Heard<KeyValueChange<{ readonly text: string }>>();
      const watch = await (await bus().far.keyValue(bucket)).watch(heard.add);
      expect(heard.values.filter(({ kind }) => kind === 'put').map(({ key }) => key)).toEqual(['e', 'f']);
      watch.close();
      for (const key of ['e', 'f']) await near.delete(key);
      const empty = await (await bus().far.keyValue(bucket)).watch(() => undefined);
      empty.close();
    });

    it('goes on showing a watcher what follows a value that it threw over', async () => {
      const near = await bus().near.keyValue(bucket);
      await near.put('a', { text: 'one' });
      await near.put('b', { text: 'two' });
      const heard = new Heard<string>();
      const watch = await near.watch(({ key }) => {
        heard.add(key);
        throw new Error('a broken watcher');
      });
      await near.put('c', { text: 'three' });
      expect([...(await heard.until(3))].sort()).toEqual(['a', 'b', 'c']);
      expect((await faults().until(3)).map(({ kind }) => kind)).toEqual(['observer', 'observer', 'observer']);
      watch.close();
    });

    it('stores values larger than one packet, replaced whole', async () => {
      const near = await bus().near.keyValue(bucket);
      const far = await bus().far.keyValue(bucket);
      const heard = new Heard<KeyValueChange<{ readonly text: string }>>();
      await far.watch(heard.add);
      await near.put('a', { text: 'x'.repeat(3_000_000) });
      await heard.until(1);
      await near.put('a', { text: 'y'.repeat(2_000_000) });
      const last = (await heard.until(2)).at(-1);
      expect(last).toMatchObject({ kind: 'put', key: 'a', value: { text: 'y'.repeat(2_000_000) } });
      expect((await far.get('a'))?.value.text.length).toBe(2_000_000);
    });
  });

  describe('journal', () => {
    interface Line {
      readonly number: number;
    }
    let journals = 0;
    let definition: JournalDefinition<Line>;

    beforeEach(() => {
      journals += 1;
      definition = {
        name: `contract-journal-${journals}`,
        family: `contract-journal-${journals}`,
        tokens: 1,
        maxAgeMs: 60_000,
        maxBytes: 1_000_000,
        maxEntries: 3,
      };
    });

    it('is heard from the oldest kept entry on, and goes on with what is appended', async () => {
      const [near, far] = [await bus().near.journal(definition), await bus().far.journal(definition)];
      const [one, other] = [subject<Line>(definition.family, 'one'), subject<Line>(definition.family, 'other')];
      near.append(one, { number: 1 });
      near.append(other, { number: 99 });
      near.append(one, { number: 2 });
      await settled(near, one, 2);
      const heard = new Heard<number>();
      const following = await far.follow(one, ({ number }) => heard.add(number));
      expect(heard.values).toEqual([1, 2]);
      near.append(one, { number: 3 });
      expect(await heard.until(3)).toEqual([1, 2, 3]);
      following.close();
    });

    it('keeps the latest entries of a subject and no more than it may', async () => {
      const near = await bus().near.journal(definition);
      const one = subject<Line>(definition.family, 'one');
      for (let number = 1; number <= 5; number += 1) near.append(one, { number });
      await settled(near, one, 5);
      const heard = new Heard<number>();
      (await near.follow(one, ({ number }) => heard.add(number))).close();
      expect(heard.values).toEqual([3, 4, 5]);
    });

    it('is empty for a subject nothing was said on', async () => {
      const near = await bus().near.journal(definition);
      const heard = new Heard<number>();
      (await near.follow(subject<Line>(definition.family, 'none'), ({ number }) => heard.add(number))).close();
      expect(heard.values).toEqual([]);
    });

    it('is heard in its order, whatever is appended while it is read', async () => {
      definition = { ...definition, maxEntries: 1_000 };
      const [near, far] = [await bus().near.journal(definition), await bus().far.journal(definition)];
      const one = subject<Line>(definition.family, 'one');
      for (let number = 1; number <= 50; number += 1) near.append(one, { number });
      await settled(near, one, 50);
      const heard = new Heard<number>();
      const following = far.follow(one, ({ number }) => heard.add(number));
      for (let number = 51; number <= 100; number += 1) {
        near.append(one, { number });
        await bus().near.roundTrip();
      }
      await heard.untilSome((number) => number === 100);
      // An entry appended during the read may be reported twice.
      expect([...new Set(heard.values)]).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
      (await following).close();
    });

    /** Waits until an entry is stored, since `append` does not wait for it. */
    async function settled(journal: Journal<Line>, of: Subject<Line>, number: number): Promise<void> {
      for (;;) {
        const kept: number[] = [];
        (await journal.follow(of, (line) => kept.push(line.number))).close();
        if (kept.at(-1) === number) return;
      }
    }
  });
}
