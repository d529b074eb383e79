/** Connections on which no request has come. */
import { connect, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { defaultLimits } from '@omnibus/protocol';
import { Metrics } from '@omnibus/telemetry';
import { ClientAddresses } from '../callers/client-address.ts';
import { createClientServer } from './server.ts';

let server: Server;
/** What clients were sent, by connection. */
let heard: Map<Socket, string>;

async function open(): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  heard.set(socket, '');
  socket.setEncoding('utf8').on('data', (text: string) => heard.set(socket, `${heard.get(socket) ?? ''}${text}`));
  await once(socket, 'connect');
  return socket;
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  heard = new Map();
  server = createClientServer({
    limits: defaultLimits,
    requestMs: 200,
    metrics: new Metrics({ processMetrics: false }),
    addresses: new ClientAddresses([]),
    maxFiles: undefined,
    tls: undefined,
    handle: (_request, response) => void response.end('served'),
    handleUpgrade: () => expect.fail('nobody upgrades'),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  vi.useRealTimers();
  server.closeAllConnections();
  server.close();
});

it('a connection that a client keeps in store is open as long as one between two requests, and then closed without a word', async () => {
  const [used, unused, slow] = [await open(), await open(), await open()];
  // The times of requests are looked at every two seconds: the connections are older than a request may be.
  await once(server, 'clientError');
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  used.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await once(used, 'close');
  expect(heard.get(used)).toMatch(/^HTTP\/1\.1 200 [\s\S]*served/);
  slow.write('GET / HTTP/1.1\r\nHost:');
  await once(slow, 'close');
  expect(heard.get(slow)).toMatch(/^HTTP\/1\.1 408 /);
  const closed = once(unused, 'close');
  vi.advanceTimersByTime(75_000);
  await closed;
  expect(heard.get(unused)).toBe('');
});
