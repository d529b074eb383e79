/** Connections to servers that carry no request for a while. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { request } from 'undici';
import { Agents } from './agents.ts';

/** Less than servers in Python wait. */
const serverMs = 4_000;

it('an idle connection is closed by the gateway, and not by its server while a request is on its way', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agents = new Agents();
  const answered = request(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {
    dispatcher: agents.of(undefined),
  });
  const [socket] = (await once(server, 'connection')) as [Socket];
  await once(socket, 'data');
  const closing = Promise.race([
    once(socket, 'end').then(() => 'the gateway'),
    once(socket.setTimeout(serverMs), 'timeout').then(() => 'the server'),
  ]);
  socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  await (await answered).body.dump();
  expect(await closing).toBe('the gateway');
  socket.destroy();
  await agents.destroy();
  server.close();
});
