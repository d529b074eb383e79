/**
 * Long work in a short time: every kind of client, sessions that come and go, and no faults. The memory of a process after garbage collection must not
 * grow. `OMNIBUS_SOAK_SECONDS` makes it longer.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { EraServer } from '../matrix/era-server.ts';
import { collectedMemoryOf } from '../support/metrics.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';
import { asked, counter, sdkClient, streamer, visitor, worker, type Run } from './clients.ts';
import { Fleet } from './fleet.ts';
import { Tally } from './tally.ts';

const seconds = Number(process.env['OMNIBUS_SOAK_SECONDS'] ?? 45);
const sampleMs = 3_000;
const megabyte = 1024 * 1024;
/** More than in the middle third: session workers fill bounded tables in their first minute, 1 to 4 MB of it in the last third; a leak of 200 bytes for each message is 8 MB. */
const allowedBytes = 7 * megabyte;

it('memory stays flat in every process', { timeout: (seconds + 120) * 1_000 }, async () => {
  await using upstream = await Upstream.start({
    tools: [{ ...tool('look'), annotations: { readOnlyHint: true } }, tool('act'), tool('long')],
    onCall: (call) => {
      upstream.calls.values.length = 0;
      upstream.requests.length = 0;
      upstream.answered.values.length = 0;
      if (call.name === 'long') for (let step = 1; step < 8; step += 1) call.progress(step);
      call.answer(text(String(call.args['tag'])));
    },
  });
  await using era = await EraServer.start('2025-11-25');
  await using fleet = await Fleet.start(
    {
      mcpServers: {
        up: { url: upstream.url },
        era: { url: era.url },
        files: { command: 'node', args: [fixturePath('stdio-server')] },
      },
    },
    { before: 'collected-memory' },
  );
  using probe = await RawClient.open(fleet.url);
  await probe.untilTools((names) => ['up__act', 'era__form', 'files__count'].every((name) => names.includes(name)));

  const tally = new Tally();
  const over = new AbortController();
  const run: Run = { url: fleet.url, tally, over: over.signal, pauseMs: () => 1, touch: () => undefined };
  const clients = [worker, worker, sdkClient, streamer, asked, counter, visitor, visitor].map((work, index) =>
    work(run, `${work.name}${index}`),
  );
  const held = fleet.processes.map((): number[] => []);
  const samples = Math.floor((seconds * 1_000) / sampleMs);
  for (let sample = 0; sample < samples; sample += 1) {
    await wait(sampleMs);
    const bytes = await Promise.all(fleet.processes.map(collectedMemoryOf));
    for (const [index, each] of bytes.entries()) held[index]?.push(each);
  }
  over.abort();
  await Promise.all(clients);

  const third = Math.floor(samples / 3);
  const rows = held.map((values, index) => ({
    role: ['edge', 'edge', 'session', 'session', 'backend', 'backend'][index],
    middle: Math.min(...values.slice(third, 2 * third)),
    last: Math.min(...values.slice(2 * third)),
  }));
  process.stdout.write(
    `\nsoak, ${seconds} s, ${tally.answered} calls: ${rows.map(({ role, middle, last }) => `${role} ${(middle / megabyte).toFixed(1)} -> ${(last / megabyte).toFixed(1)} MiB`).join(', ')}\n`,
  );
  expect({ lost: tally.lost, wrong: tally.wrong, unanswered: tally.unanswered }).toEqual({
    lost: [],
    wrong: [],
    unanswered: [],
  });
  expect(rows.filter(({ middle, last }) => last > middle + allowedBytes)).toEqual([]);
});
