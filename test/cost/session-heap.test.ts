/** The memory of idle sessions whose clients read a stream: live objects in the heaps of all roles. The bounds are those of `docs/explanation/speed.md`. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { startUpstream } from '../bench/subjects.ts';
import { shapesOfLane, startGateway } from '../support/gateway.ts';
import { collectedHeapOf, measured } from '../support/metrics.ts';
import { RawClient } from '../support/raw-client.ts';

const sessions = 200;
/** Sessions that come before the counted ones: tables have their size then, and code that they run has been compiled. */
const before = 50;
/** Most KiB of a session at each process. */
const bounds = { embedded: { one: 18.7 }, nats: { backend: 1, session: 11.7, edge: 11.2 } };

/** Opens sessions, each with a stream. */
async function open(url: string, count: number): Promise<Socket[]> {
  const { hostname, port, pathname } = new URL(url);
  const sockets: Socket[] = [];
  for (let opened = 0; opened < count; opened += 1) {
    using client = await RawClient.open(url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `GET ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\naccept: text/event-stream\r\nmcp-session-id: ${String(client.session)}\r\n\r\n`,
    );
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString('latin1')).toMatch(/^HTTP\/1\.1 200 /);
    sockets.push(socket.resume());
  }
  return sockets;
}

it.each(shapesOfLane)('%s: an idle session with a stream takes little live heap', async (shape) => {
  await using upstream = await startUpstream(1);
  await using gateway = await startGateway(
    shape,
    { mcpServers: { up: { url: `${upstream.url}/0` } }, limits: { sessionBurst: 10_000 } },
    measured,
  );
  const heaps = (): Promise<number[]> => Promise.all(gateway.processes.map(collectedHeapOf));
  const sockets = await open(gateway.url, before);
  const first = await heaps();
  sockets.push(...(await open(gateway.url, sessions)));
  const last = await heaps();
  for (const socket of sockets) socket.destroy();
  const kilobytes = last.map((bytes, index) => (bytes - (first[index] as number)) / sessions / 1024);
  const most = Object.entries(bounds[shape]);
  process.stdout.write(
    `\nan idle session, KiB: ${most.map(([name], index) => `${name} ${(kilobytes[index] as number).toFixed(1)}`).join(', ')}\n`,
  );
  expect(kilobytes).toHaveLength(most.length);
  for (const [index, [name, bound]] of most.entries()) expect(kilobytes[index], name).toBeLessThanOrEqual(bound);
});
