import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { hasProxy, openTunnel, proxyEnvironment, proxyTo, useProxy } from './proxies.ts';

const env = { HTTPS_PROXY: 'http://secure.example:3128', http_proxy: 'plain.example:3128' };
const to = (address: string, variables: Record<string, string> = env, option?: string): string | undefined => {
  return proxyTo(new URL(address), option, variables)?.href;
};

it('the variables name a proxy by the protocol of an address, in either case, and never one to this machine', () => {
  expect(to('https://api.example/mcp')).toBe('http://secure.example:3128/');
  expect(to('wss://api.example/mcp')).toBe('http://secure.example:3128/');
  expect(to('http://api.example/mcp')).toBe('http://plain.example:3128/');
  for (const host of ['localhost', 'a.localhost', '127.0.0.1', '127.1.2.3', '[::1]'])
    expect(to(`https://${host}/mcp`)).toBeUndefined();
  expect(to('https://api.example/mcp', {})).toBeUndefined();
  expect([hasProxy(env), hasProxy({}), hasProxy({ HTTP_PROXY: '' })]).toEqual([true, false, false]);
});

it.each([
  ['*', 'https://api.example/', true],
  ['api.example', 'https://api.example/', true],
  ['.example', 'https://api.example/', true],
  ['*.example', 'https://api.example/', true],
  ['example', 'https://notexample/', false],
  ['api.example:8443', 'https://api.example/', false],
  ['api.example:443', 'https://api.example/', true],
  ['other.example, API.example', 'https://api.example/', true],
  ['10.0.0.0/8', 'http://10.1.2.3:80/', true],
  ['10.0.0.0/8', 'http://11.1.2.3/', false],
  ['fd00::/8', 'http://[fd00::1]/', true],
  ['10.1.2.3', 'http://10.1.2.3/', true],
  ['10.0.0.0/99', 'http://10.1.2.3/', false],
])('NO_PROXY %s and the address %s: %s', (list, address, isExcepted) => {
  expect(to(address, { ...env, NO_PROXY: list }) === undefined).toBe(isExcepted);
});

it('the option of a server comes before the variables, for this machine too, and `none` leads directly', () => {
  expect(to('https://api.example/', env, 'https://own.example')).toBe('https://own.example/');
  expect(to('https://127.0.0.1/', { ...env, NO_PROXY: '*' }, 'https://own.example')).toBe('https://own.example/');
  expect(to('https://api.example/', env, 'none')).toBeUndefined();
});

it('the option of the gateway takes the place of the variables, and leaves the exceptions', () => {
  const variables: Record<string, string | undefined> = { ...env, NO_PROXY: 'a.example' };
  useProxy('http://own.example:1', variables);
  expect(proxyEnvironment(variables)).toEqual({
    HTTP_PROXY: 'http://own.example:1',
    HTTPS_PROXY: 'http://own.example:1',
    NO_PROXY: 'a.example,localhost,127.0.0.1,::1',
  });
  useProxy('none', variables);
  expect(hasProxy(variables)).toBe(false);
});

it.each([
  [407, 'demands another login (HTTP 407)'],
  [403, 'does not lead to api.example:443 (HTTP 403)'],
])('a proxy that answers %i has that as its problem, without its password', async (status, problem) => {
  const proxy = createServer().on('connect', (_request, socket) => socket.end(`HTTP/1.1 ${status} No\r\n\r\n`));
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  const address = new URL(`http://ann:hunter2@127.0.0.1:${port}`);
  await expect(openTunnel(address, new URL('https://api.example/'), 5_000)).rejects.toThrow(
    `the proxy 127.0.0.1:${port} ${problem}`,
  );
  proxy.close();
});
