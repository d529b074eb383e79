/** Servers that accept connections but do not work properly. */
import { describe, expect, it } from 'vitest';
import { shapesOfLane, startGateway } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { metricsOf } from '../support/metrics.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream, type Call } from '../support/upstream.ts';
import { turnable, turningUntil } from '../support/turned-clock.ts';

describe.each(shapesOfLane)('a server that is not well, %s', (shape) => {
  it('is taken out of use when five requests in a row and a ping fail, and calls are refused without reaching it, while its lists stay', async () => {
    await using upstream = await Upstream.start({
      onCall: (call) => call.drop(),
      refusesRequest: ({ method }) => (method === 'ping' ? 500 : undefined),
    });
    await using gateway = await startGatewayHere(shape, {
      mcpServers: { broken: { url: upstream.url, restart: { minDelay: '1h', maxDelay: '1h' } } },
    });
    using client = await RawClient.open(gateway.url);
    for (let count = 0; count < 5; count += 1)
      expect((await client.callTool('echo')).last.error).toMatchObject({ data: { reason: 'upstream.lost' } });
    await gateway.backend.line(/"problem":"5 requests in a row failed/);
    const { error } = (await client.callTool('echo')).last;
    expect(error).toMatchObject({ data: { reason: 'upstream.unavailable', retry: 'same', server: 'broken' } });
    expect(error?.message).toContain('5 requests in a row failed');
    expect(upstream.calls.values).toHaveLength(5);
    expect(await client.toolNames()).toEqual(['echo']);
    const metrics = await metricsOf(gateway.backend);
    expect(metrics.get('omnibus_upstream_circuit_openings_total{server="broken",cause="faults"}')).toBe(1);
    expect(metrics.get('omnibus_upstream_state{server="broken",state="backoff"}')).toBe(1);
  });

  it('goes on with the call that it works on, with its progress, while it is out of use for others that fail', async () => {
    const begun = Promise.withResolvers<Call>();
    await using upstream = await Upstream.start({
      tools: [tool('slow'), tool('bad'), tool('echo')],
      refuses: (name) => ({ bad: 500 })[name],
      refusesRequest: ({ method }) => (method === 'ping' ? 500 : undefined),
      onCall: (call) => begun.resolve(call),
    });
    await using gateway = await startGatewayHere(shape, {
      mcpServers: { up: { url: upstream.url, restart: { minDelay: '1h', maxDelay: '1h' } } },
    });
    using client = await RawClient.open(gateway.url);
    const slow = client.callTool('slow', {}, { progressToken: 'p' });
    const call = await begun.promise;
    for (let count = 0; count < 5; count += 1)
      expect((await client.callTool('bad')).last.error).toMatchObject({ data: { httpStatus: 500 } });
    await gateway.backend.line(/"problem":"5 requests in a row failed/);
    expect((await client.callTool('echo')).last.error).toMatchObject({ data: { reason: 'upstream.unavailable' } });
    call.progress(1);
    call.answer(text('well'));
    const { last, messages } = await slow;
    expect(last.result).toEqual(text('well'));
    expect(messages).toContainEqual(expect.objectContaining({ method: 'notifications/progress' }));
  });

  it('is reconnected when it answers nothing any more, not even a ping', async () => {
    let isHung = true;
    await using upstream = await Upstream.start({
      onCall: (call) => (isHung ? undefined : call.answer(text('well'))),
      ignores: ({ method }) => method === 'ping',
    });
    await using gateway = await startGatewayHere(shape, {
      mcpServers: {
        hung: {
          url: upstream.url,
          timeout: '1s',
          connectTimeout: '1s',
          restart: { minDelay: '50ms', maxDelay: '100ms' },
        },
      },
    });
    using client = await RawClient.open(gateway.url);
    const sessions = upstream.initialized.values.length;
    const calls = Array.from({ length: 5 }, () => client.callTool('echo'));
    for (const { last } of await Promise.all(calls))
      expect(last.error).toMatchObject({ data: { reason: 'upstream.timeout' } });
    await upstream.initialized.until(sessions + 1);
    isHung = false;
    await expect.poll(async () => (await client.callTool('echo')).last.result).toEqual(text('well'));
    expect(
      (await metricsOf(gateway.backend)).get('omnibus_upstream_circuit_openings_total{server="hung",cause="silence"}'),
    ).toBeGreaterThanOrEqual(1);
  });
});

it('a program that hangs is stopped and started again', async () => {
  await using gateway = await startGateway(
    'embedded',
    {
      mcpServers: {
        program: {
          command: 'node',
          args: [fixturePath('stdio-server')],
          restart: { minDelay: '50ms', maxDelay: '100ms' },
        },
      },
    },
    turnable,
  );
  using client = await RawClient.open(gateway.url);
  /** Undefined while the program is not there. */
  const pidOf = async (): Promise<number | undefined> => {
    const { last } = await client.callTool('pid');
    const content = last.result?.['content'] as { text: string }[] | undefined;
    return content === undefined ? undefined : Number(content[0]?.text);
  };
  await expect.poll(pidOf).toBeGreaterThan(0);
  const pid = (await pidOf()) as number;
  process.kill(pid, 'SIGSTOP');
  const calls = Promise.all(Array.from({ length: 5 }, () => client.callTool('echo')));
  await turningUntil(gateway.edge, calls);
  await turningUntil(gateway.edge, gateway.backend.line(/"problem":"5 requests in a row were not answered in time/));
  await expect.poll(pidOf).toBeGreaterThan(0);
  expect(await pidOf()).not.toBe(pid);
});

it('a tool that takes too long does not make its server unavailable, since the server answers a ping', async () => {
  await using upstream = await Upstream.start({
    tools: [tool('slow'), tool('echo')],
    onCall: (call) => (call.name === 'slow' ? undefined : call.answer(text('well'))),
  });
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { up: { url: upstream.url, tools: { slow: { timeout: '100ms' } } } },
  });
  using client = await RawClient.open(gateway.url);
  await Promise.all(Array.from({ length: 5 }, () => client.callTool('slow')));
  await upstream.answered.untilSome(({ method }) => method === 'ping');
  expect((await client.callTool('echo')).last.result).toEqual(text('well'));
  expect(upstream.initialized.values).toHaveLength(1);
});

it('one bad tool does not make its server unavailable, however it fails; refused credentials do, if the server refuses a ping too', async () => {
  let isSignedOut = false;
  await using upstream = await Upstream.start({
    tools: [tool('bad'), tool('broken'), tool('secret'), tool('echo')],
    refuses: (name) => ({ bad: 400, broken: 500, secret: 401 })[name],
    refusesRequest: () => (isSignedOut ? 401 : undefined),
    onCall: (call) => call.answer(text('well')),
  });
  await using gateway = await startGatewayHere('embedded', {
    mcpServers: { up: { url: upstream.url, restart: { minDelay: '1h', maxDelay: '1h' } } },
  });
  using client = await RawClient.open(gateway.url);
  for (let count = 0; count < 10; count += 1)
    expect((await client.callTool('bad')).last.error).toMatchObject({
      data: { reason: 'upstream.refused', httpStatus: 400 },
    });
  expect((await client.callTool('echo')).last.result).toEqual(text('well'));
  for (let count = 0; count < 5; count += 1) {
    for (const [name, httpStatus] of [
      ['broken', 500],
      ['secret', 401],
    ] as const)
      expect((await client.callTool(name)).last.error).toMatchObject({
        data: { reason: 'upstream.refused', httpStatus },
      });
    expect((await client.callTool('echo')).last.result).toEqual(text('well'));
  }
  for (let count = 0; count < 5; count += 1) await client.callTool('broken');
  await upstream.answered.untilSome(({ method }) => method === 'ping');
  expect((await client.callTool('echo')).last.result).toEqual(text('well'));
  isSignedOut = true;
  for (let count = 0; count < 5; count += 1)
    expect((await client.callTool('secret')).last.error).toMatchObject({
      data: { reason: 'upstream.refused', httpStatus: 401 },
    });
  await gateway.backend.line(/"problem":"5 requests in a row failed/);
  expect((await client.callTool('echo')).last.error?.message).toContain('401');
});
