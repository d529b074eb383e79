/** A bucket that is watched while others write to it. */
import { expect, it } from 'vitest';
import type { Bucket } from '../bus.ts';
import { SharedNats } from '../testing/shared-nats.ts';

const nats = await SharedNats.start();
const bucket: Bucket<number> = { name: 'omnibus-rewritten', isSmall: true };

it('a watch begins although a key is written again and again meanwhile', async () => {
  const [near, far] = [await nats.near.keyValue(bucket), await nats.far.keyValue(bucket)];
  const over = new AbortController();
  let writes = 0;
  const writing = (async () => {
    while (!over.signal.aborted) await near.put('one', (writes += 1));
  })();
  for (let count = 0; count < 100; count += 1) (await far.watch(() => undefined)).close();
  over.abort();
  await writing;
  expect(writes).toBeGreaterThan(100);
});
