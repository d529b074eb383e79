/** The memory that clients use is bounded, for each of them and for all together. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { metricsOf } from '../support/metrics.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { turnable, turnByMinute } from '../support/turned-clock.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const mebibyte = 1024 * 1024;
const answerBytes = 300_000;
/** Long enough that the worker stores the answer for a client that resumes. */
const slowMs = 700;

describe('a gateway that may keep little', () => {
  let upstream: Upstream;
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    upstream = await Upstream.start({
      tools: [tool('large'), tool('echo')],
      resources: [{ uri: 'up://one', name: 'one' }],
      onCall: (call) => {
        if (call.name === 'echo') call.answer(text('echoed'));
        else setTimeout(() => call.answer(text('x'.repeat(answerBytes))), slowMs);
      },
    });
    gateway = await startGateway('embedded', {
      limits: { maxSessions: 60, maxKeptBytes: 2 * mebibyte, maxKeptBytesPerSession: mebibyte },
      mcpServers: { up: { url: upstream.url } },
    });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.includes('large'));
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  const measure = async (name: string): Promise<number> => (await metricsOf(gateway.edge)).get(name) ?? 0;

  const initialize = (capabilities: JsonObject): Promise<Answer> =>
    new RawClient(gateway.url).initialize('2025-11-25', capabilities);

  it('keeps large late answers within its bounds, of one session and of all, and goes on serving', async () => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => RawClient.open(gateway.url)));
    const answers = await Promise.all(
      clients.flatMap((client) => Array.from({ length: 8 }, () => client.callTool('large'))),
    );
    expect(answers.every(({ last }) => JSON.stringify(last.result).length > answerBytes)).toBe(true);
    const kept = await measure('omnibus_kept_bytes');
    expect([kept > mebibyte, kept <= 2 * mebibyte]).toEqual([true, true]);
    for (const bound of ['session', 'process'])
      expect(await measure(`omnibus_kept_streams_dropped_total{bound="${bound}"}`)).toBeGreaterThan(0);
    expect((await (clients[0] as RawClient).callTool('echo')).last.result).toEqual(text('echoed'));
    await Promise.all(clients.map((client) => client.delete()));
    expect(await measure('omnibus_kept_bytes')).toBe(0);
  });

  it('refuses a client that declares megabytes, names the part that is too large, and stores nothing of it', async () => {
    const before = await measure('omnibus_session_bytes');
    for (let count = 0; count < 4; count += 1) {
      const { last, session } = await initialize({ experimental: { padding: 'x'.repeat(2 * mebibyte) } });
      expect([last.error?.code, last.error?.data?.['reason'], session]).toEqual([-32_602, 'params.invalid', null]);
      expect(last.error?.message).toMatch(/params\.capabilities has \d+ bytes/);
    }
    expect(await measure('omnibus_session_bytes')).toBe(before);
    expect((await initialize({ roots: {}, experimental: { some: { thing: 'small' } } })).last.result).toMatchObject({
      protocolVersion: '2025-11-25',
    });
  });

  it('keeps no megabytes of subscriptions for a client', async () => {
    using client = await RawClient.open(gateway.url);
    const outcomes = new Set<unknown>();
    for (let count = 0; count < 20; count += 1)
      outcomes.add(
        (await client.request('resources/subscribe', { uri: `up://${'x'.repeat(10_000)}${count}` })).last.error?.data?.[
          'reason'
        ],
      );
    expect(outcomes).toContain('params.invalid');
    expect(await measure('omnibus_session_bytes')).toBeLessThan(200_000);
    expect((await client.callTool('echo')).last.result).toEqual(text('echoed'));
  });

  it('at the limit, ends sessions that were opened and never used, the oldest first; one in use is never ended', async () => {
    using listening = await RawClient.open(gateway.url);
    await listening.listen();
    using asking = await RawClient.open(gateway.url);
    await asking.request('ping');
    // A client opens many more sessions than allowed, and uses none.
    for (let count = 0; count < 8; count += 1) {
      const statuses = await Promise.all(Array.from({ length: 15 }, async () => (await initialize({})).status));
      expect(statuses).toEqual(statuses.map(() => 200));
    }
    expect(await measure('omnibus_sessions_shed_total{kind="unused"}')).toBeGreaterThan(50);
    using late = await RawClient.open(gateway.url);
    for (const client of [listening, asking, late])
      expect((await client.callTool('echo')).last.result).toEqual(text('echoed'));
  });
});

describe('sessions that were opened and never confirmed', () => {
  it('end sooner than others, and displace no other', async () => {
    await using gateway = await startGateway(
      'embedded',
      { timeouts: { unusedSession: '1m' }, mcpServers: {} },
      turnable,
    );
    using used = new RawClient(gateway.url);
    used.session = (await used.initialize('2025-11-25')).session as string;
    await used.request('ping');
    using confirmed = await RawClient.open(gateway.url);
    const opened = await Promise.all(
      Array.from({ length: 5 }, async () => (await new RawClient(gateway.url).initialize('2025-11-25')).session),
    );
    expect(new Set(opened).size).toBe(5);
    await turnByMinute(gateway.edge);
    await expect.poll(async () => (await metricsOf(gateway.edge)).get('omnibus_sessions_expired_total')).toBe(5);
    // Neither the confirmed session nor the one that is used without a confirmation is removed.
    expect([(await used.request('ping')).status, (await confirmed.request('ping')).status]).toEqual([200, 200]);
  });
});
