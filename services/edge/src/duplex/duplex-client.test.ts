/** Clients with a connection as session: the remains of a disconnected one. */
import { once } from 'node:events';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { subjects } from '@omnibus/bus';
import type { StreamFrame } from '@omnibus/protocol';
import { EdgeUnderTest, initialize } from '../edge-under-test.ts';

let test: EdgeUnderTest;

beforeEach(async () => {
  test = await EdgeUnderTest.start();
});

afterEach(async () => {
  await test[Symbol.asyncDispose]();
  expect(test.faults).toEqual([]);
});

/** Connects a client, which sends `initialize`. */
async function connect(): Promise<WebSocket> {
  const socket = new WebSocket(`${test.origin.replace('http', 'ws')}/ws`, 'mcp');
  await once(socket, 'open');
  socket.send(JSON.stringify(initialize));
  return socket;
}

it('nothing is left open of a client that is gone, however many there were', async () => {
  await test.serve((command, reply) => {
    // The session's answer to its stream when it ends.
    if (command.kind === 'attach') streams.push(reply);
    if (command.kind !== 'delete') return;
    streams.shift()?.({ kind: 'end' });
    reply({ kind: 'accepted' });
  });
  const streams: ((frame: StreamFrame) => void)[] = [];
  for (let clients = 0; clients < 3; clients += 1) {
    const socket = await connect();
    await once(socket, 'message');
    await expect.poll(() => streams.length).toBe(1);
    socket.close();
    await expect.poll(() => streams.length).toBe(0);
  }
  await expect.poll(() => test.metrics.text()).toContain('omnibus_client_requests_in_flight 0');
});

it('the initialize of a client that is gone before its answer is measured to the moment it left', async () => {
  const asked = Promise.withResolvers<void>();
  await test.bus.subscribe(subjects.sessionOpen(undefined), () => asked.resolve());
  const socket = await connect();
  await asked.promise;
  socket.close();
  await expect
    .poll(() => test.metrics.text())
    .toContain('omnibus_client_request_duration_seconds_count{method="initialize"} 1');
});
