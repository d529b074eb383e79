/** The API of the admin port: one test sends every request to a gateway of three processes, and checks each answer against the API document. */
import { request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import {
  base,
  followedLogs,
  operations,
  type CallPage,
  type Calls,
  type Catalogue,
  type Configuration,
  type Failures,
  type FollowedLogs,
  type Logs,
  type Overview,
  type Problem,
  type Processes,
  type ServerPage,
  type Servers,
  type Sessions,
  type Summary,
  type TapEvent,
  type Watched,
} from '@omnibus/admin-api';
import { startGateway, type GatewayUnderTest } from '../support/gateway.ts';
import { fixturePath } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { tool, Upstream } from '../support/upstream.ts';

let upstream: Upstream;
let gateway: GatewayUnderTest;
let client: RawClient;
/** The admin ports of the edge, the session worker and the backend worker. */
let ports: readonly [edge: string, session: string, backend: string];
const config = (): object => ({
  limits: { maxSessions: 77 },
  access: { rules: [{ id: 'all', who: 'everyone', allow: ['*'] }] },
  mcpServers: {
    far: {
      url: `${upstream.url}?token=hunter22`,
      headers: { Authorization: 'Bearer ${TOKEN_OF_TEST:-s3cret-of-far}' },
    },
    near: {
      command: 'sh',
      args: [
        '-c',
        'echo "noisy is here, with $PASSWORD" >&2; exec node "$0"',
        fixturePath('stdio-server'),
        '--api-key',
        'hunter23',
      ],
      env: { PASSWORD: 'hunter24' },
    },
    gone: { url: 'http://127.0.0.1:1/mcp' },
    off: { url: 'http://127.0.0.1:1/mcp', disabled: true },
  },
  profiles: { some: { servers: ['far'], tools: ['far/echo'], rename: { 'far/echo': 'say_again' } } },
});

beforeAll(async () => {
  upstream = await Upstream.start({ tools: [tool('echo'), tool('add')], resources: [{ uri: 'file:///a', name: 'a' }] });
  gateway = await startGateway('nats', config());
  ports = (await Promise.all(
    [gateway.edge, gateway.processes[1] as typeof gateway.edge, gateway.backend].map((each) => gateway.admin(each)),
  )) as unknown as typeof ports;
  client = await RawClient.open(gateway.url);
  await client.request('tools/call', { name: 'far__echo', arguments: { secret: 'of the caller' } });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

async function ask<Answer>(path: string, port = ports[0]): Promise<Answer> {
  const response = await fetch(`http://${port}${base}${path}`);
  const body = await response.text();
  expect(response.status, body).toBe(200);
  expect(response.headers.get('cache-control')).toBe('no-store');
  return JSON.parse(body) as Answer;
}

/** Sends a request with headers that `fetch` does not allow. */
async function raw(
  path: string,
  method: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly headers: IncomingMessage['headers']; readonly problem: Problem }> {
  const [hostname, port] = ports[0].split(':');
  const asked = request({
    hostname,
    port,
    path: `${base}${path}`,
    method,
    setHost: false,
    headers: { host: ports[0], ...headers },
  }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    problem: JSON.parse((await textOf(response)) || '{}') as Problem,
  };
}

it('every answer of three processes matches the OpenAPI document, without other members, and contains no secret', async () => {
  const sessions = await ask<Sessions>('/sessions');
  const given: Readonly<Record<string, string>> = {
    server: 'far',
    serverDefinitions: 'far',
    logs: 'near',
    session: sessions.sessions[0]?.key ?? '',
  };
  const queries: Readonly<Record<string, string>> = { explain: '?who=nobody&what=far/echo', sees: '?who=nobody' };
  // Agents and signing keys need an authorization server; test/outside/agents.test.ts checks their answers. The audit, keys, users, usage and entries of servers are for the roles auditor and admin, which no caller of this machine has without `auth`; there is no vault and no sealing key.
  const asked = Object.entries(operations).filter(
    ([name, { method }]) =>
      method === 'get' &&
      ![
        'watch',
        'tryEvents',
        'call',
        'replay',
        'approval',
        'entry',
        'openapi',
        'audit',
        'auditRecord',
        'auditVerify',
        'keys',
        'users',
        'agents',
        'programs',
        'signingKeys',
        'usage',
        'vault',
        'recovery',
      ].includes(name),
  );
  for (const [name, operation] of asked) {
    const answer = await ask<unknown>(operation.path.replace(/\{\w+\}/, given[name] ?? '') + (queries[name] ?? ''));
    const { answer: shape } = operation as { readonly answer?: { parse(value: unknown): unknown } };
    expect(shape?.parse(answer), name).toEqual(answer);
    expect(JSON.stringify(answer), name).not.toMatch(/hunter2|s3cret-of-far|of the caller/);
  }
  expect(await ask('/openapi.json')).toMatchObject({ openapi: '3.1.0' });
});

it('every process shows all processes, with what each does', async () => {
  for (const port of ports) {
    const { processes, missing } = await ask<Processes>('/processes', port);
    expect(processes.map(({ role }) => role)).toEqual(['edge', 'session', 'backend']);
    expect(missing).toEqual([]);
    expect(processes.filter(({ isThis }) => isThis)).toHaveLength(1);
    expect(new Set(processes.map(({ configuration }) => configuration)).size).toBe(1);
  }
});

it('a server is shown with its state, the reason, advice, and what its program wrote', async () => {
  const { servers } = await ask<Servers>('/servers');
  expect(servers.map(({ name, state, transport }) => [name, state, transport])).toEqual([
    ['far', 'up', 'http'],
    ['near', 'up', 'stdio'],
    ['gone', 'down', 'http'],
    ['off', 'disabled', 'http'],
  ]);
  expect(servers[0]).toMatchObject({ tools: 2, resources: 1, era: 'legacy', rates: { calls: 1, failed: 0 } });
  expect(servers[2]).toMatchObject({
    problem: expect.stringContaining('ECONNREFUSED') as string,
    advice: expect.stringContaining('running') as string,
  });
  const near = await ask<ServerPage>('/servers/near');
  expect(near.lines.map(({ text }) => text).join('\n')).toContain('noisy is here, with [secret]');
  expect(near.command).toEqual(expect.arrayContaining(['sh', fixturePath('stdio-server'), '--api-key', '•••']));
  expect((await ask<ServerPage>('/servers/far')).tools).toMatchObject([{ tool: 'echo', rates: { calls: 1 } }]);
  const { all } = await ask<Summary>('/metrics/summary');
  expect(all).toMatchObject({ calls: 1, failed: 0, p50: expect.any(Number) as number });
});

it('the catalogue of an endpoint shows both names of an entry and why they differ', async () => {
  const all = await ask<Catalogue>('/catalogue?kind=tool');
  expect(all.entries.map(({ name, ownName, renamed }) => [name, ownName, renamed])).toContainEqual([
    'far__echo',
    'echo',
    'prefixed',
  ]);
  expect(all.unreachable).toMatchObject([{ server: 'gone' }]);
  const some = await ask<Catalogue>('/catalogue?endpoint=some&q=SAY');
  expect(some.entries).toMatchObject([
    { name: 'say_again', ownName: 'echo', renamed: 'configured', inputSchema: { type: 'object' } },
  ]);
  expect((await raw('/catalogue?endpoint=nowhere', 'GET', {})).problem).toMatchObject({ reason: 'unknown' });
  expect((await raw('/catalogue?kind=spoon', 'GET', {})).problem).toMatchObject({ reason: 'invalid' });
});

it('the configuration shows where each value comes from', async () => {
  const { values } = await ask<Configuration>('/configuration', ports[2]);
  const of = (path: string): object | undefined => values.find((each) => each.path === path);
  expect(of('limits.maxSessions')).toMatchObject({
    value: 77,
    from: 'file',
    place: expect.stringMatching(/omnibus\.json:1$/) as string,
  });
  expect(of('bus')).toMatchObject({ value: expect.stringMatching(/^nats:\/\/•••@127\.0\.0\.1:\d+$/) as string });
  expect(of('timeouts.call')).toMatchObject({ value: 60_000, from: 'default' });
  expect(of('admin')).toMatchObject({ from: 'option' });
  expect(of('mcpServers.far.headers.Authorization')).toMatchObject({
    value: '•••',
    isSecret: true,
    reference: '${TOKEN_OF_TEST}',
  });
});

it('requests of another page, of another host, without the header for changes, or for an unknown path are refused in words', async () => {
  const reasons = async (
    path: string,
    method: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<readonly [number, string]> => {
    const { status, problem } = await raw(path, method, headers);
    return [status, problem.reason];
  };
  expect(await reasons('/overview', 'GET', { host: 'evil.example' })).toEqual([403, 'host']);
  expect(await reasons('/overview', 'GET', { 'sec-fetch-site': 'cross-site' })).toEqual([403, 'origin']);
  expect(await reasons('/overview', 'GET', { 'sec-fetch-site': 'same-site' })).toEqual([403, 'origin']);
  expect(await reasons('/overview', 'GET', { origin: 'http://127.0.0.1:1' })).toEqual([403, 'origin']);
  expect(await reasons('/overview', 'GET', { origin: 'null' })).toEqual([403, 'origin']);
  expect(await reasons('/servers/far/restart', 'POST', {})).toEqual([403, 'header']);
  expect(
    await reasons('/servers/far/restart', 'POST', { 'x-omnibus-console': '1', 'content-type': 'text/plain' }),
  ).toEqual([403, 'header']);
  expect(await reasons('/servers/far/restart', 'GET', {})).toEqual([405, 'method']);
  expect(await reasons('/servers/none/restart', 'POST', { 'x-omnibus-console': '1' })).toEqual([404, 'unknown']);
  expect(await reasons('/spoons', 'GET', {})).toEqual([404, 'unknown']);
  expect(await reasons('/servers/%zz', 'GET', {})).toEqual([400, 'invalid']);
  const { status, headers } = await raw('/overview', 'GET', {
    origin: `http://${ports[0]}`,
    'sec-fetch-site': 'same-origin',
  });
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-security-policy': expect.stringContaining("frame-ancestors 'none'") as string,
  });
  expect(Object.keys(headers).filter((name) => name.startsWith('access-control') || name === 'set-cookie')).toEqual([]);
});

it('a server is reconnected, and a session ended, in the process that has it, whichever process is asked', async () => {
  const restarted = await fetch(`http://${ports[0]}${base}/servers/near/restart`, {
    method: 'POST',
    headers: { 'x-omnibus-console': '1' },
  });
  expect(await restarted.json()).toMatchObject({ server: 'near', done: 1, of: 1, missing: [] });
  const other = await RawClient.open(gateway.url);
  const { sessions } = await ask<Sessions>('/sessions');
  const [latest] = sessions;
  expect(latest).toMatchObject({
    client: { name: expect.any(String) as string },
    revision: '2025-11-25',
    endpoint: '',
  });
  const ended = await fetch(`http://${ports[2]}${base}/sessions/${latest?.key}`, {
    method: 'DELETE',
    headers: { 'x-omnibus-console': '1' },
  });
  expect(await ended.json()).toEqual({ ended: latest?.key });
  expect((await other.post({ jsonrpc: '2.0', id: 9, method: 'ping' })).status).toBe(404);
});

/** The events of a stream, as they arrive. */
async function follow(
  query: string,
  port = ports[0],
): Promise<{
  readonly events: () => readonly TapEvent[];
  readonly dropped: () => number;
  readonly text: () => string;
  [Symbol.asyncDispose](): Promise<void>;
}> {
  const stop = new AbortController();
  const response = await fetch(`http://${port}${base}/watch?${query}`, { signal: stop.signal });
  expect(response.status).toBe(200);
  let said = '';
  const reading = (async () => {
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>)
      said += Buffer.from(piece).toString();
  })().catch(() => undefined);
  const told = (): readonly Watched[] =>
    [...said.matchAll(/^event: calls\ndata: (.*)$/gm)].map(([, data]) => JSON.parse(data as string) as Watched);
  return {
    text: () => said,
    events: () => told().flatMap(({ events }) => events),
    dropped: () => told().reduce((sum, { dropped }) => sum + dropped, 0),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await reading;
    },
  };
}
const watches = async (): Promise<readonly string[]> =>
  Promise.all(
    ports.map(
      async (port) =>
        /^omnibus_tap_watches (\d+)$/m.exec(await (await fetch(`http://${port}/metrics`)).text())?.[1] ?? '',
    ),
  );

