import { expect, it } from 'vitest';
import { openingAdvice } from '../errors.ts';
import { quotaBuckets, streamJournal } from '../subjects.ts';
import { startNatsServer } from '../testing/index.ts';
import { openNatsBus } from './bus.ts';

it.each([
  ['a server', 'jetstream { max_file_store: 100MB }'],
  [
    'an account',
    'accounts { A { jetstream: { max_file: 100MB }, users: [{ user: a, password: a }] } }\nno_auth_user: a',
  ],
])('%s without room for a reservation says so, and the others are opened', async (_what, settings) => {
  await using server = await startNatsServer(settings);
  const bus = await openNatsBus({ servers: server.url, clientName: 'one', connectTimeoutMs: 5_000 }, () => undefined);
  const day = await bus.keyValue(quotaBuckets.day);
  expect(await day.create('k', { used: 1 })).toBeGreaterThan(0);
  const problemOf = (opening: Promise<unknown>): Promise<unknown> =>
    opening.then(
      () => undefined,
      (error: unknown) => error,
    );
  const problem = await problemOf(bus.keyValue(quotaBuckets.month));
  expect(problem).toMatchObject({
    kind: 'overloaded',
    message:
      'JetStream has no room for the stream KV_omnibus-quotas-month, which reserves 64 MiB (insufficient storage resources available): give it more storage (max_file_store of the server, max_file of the account)',
  });
  expect(openingAdvice(problem)).toBe('there is no room for it');
  expect(await problemOf(bus.journal(streamJournal))).toMatchObject({
    kind: 'overloaded',
    message: expect.stringContaining('omnibus-streams, which reserves 128 MiB') as string,
  });
  await bus.drain();
});
