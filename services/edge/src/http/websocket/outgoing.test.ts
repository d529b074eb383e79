/** Clients on a WebSocket that say much and read nothing. */
import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { EdgeUnderTest, initialize } from '../../edge-under-test.ts';

/** Small questions with large answers: one read asks for little more than may wait. */
const count = 2_000;
const padding = 'x'.repeat(1_024);
const text = 'x'.repeat(16_384);

it('a client that does not read is read no further, and has all its answers when it reads again', async () => {
  await using test = await EdgeUnderTest.start('limits: { maxInFlightPerSession: 100 }');
  let asked = 0;
  await test.serve((command, reply) => {
    if (command.kind !== 'post' || command.message.kind !== 'request') return;
    asked += 1;
    reply({
      kind: 'message',
      text: JSON.stringify({ jsonrpc: '2.0', id: command.message.message.id, result: { text } }),
      isAnswer: true,
      sequence: undefined,
      last: true,
    });
  });
  const client = new WebSocket(test.url.replace('http', 'ws').replace('/mcp', '/ws'), 'mcp');
  await once(client, 'open');
  client.send(JSON.stringify(initialize));
  await once(client, 'message');
  const ids: number[] = [];
  client.on('message', (data: Buffer) => ids.push((JSON.parse(data.toString()) as { id: number }).id));
  client.pause();
  for (let id = 1; id <= count; id += 1)
    client.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', params: { padding } }));
  const seen = [0];
  await vi.waitUntil(() => asked > 0 && seen.push(asked) && seen.at(-1) === seen.at(-2), {
    timeout: 45_000,
    interval: 200,
  });
  expect(asked).toBeLessThan(count / 2);
  client.resume();
  await vi.waitUntil(() => ids.length === count, { timeout: 45_000 });
  expect(ids).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  client.close();
});