it('edge, session and backend report one call under one tag to the process that watches it, where it can be read afterwards', async () => {
  await using all = await follow('topics=calls', ports[2]);
  await expect.poll(watches).toEqual(['1', '1', '1']);
  await client.request('tools/call', { name: 'far__echo', arguments: { secret: 'of the caller' } });
  await expect
    .poll(() =>
      all
        .events()
        .map(({ from, what }) => `${from} ${what}`)
        .toSorted(),
    )
    .toEqual([
      'backend queued',
      'backend server-answered',
      'backend written',
      'edge answered',
      'edge arrived',
      'session routed',
      'session settled',
    ]);
  const [{ tag } = { tag: '' }] = all.events();
  expect(new Set(all.events().map((event) => event.tag))).toEqual(new Set([tag]));
  expect(all.text()).not.toContain('of the caller');
  const { call, events, inner } = await ask<CallPage>(`/calls/${tag}`, ports[2]);
  expect(call).toMatchObject({
    method: 'tools/call',
    server: 'far',
    tool: 'echo',
    client: 'raw',
    outcome: 'result',
    ms: expect.any(Number) as number,
  });
  expect(call.processes).toHaveLength(3);
  expect(operations.call.answer.parse({ call, events, inner, missing: [] })).toEqual({
    call,
    events,
    inner: [],
    missing: [],
  });
  expect(upstream.calls.values.at(-1)?.meta).not.toHaveProperty('tap');
});

