/** Behaviour that all implementations must have; the tests run against each of them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BusError } from '../errors.ts';
import type { BusFault, OnFault, ReplyObserver } from '../bus.ts';
import { forEveryone, subject } from '../subject.ts';
import type { BusUnderTest } from './bus-under-test.ts';
import { Heard } from './heard.ts';
import { storesContract } from './stores-contract.ts';

const greetings = subject<{ readonly text: string }, { readonly text: string }>('contract-greetings');
const notes = subject<{ readonly number: number }>('contract-notes');

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
      for (let member = 0; member < 3; member += 1)
        await bus.far.subscribe(notes, ({ number }) => heard.add(number), { queue: 'readers' });
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

    it('brings every text of a reply, short and long, as it is', async () => {
      const texts = ['', '"', '"'.repeat(1_000), '\u0001\u0002é\u{1f600}\n'.repeat(1_000), 'x"'.repeat(2_000_000)];
      await bus.far.subscribe(greetings, (_request, reply) => {
        for (const text of texts) reply({ text });
      });
      const { heard, observer } = observe<{ readonly text: string }>();
      bus.near.request(greetings, { text: 'all' }, observer);
      expect((await heard.until(texts.length)).map((reply) => ('text' in reply ? reply.text : reply))).toEqual(texts);
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
      // After this, all messages have left the sender; on the receiver's side some may still be on their way.
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
      [
        'throws',
        () => {
          throw new Error('a broken handler');
        },
      ],
      [
        'rejects its promise',
        async () => {
          await Promise.resolve();
          throw new Error('a broken handler');
        },
      ],
    ])(
      'fails a request whose handler %s, after the replies it has sent, under the name that the fault is reported by',
      async (_how, breaks) => {
        await bus.far.subscribe(greetings, ({ text }, reply) => {
          reply({ text });
          return breaks();
        });
        const { heard, observer } = observe<{ readonly text: string }>();
        bus.near.request(greetings, { text: 'hello' }, observer);
        const [first, failure] = (await heard.until(2)) as [unknown, BusError];
        expect(first).toEqual({ text: 'hello' });
        expect(failure).toMatchObject({ kind: 'handler-failed' });
        const [reported] = await faults.until(1);
        expect(reported).toMatchObject({
          kind: 'handler',
          error: new Error('a broken handler'),
          incident: failure.incident,
        });
        expect(failure.incident).toMatch(/^[0-9a-f]{12}$/);
      },
    );

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
      const everybody = forEveryone(
        subject<{ readonly text: string }, { readonly text: string }>('contract-everybody'),
      );
      const asked = new Heard<(payload: { readonly text: string }) => void>();
      await bus.far.subscribe(everybody, () => {
        throw new Error('a broken handler');
      });
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
      bus.near.request(
        greetings,
        { text: 'hello' },
        {
          reply: () => throws('reply'),
          failed: (error) => {
            told.add(error);
            throws('failed');
          },
        },
      );
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
      const drained = bus.near.drain();
      // A sender of unneeded messages checks first whether the bus can deliver.
      expect(bus.near.connected).toBe(false);
      await drained;
      expect(((await heard.until(1))[0] as BusError).kind).toBe('closed');
      expect(() => bus.near.publish(notes, { number: 1 })).toThrow(BusError);
    });

    storesContract(
      () => bus,
      () => faults,
    );
  });
}
