/** Parts of messages that are passed on between both sides, in all combinations of eras: progress, limits, unknown members, logs. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { ModernClient } from '../support/modern-client.ts';
import { root } from '../support/processes.ts';
import { SocketClient } from '../support/socket-client.ts';
import { RawClient, type Answer, type Message } from '../support/raw-client.ts';
import { Speaker, type SayArguments } from '../support/speaker.ts';
import { turnable, turnByMinute, turningUntil } from '../support/turned-clock.ts';

const progress = (value: number, more: JsonObject = {}): JsonObject => ({
  method: 'notifications/progress',
  params: { progressToken: '$token', progress: value, ...more },
});
const saidBy = (method: string, { messages }: Answer): (JsonObject | undefined)[] =>
  messages.filter((message) => message.method === method).map(({ params }) => params);
const metaOf = (message: Message | undefined): JsonObject => (message?.params?.['_meta'] ?? {}) as JsonObject;

/** A client of either era that calls tools of either server. */
interface Caller {
  say(
    server: string,
    args: SayArguments,
    meta?: JsonObject,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
}

const servers = ['old', 'new'] as const;

describe('contents of messages', () => {
  const speakers = new Map<string, Speaker>();
  const callers = new Map<string, Caller>();
  let gateway: GatewayUnderTest;
  let client: RawClient;

  const speaker = (name: string): Speaker => speakers.get(name) as Speaker;
  const socketUrl = (): string => gateway.url.replace(/^http(.*)\/mcp$/, 'ws$1/ws');
  const caller = (name: string): Caller => callers.get(name) as Caller;

  beforeAll(async () => {
    for (const name of servers) {
      const custom = (method: string, { level }: JsonObject): JsonObject | undefined =>
        method === 'logging/setLevel' && level !== 'loud' ? {} : undefined;
      speakers.set(
        name,
        await Speaker.start({
          isModern: name === 'new',
          capabilities: { logging: {} },
          ...(name === 'old' ? { custom } : {}),
        }),
      );
    }
    // Two turns of the clock are within the limit, three are not.
    gateway = await startGateway(
      'embedded',
      {
        mcpServers: Object.fromEntries(
          servers.map((name) => [name, { url: speaker(name).url, timeout: '150s', maxTime: '30m' }]),
        ),
      },
      turnable,
    );
    client = await RawClient.open(gateway.url);
    await client.untilTools((names) => names.length === 4);
    const modern = new ModernClient(gateway.url, {});
    callers.set('2025-11-25', {
      say: (server, args, meta, headers) =>
        client.post(
          {
            jsonrpc: '2.0',
            id: 'call',
            method: 'tools/call',
            params: { name: `${server}__say`, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
          },
          headers,
        ),
    });
    callers.set('2026-07-28', {
      say: (server, args, meta, headers) =>
        modern.request(
          'tools/call',
          { name: `${server}__say`, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
          headers,
        ),
    });
  });

  afterAll(async () => {
    client[Symbol.dispose]();
    await gateway[Symbol.asyncDispose]();
    for (const each of speakers.values()) await each[Symbol.asyncDispose]();
  });

  it('the WebSocket client of the documentation works', async () => {
    const page = await readFile(join(root, 'docs/reference/clients.md'), 'utf8');
    const [, example] = /```js\n(.*?)```/s.exec(page) as unknown as [string, string];
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--eval',
      example.replace('ws://127.0.0.1:7300/ws', socketUrl()),
    ]);
    expect(stdout).toContain('old__say');
  });

  it('a client on a WebSocket sends its time limit in _meta', async () => {
    using socket = await SocketClient.open(socketUrl());
    const { error } = await socket.request('tools/call', {
      name: 'old__say',
      arguments: { holds: true },
      _meta: { 'dev.omnibus/timeoutMs': 60 },
    });
    expect(error).toMatchObject({ code: -32_603, data: { reason: 'request.timeout', limitMs: 60 } });
  });

  describe.each(servers)('log messages of the %s server', (server) => {
    const messages = ['debug', 'error'].map((level) => ({
      method: 'notifications/message',
      params: { level, data: 'x' },
    }));
    const levelsOf = (answer: Answer): unknown[] =>
      saidBy('notifications/message', answer).map((params) => params?.['level']);
    const asked = (): unknown => metaOf(speaker(server).latest('tools/call'))['io.modelcontextprotocol/logLevel'];

    it('reach a client of 2025 that set no level, and are filtered by the level for one that did', async () => {
      expect(levelsOf(await caller('2025-11-25').say(server, { messages }))).toEqual(['debug', 'error']);
      expect(asked()).toBe(server === 'new' ? 'debug' : undefined);
      using strict = await RawClient.open(gateway.url);
      await strict.request('logging/setLevel', { level: 'error' });
      expect(levelsOf(await strict.callTool(`${server}__say`, { messages }))).toEqual(['error']);
      expect(asked()).toBe(server === 'new' ? 'error' : undefined);
      await strict.delete();
    });

    it('are not requested for a client of 2026 that wants none', async () => {
      expect(levelsOf(await caller('2026-07-28').say(server, { messages }))).toEqual([]);
      expect(asked()).toBeUndefined();
    });

    it('are not filtered by the level of another session', async () => {
      using loud = await RawClient.open(gateway.url);
      await loud.request('logging/setLevel', { level: 'debug' });
      expect(levelsOf(await loud.callTool(`${server}__say`, { messages }))).toEqual(['debug', 'error']);
      expect(levelsOf(await caller('2025-11-25').say(server, { messages }))).toEqual(
        server === 'new' ? ['debug', 'error'] : ['error'],
      );
      await loud.delete();
    });
  });

  it("the server's answer to a log level at its own endpoint is passed to the client", async () => {
    using only = await RawClient.open(`${gateway.url}/old`);
    expect((await only.request('logging/setLevel', { level: 'loud' })).last.error).toEqual({
      code: -32_601,
      message: 'no logging/setLevel here',
    });
    expect((await only.request('logging/setLevel', { level: 'error' })).last.result).toEqual({});
    using both = await RawClient.open(gateway.url);
    expect((await both.request('logging/setLevel', { level: 'loud' })).last.error).toMatchObject({
      code: -32_602,
      data: { reason: 'params.invalid' },
    });
    await only.delete();
  });

  const pairs = ['2025-11-25', '2026-07-28'].flatMap((era) => servers.map((server) => [era, server] as const));

  describe.each(pairs)('of a client of %s and the %s server', (era, server) => {
    it('progress keeps its _meta and members that no revision defines', async () => {
      const more = { total: 3, message: 'one of three', _meta: { 'example.com/step': { at: 1 } }, etaSeconds: 7 };
      const answer = await caller(era).say(server, { messages: [progress(1, more)] }, { progressToken: 'mine' });
      expect(saidBy('notifications/progress', answer)).toEqual([{ progressToken: 'mine', progress: 1, ...more }]);
    });

    it('progress extends the time of a call although the client asked for none, and is not sent to the client', async () => {
      speaker(server).between = () => turnByMinute(gateway.edge);
      const answer = await caller(era).say(server, {
        messages: [1, 2, 3, 4, 5, 6].map((value) => progress(value)),
        result: { content: [{ type: 'text', text: 'at last' }] },
      });
      speaker(server).between = undefined;
      expect(answer.last.result?.['content']).toEqual([{ type: 'text', text: 'at last' }]);
      expect(saidBy('notifications/progress', answer)).toEqual([]);
      expect(metaOf(speaker(server).latest('tools/call'))['progressToken']).toBeTypeOf('number');
    });

    it.each([
      ['_meta', { 'dev.omnibus/timeoutMs': 20_000, 'example.com/kept': 1 }, {}],
      ['a header', { 'example.com/kept': 1 }, { 'omnibus-timeout-ms': '20000' }],
    ])(
      'a time limit of its own that a client brings in %s ends its call at the server too, which is not told of it',
      async (_where, meta, headers) => {
        const working = Promise.withResolvers<void>();
        speaker(server).between = async () => working.resolve();
        const answer = caller(era).say(server, { holds: true, messages: [progress(1)] }, meta, headers);
        await Promise.race([working.promise, answer]);
        speaker(server).between = undefined;
        const { error } = (await turningUntil(gateway.edge, answer)).last;
        expect(error).toMatchObject({ code: -32_603, data: { reason: 'request.timeout', limitMs: 20_000, server } });
        expect(Object.keys(metaOf(speaker(server).latest('tools/call')))).not.toContain('dev.omnibus/timeoutMs');
        expect(metaOf(speaker(server).latest('tools/call'))['example.com/kept']).toBe(1);
        await (server === 'new'
          ? speaker(server).closed.until(1)
          : speaker(server).heard.untilSome(({ method }) => method === 'notifications/cancelled'));
      },
    );

    it("a time limit beyond the server's is cut to it, and one that is no number of milliseconds is refused", async () => {
      const cut = await turningUntil(
        gateway.edge,
        caller(era).say(server, { holds: true }, { 'dev.omnibus/timeoutMs': 3_600_000 }),
      );
      expect(cut.last.error?.data).toMatchObject({ reason: 'upstream.timeout', limitMs: 150_000 });
      const bad = [0, -1, 1.5, '100', null, {}].map((limit) =>
        caller(era).say(server, {}, { 'dev.omnibus/timeoutMs': limit }),
      );
      const badHeaders = ['soon', '0', '1.5', '100, 200', ''].map((limit) =>
        caller(era).say(server, {}, {}, { 'omnibus-timeout-ms': limit }),
      );
      for (const answer of await Promise.all([...bad, ...badHeaders]))
        expect(answer.last.error).toMatchObject({ code: -32_602, data: { reason: 'params.invalid' } });
      expect(
        (await caller(era).say(server, {}, { 'dev.omnibus/timeoutMs': 50_000 }, { 'omnibus-timeout-ms': '30000' })).last
          .result?.['content'],
      ).toEqual([]);
    });
  });
});