it('a watch ends as soon as its client goes away, and nothing is reported while nobody watches', async () => {
  await expect.poll(watches).toEqual(['0', '0', '0']);
});

it('a filter can use what only routing knows, and calls beyond the rate are counted', async () => {
  await using some = await follow('server=far&tool=add&rate=1');
  await expect.poll(watches).toEqual(['1', '1', '1']);
  await client.request('tools/call', { name: 'far__echo', arguments: {} });
  await Promise.all([1, 2, 3, 4].map(() => client.request('tools/call', { name: 'far__add', arguments: {} })));
  await expect.poll(() => some.dropped()).toBeGreaterThan(0);
  expect(new Set(some.events().flatMap(({ tool: named }) => (named === undefined ? [] : [named])))).toEqual(
    new Set(['add']),
  );
});

it('the lines of a server reach each of its readers once, and those that were there first', async () => {
  const linesIn = (text: string): readonly FollowedLogs[] =>
    [...text.matchAll(/^event: logs\ndata: (.*)$/gm)].map(([, data]) => followedLogs.parse(JSON.parse(data as string)));
  const textsIn = (text: string): readonly string[] =>
    linesIn(text).flatMap(({ lines }) => lines.map((each) => `${each.at} ${each.process} ${each.text}`));
  await using first = await follow('topics=logs&server=near');
  await expect.poll(() => textsIn(first.text()).join('\n')).toContain('noisy is here');
  await using second = await follow('topics=logs&server=near', ports[2]);
  const before = textsIn(first.text()).length;
  await fetch(`http://${ports[1]}${base}/servers/near/restart`, {
    method: 'POST',
    headers: { 'x-omnibus-console': '1' },
  });
  await expect.poll(() => textsIn(first.text()).slice(before).join('\n')).toContain('noisy is here');
  // The server goes on writing while they are compared.
  const whole = async (): Promise<readonly string[]> =>
    (await ask<Logs>('/servers/near/logs')).lines.map((each) => `${each.at} ${each.process} ${each.text}`);
  for (const reader of [first, second])
    await vi.waitFor(
      async () => {
        const lines = await whole();
        expect(textsIn(reader.text()).slice(0, lines.length)).toEqual(lines);
      },
      { timeout: 120_000, interval: 100 },
    );
  expect(linesIn(second.text())[0]?.lines.length).toBeGreaterThan(1);
  expect(first.text()).not.toContain('hunter24');
  expect((await raw('/watch?topics=logs', 'GET', {})).problem).toMatchObject({
    reason: 'invalid',
    advice: 'add server=NAME',
  });
  expect((await raw('/watch?topics=logs&server=nowhere', 'GET', {})).problem).toMatchObject({ reason: 'unknown' });
  expect((await ask<ServerPage>('/servers/near?lines=false')).lines).toEqual([]);
});

