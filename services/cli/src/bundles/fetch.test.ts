/** Downloads of bundles: addresses that are refused, and messages about downloads that break. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CommandProblem } from '@omnibus/client';
import { afterEach, expect, it, vi } from 'vitest';
import { bundleAt } from './fetch.ts';

const sha256 = createHash('sha256').update('the bundle').digest('hex');
const stack: (() => unknown)[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  for (const end of stack.splice(0)) await end();
});

/** A listener on this machine, and the paths that it was asked for. */
async function listener(answer: RequestListener): Promise<{ readonly origin: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(String(request.url));
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.push(() => server.close());
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

it('an address of this machine is asked only for a description of this machine', async () => {
  const { origin, asked } = await listener((_request, response) => response.end('the bundle'));
  for (const address of [origin, origin.replace('http:', 'https:')])
    await expect(bundleAt(address, sha256, false)).rejects.toThrow('is an address of this machine');
  expect(asked).toEqual([]);
  expect(String(await bundleAt(origin, sha256, true))).toBe('the bundle');
});

it('a redirect leads to this machine only from this machine', async () => {
  const { origin, asked } = await listener((request, response) =>
    request.url === '/first'
      ? response.writeHead(302, { location: '/second' }).end()
      : response.writeHead(200).end('the bundle'),
  );
  const real = globalThis.fetch;
  vi.spyOn(globalThis, 'fetch').mockImplementation((url, init) =>
    url instanceof URL && url.hostname === 'releases.example'
      ? Promise.resolve(new Response(null, { status: 302, headers: { location: `${origin}/shutdown` } }))
      : real(url, init),
  );
  for (const isOfHere of [false, true])
    await expect(bundleAt('https://releases.example/it.mcpb', sha256, isOfHere)).rejects.toThrow(
      'is an address of this machine',
    );
  expect(asked).toEqual([]);
  expect(String(await bundleAt(`${origin}/first`, sha256, true))).toBe('the bundle');
  expect(asked).toEqual(['/first', '/second']);
});

it('a connection that breaks inside the bundle is a problem with its address', async () => {
  const { origin } = await listener((_request, response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('the', () => response.destroy());
  });
  const problem = await bundleAt(`${origin}/it`, sha256, true).catch((error: unknown) => error);
  expect(problem).toBeInstanceOf(CommandProblem);
  expect((problem as CommandProblem).message).toContain(`${origin}/it cannot be read`);
});
