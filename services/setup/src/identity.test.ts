/** Proofs of keys on the bus: one caller has a bound, and leaves room for other callers and for sign-ins. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { authorizationBuckets, MemoryBus, type Bus } from '@omnibus/bus';
import type { Principal } from '@omnibus/protocol';
import { possessionOver } from './identity.ts';

const [ann, ben] = ['p_ann', 'p_ben'] as [Principal, Principal];

async function keysIn(bus: Bus, kind: 'short' | 'proofs'): Promise<number> {
  let count = 0;
  const bucket = await bus.keyValue<string>(authorizationBuckets[kind]);
  (await bucket.watch(() => void (count += 1))).close();
  return count;
}

it('a caller with too many proofs is refused, and other callers and sign-ins keep their room', async () => {
  const bus = new MemoryBus((fault) => expect.fail(fault.what));
  const [one, other] = [possessionOver(bus, undefined), possessionOver(bus, undefined)];
  const proof = randomUUID();
  expect(await one.isFirst(ben, proof)).toBe(true);
  expect(await other.isFirst(ben, proof)).toBe(false);
  const flood = await Promise.allSettled(Array.from({ length: 5_000 }, () => one.isFirst(ann, randomUUID())));
  expect(flood.some(({ status }) => status === 'rejected')).toBe(true);
  expect(await one.isFirst(ben, randomUUID())).toBe(true);
  expect(await keysIn(bus, 'short')).toBe(0);
  expect(await keysIn(bus, 'proofs')).toBe(2 + flood.filter(({ status }) => status === 'fulfilled').length);
  await bus.drain();
});
