/** Callers at one server: questions, messages and state of one of them never reach another, and none can use up the server for the others. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { metricsOf } from '../support/metrics.ts';
import { ModernClient, required } from '../support/modern-client.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient, type Answer, type Message } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const blunt = { command: 'node', args: [fixturePath('blunt-server')] };
const filesystem = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-filesystem/dist/index.js');
const elicit = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Well?', requestedSchema: { type: 'object', properties: {} } },
};

function open(url: string, capabilities: JsonObject): Promise<RawClient> {
  return RawClient.open(url, '2025-11-25', {}, capabilities);
}

const contentOf = ({ last }: Answer): string => (last.result?.['content'] as { text: string }[])[0]?.text ?? '';
const isLog = ({ method }: Message): boolean => method === 'notifications/message';
const wordsOf = ({ params }: Message): string => params?.['data'] as string;
/** Seconds that have passed since. */
const secondsFromNow = (): (() => number) => {
  const began = performance.now();
  return () => (performance.now() - began) / 1_000;
};
const reasonOf = ({ last }: Answer): unknown => last.error?.data?.['reason'];

describe('callers at one server', () => {
  let upstream: Upstream;
  let gateway: GatewayHere;
  let held: { answer: (result: JsonObject) => void }[] = [];

  beforeAll(async () => {
    upstream = await Upstream.start({
      tools: [tool('slow'), tool('echo')],
      onCall: (call) => (call.name === 'slow' ? held.push(call) : call.answer(text(call.session))),
    });
    gateway = await startGatewayHere('embedded', {
      limits: { maxCallerPrograms: 6 },
      mcpServers: {
        web: { url: upstream.url },
        narrow: { url: upstream.url, concurrency: 16, maxWaiting: 32 },
        pipe: blunt,
        small: { ...blunt, maxConnections: 2 },
        files: { command: 'node', args: [filesystem] },
      },
    });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) =>
      ['web__echo', 'narrow__echo', 'pipe__pid', 'small__pid'].every((name) => names.includes(name)),
    );
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  const releaseAll = (): void => {
    for (const call of held) call.answer(text('released'));
    held = [];
  };

  it('a question on a GET stream goes to the session that owns the connection, even if only another session has a call in flight', async () => {
    using one = await open(gateway.url, { elicitation: {} });
    using two = await open(gateway.url, { elicitation: {} });
    const listening = await one.standing();
    const session = contentOf(await one.callTool('web__echo'));
    const other = two.callTool('web__slow');
    await expect.poll(() => held.length).toBe(1);
    await upstream.listening.untilSome((heard) => heard === session);
    upstream.ask(session, 'standing', elicit.method, elicit.params);
    await listening.untilSome(({ method }) => method === 'elicitation/create');
    releaseAll();
    expect((await other).messages).toHaveLength(1);
  });

  it('a question that a server asks after a call without a session is not asked of the client of another call', async () => {
    using client = new ModernClient(gateway.url, { elicitation: {} });
    expect((await client.call('pipe__seed', { arguments: elicit })).status).toBe(200);
    const stream: Message[] = [];
    const holding = client.stream('tools/call', { name: 'pipe__hold', arguments: {} }, (message) => {
      stream.push(message);
      return Promise.resolve();
    });
    const refused = await gateway.backend.line(/nothing tells whose call of server/);
    expect(refused).toBeDefined();
    // After a question that could not be attributed, the server has a connection for each call, and asks its caller.
    const { requests, requestState } = required(await client.call('pipe__ask', { arguments: elicit }));
    const [[key, { method }]] = Object.entries(requests) as unknown as [[string, { readonly method: string }]];
    expect(method).toBe('elicitation/create');
    expect(
      contentOf(
        await client.call('pipe__ask', {
          arguments: elicit,
          requestState,
          inputResponses: { [key]: { action: 'decline' } },
        }),
      ),
    ).toContain('decline');
    expect(stream).toEqual([]);
    client[Symbol.dispose]();
    await holding.catch(() => undefined);
  });

  it('a client without a session never gets the roots of another, with the official filesystem server', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-roots-'));
    const folders = await Promise.all(
      ['one', 'two'].map(async (name) => {
        const path = join(folder, name);
        await mkdir(path);
        await writeFile(join(path, 'secret.txt'), `secret of ${name}`);
        return path;
      }),
    );
    const read = async (own: string, wanted: string): Promise<Answer> => {
      using client = new ModernClient(gateway.url, { roots: {} });
      const params = { name: 'files__read_text_file', arguments: { path: join(wanted, 'secret.txt') } };
      const first = await client.request('tools/call', params);
      const { requests, requestState } = required(first);
      const [[key, { method }]] = Object.entries(requests) as unknown as [[string, { readonly method: string }]];
      expect(method).toBe('roots/list');
      return await client.request('tools/call', {
        ...params,
        requestState,
        inputResponses: { [key]: { roots: [{ uri: pathToFileURL(own).href, name: 'own' }] } },
      });
    };
    const [one, two] = folders as [string, string];
    expect(contentOf(await read(one, one))).toContain('secret of one');
    expect(contentOf(await read(two, one))).toContain('Access denied');
    expect(contentOf(await read(two, two))).toContain('secret of two');
    await rm(folder, { recursive: true });
  });

  it("a log message that names no request, from a server that two sessions use, reaches neither of them, but the gateway's log", async () => {
    using one = await RawClient.open(gateway.url);
    using two = await RawClient.open(gateway.url);
    const standing = await Promise.all(
      [one, two].map(async (client) => {
        await client.request('logging/setLevel', { level: 'debug' });
        return client.standing();
      }),
    );
    const waiting = one.callTool('pipe__hold');
    const shouted = await two.callTool('pipe__shout', { words: 'card number of two' });
    await gateway.backend.line(/card number of two/);
    await two.callTool('pipe__release');
    expect(
      [...shouted.messages, ...(await waiting).messages, ...standing.flatMap(({ values }) => [...values])].filter(
        ({ method }) => method === 'notifications/message',
      ),
    ).toEqual([]);
  });

  it('the log messages of a call that runs alone at a shared program reach its client, though sessions take turns', async () => {
    using one = await RawClient.open(gateway.url);
    using two = await RawClient.open(gateway.url);
    const standing = await Promise.all([one.standing(), two.standing()]);
    const heard: string[][] = [];
    for (const [client, words] of [
      [one, 'a1'],
      [two, 'b1'],
      [one, 'a2'],
      [two, 'b2'],
    ] as const) {
      const { messages } = await client.callTool('pipe__shout', { words, times: 8 });
      heard.push(messages.filter(isLog).map(wordsOf));
    }
    expect(heard).toEqual(['a1', 'b1', 'a2', 'b2'].map((words) => Array.from({ length: 8 }, () => words)));
    expect(standing.flatMap(({ values }) => values.filter(isLog))).toEqual([]);
  });

  it("a connection of a session's own passes its log messages to that session", async () => {
    using one = await open(gateway.url, { sampling: {} });
    await one.request('logging/setLevel', { level: 'debug' });
    const { messages } = await one.callTool('pipe__shout', { words: 'for me' });
    expect(
      messages.filter(({ method }) => method === 'notifications/message').map(({ params }) => params?.['data']),
    ).toEqual(['for me']);
  });

  it('two sessions with more calls than a server accepts leave room for a third', async () => {
    const clients = await Promise.all([0, 1, 2].map(() => RawClient.open(gateway.url)));
    const [one, two, three] = clients as [RawClient, RawClient, RawClient];
    const flood = [one, two].flatMap((client) =>
      Array.from({ length: 40 }, (_, index) => client.callTool('narrow__slow', {}, undefined, index + 10)),
    );
    const refused = await Promise.race(flood);
    expect(reasonOf(refused)).toBe('upstream.busy');
    expect((await three.callTool('narrow__echo')).last.result).toBeDefined();
    let isOver = false;
    void Promise.all(flood).then(() => {
      isOver = true;
    });
    await expect
      .poll(() => {
        releaseAll();
        return isOver;
      })
      .toBe(true);
    for (const client of clients) client[Symbol.dispose]();
  });

  it('programs of single callers are bounded per server and in total; an idle one is closed before a caller is refused', async () => {
    const clients = await Promise.all(Array.from({ length: 3 }, () => open(gateway.url, { sampling: {} })));
    const [one, two, three] = clients as [RawClient, RawClient, RawClient];
    const pid = contentOf(await one.callTool('small__pid'));
    expect(contentOf(await two.callTool('small__pid'))).not.toBe(pid);
    expect(contentOf(await three.callTool('small__pid'))).not.toBe(pid);
    await expect.poll(() => isAlive(Number(pid))).toBe(false);
    const busy = [two, three].map((client) => client.callTool('small__hold'));
    await expect
      .poll(async () => (await metricsOf(gateway.backend)).get('omnibus_upstream_in_flight_calls{server="small"}'))
      .toBe(2);
    const refused = await one.callTool('small__pid');
    expect(reasonOf(refused)).toBe('upstream.connections');
    expect(refused.last.error?.message).toContain('maxConnections (2)');
    for (const client of [two, three]) await client.callTool('small__release');
    await Promise.all(busy);
    const more = await Promise.all(Array.from({ length: 6 }, () => open(gateway.url, { sampling: {} })));
    const holding = more.map((client) => client.callTool('pipe__hold'));
    await expect
      .poll(async () => (await metricsOf(gateway.backend)).get('omnibus_upstream_in_flight_calls{server="pipe"}'))
      .toBe(6);
    const over = await one.callTool('small__pid');
    expect(over.last.error?.message).toContain('limits.maxCallerPrograms (6)');
    for (const client of more) await client.callTool('pipe__release');
    await Promise.all(holding);
    for (const client of [...clients, ...more]) await client.delete();
    await expect.poll(async () => (await metricsOf(gateway.backend)).get('omnibus_caller_programs')).toBe(0);
  });

  it('a session that ends while its connection is being opened leaves no program behind', async () => {
    const before = await childrenOf(process.pid);
    const client = await open(gateway.url, { sampling: {} });
    const call = client.callTool('pipe__hold').catch(() => undefined);
    await expect.poll(async () => (await metricsOf(gateway.backend)).get('omnibus_caller_programs')).toBe(1);
    await client.delete();
    await call;
    await expect.poll(async () => (await metricsOf(gateway.backend)).get('omnibus_caller_programs')).toBe(0);
    await expect.poll(() => childrenOf(process.pid)).toBeLessThanOrEqual(before);
  });

  it('a server that constantly announces changed lists gets requests for them at intervals', async () => {
    using client = await RawClient.open(gateway.url);
    const before = Number(contentOf(await client.callTool('pipe__lists')));
    const seconds = secondsFromNow();
    for (let storm = 0; storm < 3; storm += 1) await client.callTool('pipe__change', { times: 4_000 });
    await expect.poll(async () => Number(contentOf(await client.callTool('pipe__lists')))).toBeGreaterThan(before);
    // One each 250 ms.
    expect(Number(contentOf(await client.callTool('pipe__lists'))) - before).toBeLessThan(20 + 4 * seconds());
  });

  it('updates of a constantly changing resource are sent at intervals, the last one after its last change', async () => {
    using client = await RawClient.open(gateway.url);
    const heard = await client.standing();
    const updates = (): number =>
      heard.values.filter(({ method }) => method === 'notifications/resources/updated').length;
    await client.request('resources/subscribe', { uri: 'blunt://one' });
    const seconds = secondsFromNow();
    await client.callTool('pipe__update', { uri: 'blunt://one', times: 3_000 });
    await expect.poll(updates).toBeGreaterThan(1);
    // One each 200 ms.
    expect(updates()).toBeLessThan(100 + 5 * seconds());
  });

  it('tens of thousands of log messages are bounded, and those left out are counted', async () => {
    using client = await open(gateway.url, { sampling: {} });
    await client.request('logging/setLevel', { level: 'debug' });
    const seconds = secondsFromNow();
    const { messages } = await client.callTool('pipe__shout', { words: 'x', times: 20_000 });
    expect(messages.length).toBeGreaterThan(500);
    // 1,000 at once, and 1,000 each second: a slow machine lets more pass.
    expect(messages.length).toBeLessThanOrEqual(1_001 + 1_000 * seconds());
    const left = (await metricsOf(gateway.backend)).get('omnibus_dropped_messages_total{reason="log_storm"}') ?? 0;
    expect(left + messages.length).toBeGreaterThanOrEqual(20_000);
  });

  it('a question with an address that would run something is refused, and no user sees it', async () => {
    using client = await open(gateway.url, { elicitation: { url: {} } });
    const { messages, last } = await client.callTool('pipe__ask', {
      method: 'elicitation/create',
      params: { mode: 'url', elicitationId: 'e', message: 'Open', url: 'javascript:alert(1)' },
    });
    expect(messages).toHaveLength(1);
    expect(JSON.stringify(last.result)).toContain('must be https');
  });
});

