/** The bytes that pass between workers of one machine: each message to another worker costs two more processes the reading and writing of a frame. They are counted at the supervisor. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startUpstream } from '../bench/subjects.ts';
import { Load } from '../bench/load.ts';
import { startWorkers } from '../support/worker-processes.ts';

/**
 * Most bytes of a call. Those that remain are signs of life, whose number depends on time: they were 4 to 7 bytes of a call when this was written, and a machine that is
 * fifty times slower stays below the bound. While any worker served a call and opened a session, a call passed the supervisor, with nearly 1,000 bytes on any machine.
 */
const most = 500;
const atLeast = 600;

/** Bytes that a process has read so far. */
const readBytes = (pid: number): number => Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);

it('calls stay in the worker that has their connection', async () => {
  await using upstream = await startUpstream(1);
  await using gateway = await startWorkers({ mcpServers: { up: { url: `${upstream.url}/0` } } }, 2);
  await Load.toolNames(gateway.url);
  const bytesOf = async (how: object): Promise<number> => {
    const load = await Load.open({ url: gateway.url, sessions: 16, tools: ['tool-0'], bytes: 1_000, ...how });
    await load.run(200);
    const before = readBytes(gateway.edge.pid);
    let calls = 0;
    while (calls < atLeast) calls += (await load.run(200)).calls;
    const bytes = (readBytes(gateway.edge.pid) - before) / calls;
    await load.close();
    return bytes;
  };
  const [modern, own] = [await bytesOf({ isModern: true }), await bytesOf({ ownConnections: true })];
  process.stdout.write(
    `\nbytes through the supervisor for a call: ${modern.toFixed(0)} of 2026-07-28, ${own.toFixed(0)} of a session with its own connection\n`,
  );
  expect(modern).toBeLessThan(most);
  expect(own).toBeLessThan(most);
});