it('failed calls are listed although nobody watched, without their arguments', async () => {
  await client.request('tools/call', { name: 'far__none', arguments: { secret: 'of the caller' } });
  const { failures } = await ask<Failures>('/failures', ports[2]);
  expect(failures[0]).toMatchObject({
    method: 'tools/call',
    name: 'far__none',
    outcome: 'fault',
    reason: 'tool.unknown',
    client: 'raw',
  });
  expect(JSON.stringify(failures)).not.toContain('of the caller');
  expect((await ask<Calls>('/calls?outcome=fault')).calls[0]).toMatchObject({ name: 'far__none' });
});

it('arguments are shown only if the configuration permits it, and the number of streams is bounded', async () => {
  expect((await raw('/watch?payload=redacted', 'GET', {})).problem).toMatchObject({ reason: 'mode' });
  expect((await raw('/watch?topics=spoons', 'GET', {})).problem).toMatchObject({ reason: 'invalid' });
  await using _one = await follow('topics=calls');
  await using _two = await follow('topics=calls');
  await using _three = await follow('topics=calls');
  await using _four = await follow('topics=calls');
  expect((await raw('/watch', 'GET', {})).problem).toMatchObject({ reason: 'busy' });
});

it('a refused change of the configuration is a finding until a change is accepted', async () => {
  const found = async (): Promise<readonly string[]> => (await ask<Overview>('/overview')).findings.map(({ id }) => id);
  expect(await found()).toContain('down gone');
  await gateway.configure({ ...config(), lisen: 'x' });
  await expect.poll(found).toContain('rejected');
  expect((await ask<Configuration>('/configuration')).rejected?.problems[0]).toContain('lisen');
  await gateway.configure({
    ...config(),
    access: { default: 'deny', rules: [{ who: 'nobody-at-all', allow: ['*'] }] },
  });
  await expect
    .poll(async () =>
      (await ask<Configuration>('/configuration')).rejected?.difference?.options.map(({ path }) => path),
    )
    .toEqual(['access.rules']);
  await gateway.configure(config());
  await expect.poll(found).not.toContain('rejected');
});

it('state is sent when it changes, and a killed process is shown as missing', async () => {
  const stop = new AbortController();
  const response = await fetch(`http://${ports[0]}${base}/watch?topics=processes`, { signal: stop.signal });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  let said = '';
  const reading = (async () => {
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>)
      said += Buffer.from(piece).toString();
  })().catch(() => undefined);
  await expect.poll(() => said).toContain('"role":"backend"');
  await gateway.lose(gateway.backend);
  await expect.poll(() => said).toMatch(/"missing":\[\{"process":"backend-/);
  expect((await ask<Overview>('/overview')).findings.map(({ id }) => id).join()).toContain('missing backend-');
  stop.abort();
  await reading;
});