/** Number of child processes of a process. */
async function childrenOf(pid: number): Promise<number> {
  return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').length;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it('the log messages of one user at a shared program reach all sessions of that user, and no other user', async () => {
  await using keys = await Keys.make('ann', 'bob');
  await using gateway = await startGatewayHere('embedded', { auth: keys.auth, mcpServers: { pipe: blunt } });
  const openAs = (subject: string): Promise<RawClient> =>
    RawClient.open(gateway.url, '2025-11-25', keys.headersOf(subject));
  using ann1 = await openAs('ann');
  using ann2 = await openAs('ann');
  using bob = await openAs('bob');
  const clients = [ann1, ann2, bob];
  await ann1.untilTools((names) => names.includes('shout'));
  const standing = await Promise.all(clients.map((client) => client.standing()));
  const held = clients.map((client) => client.callTool('hold'));
  await expect
    .poll(async () => (await metricsOf(gateway.backend)).get('omnibus_upstream_in_flight_calls{server="pipe"}'))
    .toBe(3);
  const shouted = await Promise.all([
    ann2.callTool('shout', { words: 'of ann', times: 3 }),
    bob.callTool('shout', { words: 'of bob', times: 3 }),
  ]);
  await expect
    .poll(() => standing.map(({ values }) => values.filter(isLog).map(wordsOf)))
    .toEqual(['of ann', 'of ann', 'of bob'].map((words) => [words, words, words]));
  await Promise.all([ann1.callTool('release'), bob.callTool('release')]);
  expect([...(await Promise.all(held)), ...shouted].flatMap(({ messages }) => messages.filter(isLog))).toEqual([]);
});
