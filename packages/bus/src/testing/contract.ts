/** What both implementations must do, run against each of them: a difference is a bug in one. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BusError } from '../errors.ts';
import type { Bucket, Bus, BusFault, Journal, JournalDefinition, KeyValueChange, OnFault, ReplyObserver } from '../bus.ts';
import { forEveryone, subject, type Subject } from '../subject.ts';

export interface BusUnderTest {
  /** Two ends of one bus: the same object in one process, two connections over NATS. */
  readonly near: Bus;
  readonly far: Bus;
  [Symbol.asyncDispose](): Promise<void>;
}

const greetings = subject<{ readonly text: string }, { readonly text: string }>('contract-greetings');
const notes = subject<{ readonly number: number }>('contract-notes');

/** Collects what an observer or a watcher hears and lets a test wait for the n-th. */
export class Heard<Value> {
  readonly values: Value[] = [];
  #waiting: { readonly count: number; readonly resolve: (values: Value[]) => void }[] = [];

  readonly add = (value: Value): void => {
    this.values.push(value);
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      if (this.values.length < count) return true;
      resolve(this.values);
      return false;
    });
  };

  /** The first value, past or future, that fits. */
  async untilSome(fits: (value: Value) => boolean): Promise<Value> {
    for (let count = 1; ; count += 1) {
      const value = (await this.until(count))[count - 1] as Value;
      if (fits(value)) return value;
    }
  }

  until(count: number): Promise<Value[]> {
    if (this.values.length >= count) return Promise.resolve(this.values);
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }
}

function observe<Reply>(): { readonly heard: Heard<Reply | BusError>; readonly observer: ReplyObserver<Reply> } {
  const heard = new Heard<Reply | BusError>();
  return { heard, observer: { reply: heard.add, failed: heard.add } };
}

