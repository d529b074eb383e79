/** Values in parts at a NATS that refuses some of the work. What buckets do otherwise is in the contract (`testing/contract.ts`). */
import { expect, it } from 'vitest';
import type { BusFault } from '../bus.ts';
import { Heard } from '../testing/heard.ts';
import { startNatsProgram } from '../testing/nats-server.ts';
import { openNatsBus } from './bus.ts';

it('a value is written though its old parts cannot be removed, which is reported', async () => {
  const refused = '{ user: writer, password: writer, permissions: { publish: { deny: ["$JS.API.STREAM.PURGE.>"] } } }';
  await using server = await startNatsProgram(`authorization { users: [${refused}] }`);
  const faults = new Heard<BusFault>();
  const bus = await openNatsBus(
    { servers: server.url.replace('://', '://writer:writer@'), clientName: 'writer', connectTimeoutMs: 5_000 },
    faults.add,
  );
  const store = await bus.keyValue<string>({ name: 'omnibus-parted' });
  await store.put('key', 'a'.repeat(1_500_000));
  expect(faults.values).toEqual([]);
  const second = 'b'.repeat(1_500_000);
  const revision = await store.put('key', second);
  expect(await store.get('key')).toEqual({ key: 'key', value: second, revision });
  expect(faults.values.map(({ kind, what }) => [kind, what])).toContainEqual([
    'store',
    'old parts of omnibus-parted could not be removed',
  ]);
  await bus.drain();
});
