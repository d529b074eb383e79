/** Reports of running calls: calls from before the watch, progress, questions, rounds, approvals, and their ends; in the page of the API and of the command line. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { base, callOf, type Call, type CallPage, type TapEvent, type Watched } from '@omnibus/admin-api';
import type { JsonObject } from '@omnibus/protocol';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { fixturePath, omnibusProgram, startProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { inHere } from '../support/command-here.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

describe.each(shapesOfLane)('%s', (shape) => {
  let slow: Upstream;
  let gateway: GatewayHere;
  let admin: string;
  let client: RawClient;
  const calls = new AbortController();
  const events: TapEvent[] = [];
  let reading: Promise<unknown> | undefined;

  beforeAll(async () => {
    slow = await Upstream.start({ tools: ['wait', 'pay'].map(tool), onCall: () => undefined });
    gateway = await startGatewayHere(shape, {
      mcpServers: {
        slow: { url: slow.url },
        second: { url: slow.url },
        shop: { command: 'node', args: [fixturePath('shop-server')] },
      },
      profiles: { coder: { servers: ['slow', 'second'], listing: 'code' } },
      access: { default: 'allow', rules: [{ id: 'money', who: 'everyone', ask: ['slow/pay'] }] },
    });
    admin = await gateway.admin(gateway.edge);
    client = await RawClient.open(gateway.url);
    await client.untilTools((names) =>
      ['slow__wait', 'second__wait', 'shop__book'].every((name) => names.includes(name)),
    );
  });
  afterAll(async () => {
    calls.abort();
    await reading;
    await gateway[Symbol.asyncDispose]();
    await slow[Symbol.asyncDispose]();
  });

  const watch = async (): Promise<void> => {
    const response = await fetch(`http://${admin}${base}/watch?topics=calls`, { signal: calls.signal });
    expect(response.status).toBe(200);
    let said = '';
    reading = (async () => {
      for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
        const blocks = `${said}${Buffer.from(piece).toString()}`.split('\n\n');
        said = blocks.pop() ?? '';
        for (const block of blocks) {
          const [, data] = /^event: calls\ndata: (.*)$/m.exec(block) ?? [];
          if (data !== undefined) events.push(...(JSON.parse(data) as Watched).events);
        }
      }
    })().catch(() => undefined);
  };
  /** The newest call of a tool, as it is known now. */
  const seen = (named: string): Partial<Call> => {
    const tag = events.findLast((event) => event['tool'] === named)?.tag;
    return tag === undefined ? {} : callOf(events.filter((event) => event.tag === tag));
  };

  it('a call that runs when somebody begins to watch is shown with its age, then its progress, then its end', async () => {
    const asked = client.request('tools/call', { name: 'slow__wait', arguments: { secret: 'of the caller' } });
    const [call] = await slow.calls.until(1);
    const before = Date.now();
    await watch();
    await expect
      .poll(() => seen('wait'))
      .toMatchObject({ state: 'running', server: 'slow', tool: 'wait', method: 'tools/call' });
    expect(seen('wait').at).toBeLessThanOrEqual(before);
    call?.progress(3, 10);
    await expect.poll(() => seen('wait').progress).toEqual({ done: 3, total: 10 });
    call?.answer(text('done'));
    await asked;
    await expect.poll(() => seen('wait')).toMatchObject({ state: 'ended', outcome: 'result' });
    expect(JSON.stringify(events)).not.toContain('of the caller');
  });

  it('a call whose client answers over two requests waits for it in between, and is one call', async () => {
    using modern = new ModernClient(gateway.url);
    const asked = await modern.call('shop__book', { arguments: { guests: 2 } });
    const { requests, requestState } = required(asked);
    await expect.poll(() => seen('book')).toMatchObject({ state: 'asked', server: 'shop' });
    const inputResponses = Object.fromEntries(
      Object.keys(requests).map((key) => [key, { action: 'accept', content: { day: 'Friday' } }]),
    );
    expect(
      (await modern.call('shop__book', { arguments: { guests: 2 }, inputResponses, requestState })).last.result,
    ).toMatchObject({ content: [{ text: 'booked for Friday' }] });
    await expect.poll(() => seen('book')).toMatchObject({ state: 'ended', outcome: 'result' });
    const tag = events.find((event) => event['tool'] === 'book')?.tag;
    const own = events.filter((event) => event.tag === tag).map(({ what }) => what);
    for (const what of ['arrived', 'routed', 'asked', 'parked', 'client-answered', 'continued', 'settled'])
      expect(own).toContain(what);
    expect(events.find(({ what }) => what === 'joined')).toMatchObject({ call: tag });
  });

  it('a call waits for an approval before it is sent, and is the same call when it is', async () => {
    using modern = new ModernClient(gateway.url);
    const { requests, requestState } = required(await modern.call('slow__pay'));
    await expect.poll(() => seen('pay')).toMatchObject({ state: 'approval', server: 'slow' });
    const inputResponses: JsonObject = Object.fromEntries(
      Object.keys(requests).map((key) => [key, { action: 'accept', content: { approve: true } }]),
    );
    const sent = slow.calls.values.length;
    const paying = modern.call('slow__pay', { inputResponses, requestState });
    (await slow.calls.until(sent + 1)).at(-1)?.answer(text('paid'));
    await paying;
    await expect.poll(() => seen('pay')).toMatchObject({ state: 'ended', outcome: 'result' });
    expect(new Set(events.filter((event) => event['tool'] === 'pay').map(({ tag }) => tag)).size).toBe(1);
  });

  it('a call is made again at the same and at another server; one that has no such tool is named, with those that have it', async () => {
    const { tag = '' } = seen('wait');
    const replay = async (server?: string): Promise<readonly [number, unknown]> => {
      const response = await fetch(
        `http://${admin}${base}/calls/${tag}/replay${server === undefined ? '' : `?server=${server}`}`,
      );
      return [response.status, await response.json()];
    };
    expect(await replay()).toEqual([200, { name: 'slow__wait', endpoint: '', server: 'slow', tool: 'wait' }]);
    expect(await replay('second')).toEqual([
      200,
      { name: 'second__wait', endpoint: '', server: 'second', tool: 'wait' },
    ]);
    expect(await replay('shop')).toEqual([
      404,
      { reason: 'unknown', problem: 'server "shop" offers no tool "wait"', advice: 'these do: slow, second' },
    ]);
    const sent = slow.calls.values.length;
    const words = ['calls', 'replay', tag.slice(0, 12), '--admin', admin, '--url', gateway.url, '--no-input'];
    const [again, without, unknown] = [
      inHere([...words, '--server', 'second', '--args', '{"a":1}']),
      inHere(words),
      inHere([...words, '--server', 'shop']),
    ];
    const call = (await slow.calls.until(sent + 1)).at(-1);
    expect(call?.args).toEqual({ a: 1 });
    call?.answer(text('made again'));
    expect(await again).toMatchObject({ status: 0, stdout: 'made again\n' });
    expect(await without).toMatchObject({
      status: 64,
      stderr: expect.stringContaining('the arguments of this call are not known') as string,
    });
    expect(await unknown).toMatchObject({
      status: 5,
      stderr: expect.stringContaining('these do: slow, second') as string,
    });
  });

  it('a script is shown with its calls, while it runs and afterwards: their states, times and sizes of results', async () => {
    if (reading === undefined) await watch();
    using coder = await RawClient.open(`${gateway.url}/coder`);
    const sent = slow.calls.values.length;
    const code = `await servers.slow.wait({ a: 1 });
      await servers.second.wait({ a: 2 }).catch(() => undefined);
      return 'both';`;
    const asked = coder.request('tools/call', { name: 'run_code', arguments: { code } });
    (await slow.calls.until(sent + 1)).at(-1)?.answer(text('x'.repeat(1_000)));
    const second = (await slow.calls.until(sent + 2)).at(-1);
    const page = async (): Promise<CallPage | undefined> => {
      const tag = events.findLast((event) => event['name'] === 'run_code')?.tag;
      if (tag === undefined) return undefined;
      const response = await fetch(`http://${admin}${base}/calls/${tag}`);
      return response.ok ? ((await response.json()) as CallPage) : undefined;
    };
    await expect.poll(page).toMatchObject({
      call: { name: 'run_code', runs: true, state: 'running' },
      inner: [
        { server: 'slow', outcome: 'result', bytes: expect.any(Number) as number },
        { server: 'second', state: 'running' },
      ],
    });
    second?.answer({ ...text('it is closed'), isError: true });
    await asked;
    await expect.poll(page).toMatchObject({
      call: {
        outcome: 'result',
        state: 'ended',
        bytes: expect.any(Number) as number,
        ms: expect.any(Number) as number,
      },
      inner: [{ outcome: 'result' }, { outcome: 'toolError' }],
    });
    const { call, inner = [] } = (await page()) ?? {};
    expect(inner.map(({ run }) => run)).toEqual([call?.tag, call?.tag]);
    expect(inner[0]?.bytes).toBeGreaterThan(1_000);
    expect(call?.bytes).toBeLessThan(1_000);
    const { stdout, stderr } = await inHere(['calls', 'show', (call?.tag ?? '').slice(0, 12), '--admin', admin]);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/slow\/wait\tresult\t/);
    expect(stdout).toMatch(/second\/wait\ttoolError\t/);
  });

  it('the command line prints a line for each change of what a call does, where that is wanted', async () => {
    await using following = startProcess('node', [
      omnibusProgram,
      'calls',
      '--follow',
      '--running',
      '--tool',
      'wait',
      '--admin',
      admin,
    ]);
    const sent = slow.calls.values.length;
    const asked = client.request('tools/call', { name: 'slow__wait' });
    const call = (await slow.calls.until(sent + 1)).at(-1);
    await following.line(/slow\/wait\trunning\t\d+\.\d s/);
    call?.answer(text('done'));
    await asked;
    await following.line(/slow\/wait\tresult\t/);
  });
});
