import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { proxyFetches } from './proxied-fetches.ts';

it('what the process fetches goes through the proxy, except to this machine, until the proxy is none', async () => {
  const server = createServer((_request, response) => response.end('well')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const asked: string[] = [];
  // It resolves a name that is unknown here, as the proxy of a company does.
  const proxy = createServer().on('connect', ({ url = '' }, socket: Socket) => {
    asked.push(url);
    const target = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    socket.pipe(target).pipe(socket);
    for (const each of [socket, target]) each.on('error', () => undefined);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  await proxyFetches(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  const say = async (url: string): Promise<string> => (await fetch(url, { headers: { connection: 'close' } })).text();
  expect(await say('http://issuer.invalid/keys')).toBe('well');
  expect(await say(`http://127.0.0.1:${port}/keys`)).toBe('well');
  expect(asked).toEqual(['issuer.invalid:80']);
  await proxyFetches('none');
  await expect(fetch('http://issuer.invalid/keys')).rejects.toThrow();
  expect(asked).toHaveLength(1);
  server.closeAllConnections();
  for (const each of [server, proxy]) each.close();
});
