/** A NATS that comes back without its store, while the processes of a gateway run. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { natsUsers } from '@omnibus/bus';
import { Outsider, startNatsProgram, type NatsServer } from '@omnibus/bus/testing';
import { setUp } from '../support/gateway.ts';
import { end, type RunningProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';
import { endpointOf, startPart } from './world.ts';

const users = {
  'with a user for each role': `authorization { users: [\n${natsUsers((user) => user)}\n{ user: outsider, password: outsider }\n] }\nno_auth_user: outsider`,
  'without users': '',
};
const waits = { timeout: 60_000, interval: 100 };

async function loseStore(nats: NatsServer): Promise<void> {
  await nats.kill();
  await rm(join(nats.folder as string, 'jetstream'), { recursive: true });
  await nats.start();
}

async function readiness(part: RunningProcess): Promise<string> {
  const [, admin] = (await part.line(/"admin":"([^"]+)"/)) as unknown as [string, string];
  return (await fetch(`http://${admin}/readyz`)).text();
}

describe.each(Object.entries(users))('at a NATS %s', (_which, settings) => {
  it('a gateway that lost its store names the missing parts, restores them, and then survives the loss of a session worker', async () => {
    await using stack = new AsyncDisposableStack();
    const nats = stack.use(await startNatsProgram(settings));
    const hasUsers = settings !== '';
    if (hasUsers) await setUp(nats.url);
    const server = stack.use(
      await Upstream.start({ tools: [tool('greet')], onCall: (call) => call.answer(text('hello')) }),
    );
    const start = async (role: 'edge' | 'session' | 'backend'): Promise<RunningProcess> =>
      stack.use(
        await startPart(
          { prefix: 'always', mcpServers: { up: { url: server.url } } },
          hasUsers ? nats.url.replace('://', `://${role}:${role}@`) : nats.url,
          role,
        ),
      );
    const backend = await start('backend');
    const first = await start('session');
    const edge = await start('edge');
    const client = stack.use(await RawClient.open(await endpointOf(edge)));
    await client.untilTools((names) => names.includes('up__greet'));

    await loseStore(nats);
    if (hasUsers) {
      await vi.waitFor(
        async () =>
          expect(await readiness(first)).toContain(
            'KV_omnibus-sessions is missing at NATS or older than this version: run "omnibus nats setup"',
          ),
        waits,
      );
      // Calls go on as soon as all processes have reconnected.
      await vi.waitFor(
        async () => expect((await client.callTool('up__greet')).last.result).toMatchObject(text('hello')),
        waits,
      );
      await setUp(nats.url);
    }
    for (const part of [backend, first, edge])
      await vi.waitFor(async () => expect(await readiness(part)).toBe('ready\n'), waits);

    // The records of sessions and lists exist again: another worker takes the session over, with its lists.
    const outsider = stack.use(await Outsider.connect(nats.url));
    await vi.waitFor(async () => {
      const buckets = await outsider.buckets();
      expect([buckets.get('omnibus-sessions')?.size, buckets.get('omnibus-catalog')?.size]).toEqual([1, 1]);
    }, waits);
    const second = await start('session');
    await end(first, 'SIGKILL');
    await vi.waitFor(async () => expect((await client.request('tools/list')).status).toBe(200), waits);
    expect(await client.toolNames()).toContain('up__greet');
    expect((await client.callTool('up__greet')).last.result).toMatchObject(text('hello'));

    // A session whose record and worker are both lost has ended, and its client gets an error.
    await nats.kill();
    await end(second, 'SIGKILL');
    await rm(join(nats.folder as string, 'jetstream'), { recursive: true });
    await nats.start();
    if (hasUsers) await setUp(nats.url);
    await start('session');
    await vi.waitFor(async () => expect((await client.request('tools/list')).status).toBe(404), {
      timeout: 100_000,
      interval: 500,
    });
  }, 180_000);
});
