/** Several backend workers for the same servers, of which one cannot reach a server that the others reach. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startGatewayHere } from '../support/gateway-here.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, Upstream } from '../support/upstream.ts';

it('one replica that cannot reach a server does not take it from clients: it stays in the lists, and calls go to the other replicas', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-replica-'));
  const obstacle = join(folder, 'in-the-way');
  await using gateway = await startGatewayHere('nats', {
    mcpServers: {
      pipe: {
        command: 'node',
        args: [fixturePath('blunt-server'), obstacle],
        restart: { minDelay: '100ms', maxDelay: '200ms' },
      },
    },
  });
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.includes('pid'));
  await writeFile(obstacle, '');
  const bad = await gateway.startPart('backend');
  await bad.line(/server is not available/);
  for (let count = 0; count < 20; count += 1) {
    expect(await client.toolNames()).toContain('pid');
    const { last } = await client.callTool('pid');
    expect(last.error).toBeUndefined();
  }
  await rm(folder, { recursive: true });
  // The obstacle is removed: the replica recovers, and the first one may end.
  await bad.line(/server is up/);
  await gateway.backend.stop();
  expect(await client.toolNames()).toContain('pid');
  expect((await client.callTool('pid')).last.error).toBeUndefined();
});

it('after a session has unsubscribed, no replica is subscribed, whichever of them received the request', async () => {
  const upstream = await Upstream.start({
    capabilities: { resources: { subscribe: true } },
    onCall: (call) => call.answer(text(call.session)),
  });
  await using _upstream = upstream;
  await using gateway = await startGatewayHere('nats', { mcpServers: { up: { url: upstream.url } } });
  await gateway.startPart('backend');
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.includes('echo'));
  const used = new Set<string>();
  while (used.size < 2) used.add(JSON.stringify((await client.callTool('echo')).last.result));
  const uris = Array.from({ length: 12 }, (_, index) => `up://${index}`);
  const said = (method: string): string[] =>
    upstream.requests
      .filter((request) => request.method === method)
      .map(({ params }) => String(params?.['uri']))
      .sort();
  for (const uri of uris) expect((await client.request('resources/subscribe', { uri })).last.result).toEqual({});
  for (const uri of uris) expect((await client.request('resources/unsubscribe', { uri })).last.result).toEqual({});
  await expect.poll(() => said('resources/unsubscribe')).toEqual(said('resources/subscribe'));
  expect(new Set(said('resources/subscribe')).size).toBe(uris.length);
});
