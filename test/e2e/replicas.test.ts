/** Servers stay available when a process that is connected to them ends: backend workers are killed, stopped and replaced during calls. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { end, fixturePath, type RunningProcess } from '../support/processes.ts';
import { repeatedly, untilTrue } from '../support/paced.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

describe('with backend workers that come and go', () => {
  let upstream: Upstream;
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    upstream = await Upstream.start({
      tools: [tool('slow'), tool('act'), { ...tool('look'), annotations: { readOnlyHint: true } }],
      resources: [{ uri: 'up://one', name: 'one' }],
      capabilities: { logging: {} },
      onCall: (call) =>
        call.name === 'act'
          ? call.answer(text('done'))
          : call.name === 'look' && upstream.looked.values.length > 0
            ? call.answer(text('seen'))
            : upstream.looked.add(call),
    });
    gateway = await startGateway('nats', { mcpServers: { up: { url: upstream.url } } });
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  const backends: RunningProcess[] = [];

  /** Starts a backend worker, and ends the previous ones. */
  async function replaceBackends(signal: NodeJS.Signals): Promise<void> {
    const old = backends.length === 0 ? [gateway.backend] : backends.splice(0);
    backends.push(await gateway.startPart('backend'));
    await Promise.all(old.map((worker) => end(worker, signal)));
  }

  it('SIGKILL: a writing call is answered with "outcome unknown", a reading one is sent again, and subscriptions go on', async () => {
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('look'));
    const heard = await client.standing();
    await client.request('resources/subscribe', { uri: 'up://one' });
    const look = client.callTool('look');
    await upstream.looked.until(1);
    const slow = client.callTool('slow');
    await upstream.looked.until(2);
    const asked = upstream.requests.length;
    await replaceBackends('SIGKILL');
    expect((await slow).last.error).toMatchObject({
      code: -32_603,
      data: { reason: 'gateway.interrupted', retry: 'unknown-outcome' },
    });
    expect((await look).last.result).toEqual(text('seen'));
    expect(upstream.calls.values.map(({ name }) => name)).toEqual(['look', 'slow', 'look']);
    await upstream.answered.untilSome(
      (request) => request.method === 'resources/subscribe' && upstream.requests.indexOf(request) >= asked,
    );
    for (let told = false; !told;) {
      upstream.notify('notifications/resources/updated', { uri: 'up://one' });
      await client.callTool('look');
      told = heard.values.some(({ method }) => method === 'notifications/resources/updated');
    }
  });

  it('a session stays with the adapter whose program keeps state for it, and goes on with another when that is gone', async () => {
    await using stateful = await startGateway('nats', {
      mcpServers: { count: { command: 'node', args: [fixturePath('stdio-server')] } },
    });
    const second = await stateful.startPart('backend');
    const clients = await Promise.all(Array.from({ length: 8 }, () => RawClient.open(stateful.url)));
    await clients[0]?.untilTools((names) => names.includes('count'));
    const count = async (client: RawClient): Promise<readonly [pid: number, count: number]> =>
      JSON.parse(
        ((await client.callTool('count', { of: client.session })).last.result as { content: [{ text: string }] })
          .content[0].text,
      ) as [number, number];
    const pids = new Map<RawClient, number>();
    for (const client of clients) {
      const [pid, first] = await count(client);
      pids.set(client, pid);
      expect([first, await count(client), await count(client)]).toEqual([1, [pid, 2], [pid, 3]]);
    }
    expect(new Set(pids.values()).size).toBe(2);
    await stateful.lose(second);
    for (const client of clients) {
      const [pid, next] = await count(client);
      expect([next, await count(client)]).toEqual([
        pid === pids.get(client) ? 4 : 1,
        [pid, pid === pids.get(client) ? 5 : 2],
      ]);
    }
    for (const client of clients) client[Symbol.dispose]();
  });

  it('a silent adapter gets no more calls, although it is still connected to NATS', async () => {
    await using two = await startGateway('nats', { mcpServers: { up: { url: upstream.url } } });
    const session = two.processes.find((part) => part !== two.edge && part !== two.backend);
    const silent = await two.startPart('backend');
    using client = await RawClient.open(two.url);
    await client.untilTools((names) => names.includes('act'));
    silent.kill('SIGSTOP');
    await session?.line(/backend workers are gone/);
    for (let count = 0; count < 16; count += 1)
      expect((await client.callTool('act')).last.result).toEqual(text('done'));
    await two.lose(silent);
  });

  it('SIGTERM: replicas are replaced one after the other without a failed call', async () => {
    const clients = await Promise.all([0, 1, 2, 3].map(() => RawClient.open(gateway.url)));
    const over = new AbortController();
    let made = 0;
    const failures: unknown[] = [];
    const running = clients.map((client) =>
      repeatedly(over.signal, async () => {
        const { last } = await client.callTool('look');
        made += 1;
        if (last.error !== undefined) failures.push(last.error);
      }),
    );
    for (let round = 0; round < 3; round += 1) {
      const before = made;
      await replaceBackends('SIGTERM');
      await untilTrue(() => made > before + 30);
    }
    over.abort();
    await Promise.all(running);
    expect(failures).toEqual([]);
    for (const client of clients) client[Symbol.dispose]();
  });
});
