/** Several backend workers for the same servers, of which one cannot reach a server that the others reach. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startGateway } from '../support/gateway.ts';
import { end, fixturePath } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';

it('one bad replica takes a server from nobody: it stays in the lists, and no call is sent where it is not reached', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-replica-'));
  const obstacle = join(folder, 'in-the-way');
  await using gateway = await startGateway('nats', { mcpServers: { pipe: { command: 'node', args: [fixturePath('blunt-server'), obstacle], restart: { minDelay: '100ms', maxDelay: '200ms' } } } });
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
  // The obstacle is gone: the replica heals by itself, and the first one may go.
  await bad.line(/server is up/);
  await end(gateway.backend, 'SIGTERM');
  expect(await client.toolNames()).toContain('pid');
  expect((await client.callTool('pid')).last.error).toBeUndefined();
});
