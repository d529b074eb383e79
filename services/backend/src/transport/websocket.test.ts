/** A WebSocket that is closed while it is being opened, and one whose server sends a frame in tiny pieces. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { HeaderSource, SentHeaders } from '@omnibus/credentials';
import { defaultLimits } from '@omnibus/protocol';
import { WebSocketServer } from 'ws';
import { WebSocketTransport, type WebSocketTransportOptions } from './websocket.ts';

function transportTo(
  url: string,
  more: Partial<WebSocketTransportOptions>,
  lost: (problem: string) => void = () => undefined,
): WebSocketTransport {
  return new WebSocketTransport(
    {
      url,
      headers: {},
      credentials: undefined,
      limits: defaultLimits,
      openTimeoutMs: 5_000,
      addresses: undefined,
      proxy: undefined,
      tls: undefined,
      ...more,
    },
    { lost } as never,
  );
}

it('a connection that is closed while its credentials are obtained never reaches the server', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  let opened = 0;
  server.on('connection', () => {
    opened += 1;
  });
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const asked = Promise.withResolvers<SentHeaders>();
  const credentials = { current: undefined, ask: () => asked.promise } as unknown as HeaderSource;
  const transport = transportTo(url, { credentials });
  const opening = transport.open();
  await transport.close();
  asked.resolve({});
  await expect(opening).rejects.toThrow('closed');
  // A connection of the abandoned transport would come before this one.
  const next = transportTo(url, {});
  await next.open();
  expect(opened).toBe(1);
  await next.close();
  server.close();
});

it('a tunnel through a proxy that is ready after the connection was closed is closed too', async () => {
  const tunnel = Promise.withResolvers<Socket>();
  const proxy = createServer().on('connect', (_request, socket: Socket) => tunnel.resolve(socket));
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  const transport = transportTo('ws://server.invalid/', { proxy: `http://127.0.0.1:${port}` });
  const opening = transport.open();
  const socket = await tunnel.promise;
  const written: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => written.push(chunk));
  await transport.close();
  const ended = once(socket, 'end');
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
  await expect(opening).rejects.toThrow('closed');
  await ended;
  expect(written).toEqual([]);
  socket.destroy();
  proxy.close();
});

it('a frame that comes byte by byte ends the connection, since each of its pieces takes more than its byte', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const connected = once(server, 'connection');
  const problems: string[] = [];
  const limits = { ...defaultLimits, maxUpstreamMessageBytes: 100_000 };
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const transport = transportTo(url, { limits }, (problem) => problems.push(problem));
  await transport.open();
  const [, { socket }] = (await connected) as [unknown, IncomingMessage];
  socket.setNoDelay(true);
  // The head of a text frame of 50,000 bytes (RFC 6455, 5.2).
  socket.write(Buffer.from([0x81, 126, 50_000 >> 8, 50_000 & 0xff]));
  for (let at = 0; at < 20_000 && problems.length === 0 && socket.writable; at += 1) {
    socket.write(' ');
    // The transport is in this process, and reads it now.
    await setImmediate();
  }
  await expect.poll(() => problems).toEqual([expect.stringContaining('Too many buffered chunks')]);
  await transport.close();
  server.close();
});