export function busContract(name: string, open: (onFault: OnFault) => Promise<BusUnderTest>): void {
  describe(`the bus contract, kept by ${name}`, () => {
    let bus: BusUnderTest;
    let faults: Heard<BusFault>;

    beforeEach(async () => {
      faults = new Heard<BusFault>();
      bus = await open(faults.add);
    });

    afterEach(async () => {
      await bus[Symbol.asyncDispose]();
    });

    it('delivers a published message to every subscriber', async () => {
      const first = new Heard<number>();
      const second = new Heard<number>();
      await bus.far.subscribe(notes, ({ number }) => first.add(number));
      await bus.far.subscribe(notes, ({ number }) => second.add(number));
      bus.near.publish(notes, { number: 1 });
      expect(await first.until(1)).toEqual([1]);
      expect(await second.until(1)).toEqual([1]);
    });

    it('delivers a message to one member of a queue group', async () => {
      const heard = new Heard<number>();
      for (let member = 0; member < 3; member += 1) await bus.far.subscribe(notes, ({ number }) => heard.add(number), { queue: 'readers' });
      for (let number = 0; number < 30; number += 1) bus.near.publish(notes, { number });
      const values = await heard.until(30);
      expect([...values].sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, number) => number));
    });

    it('keeps the order of one sender, also around messages larger than one packet', async () => {
      const heard = new Heard<number>();
      const big = subject<{ readonly number: number; readonly padding: string }>('contract-big');
      await bus.far.subscribe(big, ({ number, padding }) => heard.add(number * 1_000_000_000 + padding.length));
      const sizes = [10, 3_000_000, 5, 1_500_000, 1];
      sizes.forEach((size, number) => bus.near.publish(big, { number, padding: 'x'.repeat(size) }));
      expect(await heard.until(sizes.length)).toEqual(sizes.map((size, number) => number * 1_000_000_000 + size));
    });

    it('never runs a handler inside the call that sent to it', async () => {
      const heard = new Heard<string>();
      await bus.near.subscribe(notes, () => heard.add('handled'));
      bus.near.publish(notes, { number: 1 });
      heard.add('sent');
      expect(await heard.until(2)).toEqual(['sent', 'handled']);
    });

    it('carries several replies to one request, in order', async () => {
      await bus.far.subscribe(greetings, ({ text }, reply) => {
        reply({ text: `${text} one` });
        reply({ text: `${text} two` });
      });
      const { heard, observer } = observe<{ readonly text: string }>();
      bus.near.request(greetings, { text: 'hello' }, observer);
      expect(await heard.until(2)).toEqual([{ text: 'hello one' }, { text: 'hello two' }]);
    });

    it('answers a request to nobody with no-responders', async () => {
      const { heard, observer } = observe<{ readonly text: string }>();
      bus.near.request(greetings, { text: 'hello' }, observer);
      const [error] = await heard.until(1);
      expect(error).toBeInstanceOf(BusError);
      expect((error as BusError).kind).toBe('no-responders');
    });

    it('answers a request with no-responders after the last subscriber closed', async () => {
      const subscription = await bus.near.subscribe(greetings, (_payload, reply) => reply({ text: 'still here' }));
      subscription.close();
      const { heard, observer } = observe<{ readonly text: string }>();
      bus.near.request(greetings, { text: 'hello' }, observer);
      expect(((await heard.until(1))[0] as BusError).kind).toBe('no-responders');
    });

    it('handles what is on its way to a subscription that is drained, and says no-responders to what comes after', async () => {
      const subscription = await bus.far.subscribe(greetings, ({ text }, reply) => reply({ text }));
      const { heard, observer } = observe<{ readonly text: string }>();
      const sent = Array.from({ length: 100 }, (_, number) => ({ text: String(number) }));
      for (const payload of sent) bus.near.request(greetings, payload, observer);
      // What was sent has left this side; on the other it is on its way in.
      await bus.near.roundTrip();
      await subscription.drain();
      const { heard: refused, observer: late } = observe<{ readonly text: string }>();
      bus.near.request(greetings, { text: 'late' }, late);
      expect(((await refused.until(1))[0] as BusError).kind).toBe('no-responders');
      expect(await heard.until(sent.length)).toEqual(sent);
    });

    it('says nothing more to a closed request', async () => {
      const replies: ((payload: { readonly text: string }) => void)[] = [];
      const asked = new Heard<string>();
      await bus.far.subscribe(greetings, ({ text }, reply) => {
        replies.push(reply);
        asked.add(text);
      });
      const first = observe<{ readonly text: string }>();
      const second = observe<{ readonly text: string }>();
      const pending = bus.near.request(greetings, { text: 'first' }, first.observer);
      bus.near.request(greetings, { text: 'second' }, second.observer);
      await asked.until(2);
      pending.close();
      for (const reply of replies) reply({ text: 'late' });
      await second.heard.until(1);
      expect(first.heard.values).toEqual([]);
    });

    it('reports a handler that throws and goes on', async () => {
      const heard = new Heard<number>();
      await bus.far.subscribe(notes, ({ number }) => {
        heard.add(number);
        if (number === 1) throw new Error('a broken handler');
      });
      bus.near.publish(notes, { number: 1 });
      bus.near.publish(notes, { number: 2 });
      expect(await heard.until(2)).toEqual([1, 2]);
      expect((await faults.until(1)).map(({ kind }) => kind)).toEqual(['handler']);
    });

    it.each([
      ['throws', () => { throw new Error('a broken handler'); }],
      ['rejects its promise', async () => { await Promise.resolve(); throw new Error('a broken handler'); }],
    ])('fails a request whose handler %s, after the replies it has sent, under the name that the fault is reported by', async (_how, breaks) => {
      await bus.far.subscribe(greetings, ({ text }, reply) => {
        reply({ text });
        return breaks();
      });
      const { heard, observer } = observe<{ readonly text: string }>();
      bus.near.request(greetings, { text: 'hello' }, observer);
      const [first, failure] = await heard.until(2) as [unknown, BusError];
      expect(first).toEqual({ text: 'hello' });
      expect(failure).toMatchObject({ kind: 'handler-failed' });
      const [reported] = await faults.until(1);
      expect(reported).toMatchObject({ kind: 'handler', error: new Error('a broken handler'), incident: failure.incident });
      expect(failure.incident).toMatch(/^[0-9a-f]{12}$/);
    });

    it('says nothing of a handler that fails after its request was closed', async () => {
      const broken = new Heard<(error: Error) => void>();
      await bus.far.subscribe(greetings, () => new Promise<void>((_resolve, reject) => broken.add(reject)));
      const { heard, observer } = observe<{ readonly text: string }>();
      const pending = bus.near.request(greetings, { text: 'hello' }, observer);
      const [reject] = await broken.until(1);
      pending.close();
      reject?.(new Error('too late'));
      await faults.until(1);
      await bus.near.roundTrip();
      expect(heard.values).toEqual([]);
    });

    it('lets the others answer when everybody is asked and one fails', async () => {
      const everybody = forEveryone(subject<{ readonly text: string }, { readonly text: string }>('contract-everybody'));
      const asked = new Heard<(payload: { readonly text: string }) => void>();
      await bus.far.subscribe(everybody, () => { throw new Error('a broken handler'); });
      await bus.far.subscribe(everybody, (_payload, reply) => asked.add(reply));
      const { heard, observer } = observe<{ readonly text: string }>();
      bus.near.request(everybody, { text: 'hello' }, observer);
      const [reply] = await asked.until(1);
      await faults.until(1);
      reply?.({ text: 'still here' });
      expect(await heard.until(1)).toEqual([{ text: 'still here' }]);
    });

    it('tells an observer that throws over a reply once that its request failed, and goes on with the others', async () => {
      await bus.far.subscribe(greetings, ({ text }, reply) => {
        reply({ text });
        reply({ text });
      });
      const told = new Heard<BusError | string>();
      const throws = (what: string): never => {
        told.add(what);
        throw new Error('a broken observer');
      };
      bus.near.request(greetings, { text: 'hello' }, {
        reply: () => throws('reply'),
        failed: (error) => {
          told.add(error);
          throws('failed');
        },
      });
      const { heard, observer } = observe<{ readonly text: string }>();
      bus.near.request(greetings, { text: 'other' }, observer);
      await heard.until(2);
      expect(told.values).toMatchObject(['reply', { kind: 'handler-failed' }, 'failed']);
      expect((await faults.until(2)).map(({ kind }) => kind)).toEqual(['observer', 'observer']);
    });

    it('fails open requests with closed when it is drained, and refuses new ones', async () => {
      await bus.far.subscribe(greetings, () => undefined);
      const { heard, observer } = observe<{ readonly text: string }>();
      bus.near.request(greetings, { text: 'hello' }, observer);
      await bus.near.drain();
      expect(((await heard.until(1))[0] as BusError).kind).toBe('closed');
      expect(() => bus.near.publish(notes, { number: 1 })).toThrow(BusError);
    });

    describe('key-value', () => {
      let bucket: Bucket<{ readonly text: string }>;
      let buckets = 0;

      beforeEach(() => {
        buckets += 1;
        bucket = { name: `contract-${buckets}` };
      });

      it('stores, reads, replaces and deletes', async () => {
        const near = await bus.near.keyValue(bucket);
        const far = await bus.far.keyValue(bucket);
        expect(await near.get('a')).toBeUndefined();
        const revision = await near.put('a', { text: 'one' });
        expect(await far.get('a')).toEqual({ key: 'a', value: { text: 'one' }, revision });
        await far.put('a', { text: 'two' });
        expect((await near.get('a'))?.value).toEqual({ text: 'two' });
        await near.delete('a');
        expect(await far.get('a')).toBeUndefined();
      });

      it('lets only one of two writers win', async () => {
        const store = await bus.near.keyValue(bucket);
        const revision = await store.create('a', { text: 'one' });
        await expect(store.create('a', { text: 'again' })).rejects.toMatchObject({ kind: 'revision-conflict' });
        await store.update('a', { text: 'two' }, revision);
        await expect(store.update('a', { text: 'three' }, revision)).rejects.toMatchObject({ kind: 'revision-conflict' });
        expect((await store.get('a'))?.value).toEqual({ text: 'two' });
      });

      it('deletes only what has the revision that is named', async () => {
        const [near, far] = [await bus.near.keyValue(bucket), await bus.far.keyValue(bucket)];
        const first = await near.create('a', { text: 'one' });
        const second = await far.update('a', { text: 'two' }, first);
        await expect(near.delete('a', first)).rejects.toMatchObject({ kind: 'revision-conflict' });
        expect((await near.get('a'))?.value).toEqual({ text: 'two' });
        await far.delete('a', second);
        expect(await near.get('a')).toBeUndefined();
      });

      it('forgets a key at its age, and restores what is forgotten, but nothing that was deleted', async () => {
        const aging: Bucket<{ readonly text: string }> = { name: `${bucket.name}-aging`, isSmall: true, maxAgeMs: 300 };
        const store = await bus.near.keyValue(aging);
        await store.create('a', { text: 'one' });
        await expect(store.restore('a', { text: 'again' })).rejects.toMatchObject({ kind: 'revision-conflict' });
        await expect.poll(() => store.get('a'), { timeout: 5_000 }).toBeUndefined();
        const revision = await store.restore('a', { text: 'back' });
        expect(await store.get('a')).toEqual({ key: 'a', value: { text: 'back' }, revision });
        const kept = await bus.near.keyValue(bucket);
        await kept.create('b', { text: 'one' });
        await kept.delete('b');
        await expect(kept.restore('b', { text: 'again' })).rejects.toMatchObject({ kind: 'revision-conflict' });
        await kept.create('b', { text: 'anew' });
      });

      it('takes no more bytes than it may, and takes others when some are gone', async () => {
        const small: Bucket<{ readonly text: string }> = { name: `${bucket.name}-small`, isSmall: true, isCurrent: true, maxBytes: 10_000 };
        const [near, far] = [await bus.near.keyValue(small), await bus.far.keyValue(small)];
        await near.put('a', { text: 'x'.repeat(6_000) });
        await expect(far.put('b', { text: 'y'.repeat(6_000) })).rejects.toMatchObject({ kind: 'overloaded' });
        await near.delete('a');
        await far.put('b', { text: 'y'.repeat(6_000) });
        expect((await near.get('b'))?.value.text.length).toBe(6_000);
      });

      it('shows a watcher every present value, then every change', async () => {
        const near = await bus.near.keyValue(bucket);
        const far = await bus.far.keyValue(bucket);
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
        const near = await bus.near.keyValue(bucket);
        const gone = ['a', 'b', 'c', 'd'];
        for (const key of gone) await near.put(key, { text: key });
        for (const key of gone) await near.delete(key);
        for (const key of ['e', 'f']) await near.put(key, { text: 'x'.repeat(1_500_000) });
        const heard = new Heard<KeyValueChange<{ readonly text: string }>>();
        const watch = await (await bus.far.keyValue(bucket)).watch(heard.add);
        expect(heard.values.filter(({ kind }) => kind === 'put').map(({ key }) => key)).toEqual(['e', 'f']);
        watch.close();
        for (const key of ['e', 'f']) await near.delete(key);
        const empty = await (await bus.far.keyValue(bucket)).watch(() => undefined);
        empty.close();
      });

      it('goes on showing a watcher what follows a value that it threw over', async () => {
        const near = await bus.near.keyValue(bucket);
        await near.put('a', { text: 'one' });
        await near.put('b', { text: 'two' });
        const heard = new Heard<string>();
        const watch = await near.watch(({ key }) => {
          heard.add(key);
          throw new Error('a broken watcher');
        });
        await near.put('c', { text: 'three' });
        expect([...(await heard.until(3))].sort()).toEqual(['a', 'b', 'c']);
        expect((await faults.until(3)).map(({ kind }) => kind)).toEqual(['observer', 'observer', 'observer']);
        watch.close();
      });

      it('stores values larger than one packet, replaced whole', async () => {
        const near = await bus.near.keyValue(bucket);
        const far = await bus.far.keyValue(bucket);
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
      interface Line { readonly number: number }
      let journals = 0;
      let definition: JournalDefinition<Line>;

      beforeEach(() => {
        journals += 1;
        definition = { name: `contract-journal-${journals}`, family: `contract-journal-${journals}`, tokens: 1, maxAgeMs: 60_000, maxBytes: 1_000_000, maxEntries: 3 };
      });

      it('is heard from the oldest kept entry on, and goes on with what is appended', async () => {
        const [near, far] = [await bus.near.journal(definition), await bus.far.journal(definition)];
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
        const near = await bus.near.journal(definition);
        const one = subject<Line>(definition.family, 'one');
        for (let number = 1; number <= 5; number += 1) near.append(one, { number });
        await settled(near, one, 5);
        const heard = new Heard<number>();
        (await near.follow(one, ({ number }) => heard.add(number))).close();
        expect(heard.values).toEqual([3, 4, 5]);
      });

      it('is empty for a subject nothing was said on', async () => {
        const near = await bus.near.journal(definition);
        const heard = new Heard<number>();
        (await near.follow(subject<Line>(definition.family, 'none'), ({ number }) => heard.add(number))).close();
        expect(heard.values).toEqual([]);
      });

      /** Waits until an entry is kept: who appends does not wait for it. */
      async function settled(journal: Journal<Line>, of: Subject<Line>, number: number): Promise<void> {
        for (;;) {
          const kept: number[] = [];
          (await journal.follow(of, (line) => kept.push(line.number))).close();
          if (kept.at(-1) === number) return;
        }
      }
    });
  });
}
