import { once } from 'node:events';
import { createServer, get, IncomingMessage, ServerResponse } from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, it, vi } from 'vitest';
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

it('keep-alive comments of all streams are sent at the same moments, each within twenty seconds', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  const wheel = new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) });
  const unread = new Unread({ maxShare: 1e9, maxTotal: 1e9, metrics: new Metrics({ processMetrics: false }) });
  const open = new Set<EventWriter>();
  const options = { wheel, unread, maxBufferedBytes: 1_000_000, open };
  const sent: number[][] = [];
  for (let opened = 0; opened < 20; opened += 1) {
    const moments = [performance.now()];
    sent.push(moments);
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    vi.spyOn(response, 'write').mockImplementation(() => moments.push(performance.now()) > 0);
    open.add(new EventWriter({ response, address: () => 'a' }, stream, options));
    await vi.advanceTimersByTimeAsync(49);
  }
  await vi.advanceTimersByTimeAsync(61_000);
  vi.useRealTimers();
  const gaps = sent.flatMap((moments) => moments.slice(1).map((at, index) => at - (moments[index] as number)));
  expect(gaps.filter((ms) => ms > 20_050)).toEqual([]);
  expect(sent.map((moments) => moments.length - 1).filter((times) => times < 3)).toEqual([]);
  // Twenty streams: at most two moments in each of the three rounds.
  expect(new Set(sent.flatMap((moments) => moments.slice(1))).size).toBeLessThanOrEqual(6);
});
