import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import { JsonBytes, type StreamId } from '@omnibus/protocol';
import { Metrics } from '@omnibus/telemetry';
import { Unread } from '../bounds/unread.ts';
import { EventWriter } from './event-writer.ts';

const stream = { id: 's' as StreamId, isPrimed: false };
const body = JSON.stringify('x'.repeat(300_000));

it.each([
  ['text', body],
  ['bytes', new JsonBytes([body.slice(0, 100_000), Buffer.from(body.slice(100_000))])],
])('a single message as %s may be larger than the bound on waiting bytes', async (_how, message) => {
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  const unread = new Unread({ maxShare: 1e9, maxTotal: 1e9, metrics: new Metrics({ processMetrics: false }) });
  const server = createServer((_request, response) => {
    const client = { response, address: () => 'a' };
    const writer = new EventWriter(client, stream, { wheel, unread, maxBufferedBytes: 100_000, open: new Set() });
    writer.message(message, 1);
    writer.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [answer] = (await once(get({ host: '127.0.0.1', port, agent: false }), 'response')) as [IncomingMessage];
  expect((await buffer(answer)).toString()).toBe(`id: s.1\nevent: message\ndata: ${body}\n\n`);
  server.close();
});
