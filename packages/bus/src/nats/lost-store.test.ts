/** Open watches and buckets of a process at a NATS that comes back without its store. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import type { Bucket, KeyValueChange } from '../bus.ts';
import { subject } from '../subject.ts';
import { auditLedger } from '../subjects.ts';
import { Heard } from '../testing/heard.ts';
import { startNatsProgram } from '../testing/nats-server.ts';
import { openNatsBus } from './bus.ts';

const bucket: Bucket<string> = { name: 'omnibus-lost', isRewritten: true };

it('buckets, watches, journals and ledgers go on, and a process writes again what it says of itself', async () => {
  await using server = await startNatsProgram();
  const faults = new Heard<string>();
  const open = (clientName: string): ReturnType<typeof openNatsBus> =>
    openNatsBus({ servers: server.url, clientName, connectTimeoutMs: 5_000 }, ({ what }) => faults.add(what));
  const [near, far] = [await open('near'), await open('far')];
  const [writer, reader] = [await near.keyValue(bucket), await far.keyValue(bucket)];
  const definition = {
    name: 'lost-journal',
    family: 'lost',
    tokens: 1,
    maxAgeMs: 60_000,
    maxBytes: 1_000_000,
    maxEntries: 3,
  };
  const journal = await near.journal<number>(definition);
  const ledger = await near.ledger({ ...auditLedger, maxAgeMs: 60_000, maxBytes: 1_000_000 });
  await writer.put('kept', 'own');
  await reader.put('theirs', 'x'.repeat(1_500_000));
  await ledger.append('one', 'first');
  const heard = new Heard<KeyValueChange<string>>();
  await reader.watch(heard.add);
  expect(heard.values.map(({ key }) => key)).toEqual(['kept', 'theirs']);

  await server.kill();
  await rm(join(server.folder as string, 'jetstream'), { recursive: true });
  await server.start();
  await vi.waitFor(async () => expect((await reader.get('kept'))?.value).toBe('own'), 45_000);
  await vi.waitFor(async () => expect((await writer.get('theirs'))?.value.length).toBe(1_500_000), 45_000);
  // The watch has seen both come back, and sees what comes then.
  await writer.put('new', 'value');
  await heard.untilSome((change) => change.key === 'new');
  expect(heard.values.filter(({ kind, key }) => kind === 'put' && key === 'kept').length).toBe(2);
  const to = subject<number>('lost', 'one');
  journal.append(to, 1);
  await vi.waitFor(async () => {
    const kept: number[] = [];
    (await journal.follow(to, (entry) => void kept.push(entry))).close();
    expect(kept).toEqual([1]);
  }, 45_000);
  await vi.waitFor(async () => ledger.append('one', 'second'), 45_000);
  await near.drain();
  await far.drain();
});
