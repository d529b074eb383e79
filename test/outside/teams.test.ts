/** Several teams at one gateway: separate data of tenants, limits, usage reports, and blocks. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonShapes } from '@omnibus/cli/json-shapes';
import { formatKeys, newKey } from '@omnibus/identity';
import { saidHere } from '../support/command-here.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const servers = ['ours', 'theirs', 'common'] as const;
const callers = {
  ann: 'acme',
  una: 'umbrella',
  bob: undefined,
  thrifty: undefined,
  ops: undefined,
  looker: 'acme',
  narrow: 'acme',
} as const;
type CallerName = keyof typeof callers;

const run = (...args: readonly string[]) => saidHere(args);

const reasonOf = ({ last }: Answer): unknown => last.error?.data?.['reason'];

describe.each(shapesOfLane)('%s', (shape) => {
  let folder: string;
  let upstreams: ReadonlyMap<string, Upstream>;
  let gateway: GatewayHere;
  let keys: Readonly<Record<CallerName, string>>;
  let admin: string;
  const headersOf = (caller: CallerName): Readonly<Record<string, string>> => ({
    authorization: `Bearer ${keys[caller]}`,
  });
  const at = (endpoint: string): string => `${gateway.url}${endpoint === '' ? '' : `/${endpoint}`}`;
  const asOps = (...args: readonly string[]): ReturnType<typeof run> => run(...args, '--admin', admin);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-teams-'));
    const made = Object.entries(callers).map(([subject, tenant]) => ({
      subject,
      ...newKey({
        subject,
        tenant,
        groups: [`${subject}s`],
        endpoints: undefined,
        expires: undefined,
        note: undefined,
        ...(subject === 'narrow' ? { tools: ['common/act-*', 'theirs'] } : {}),
      }),
    }));
    keys = Object.fromEntries(made.map(({ subject, key }) => [subject, key])) as typeof keys;
    await writeFile(join(folder, 'keys.yaml'), formatKeys(made.map(({ record }) => record)));
    // `wait` is never answered, so its caller has an open call.
    upstreams = new Map(
      await Promise.all(
        servers.map(
          async (name) =>
            [
              name,
              await Upstream.start({
                tools: [tool(`act-${name}`), tool('wait')],
                onCall: (call) => {
                  if (call.name !== 'wait') call.answer(text(`done by ${name}`));
                },
              }),
            ] as const,
        ),
      ),
    );
    const urlOf = (name: string): string => upstreams.get(name)?.url ?? '';
    gateway = await startGatewayHere(shape, {
      prefix: 'always',
      auth: {
        keys: { file: join(folder, 'keys.yaml') },
        admin: { roles: { operator: ['key:ops'], auditor: ['key:ops'] }, tenants: { acme: ['key:looker'] } },
      },
      limits: { rules: [{ id: 'thrift', who: 'key:thrifty', quota: '6/month', because: 'a trial' }] },
      mcpServers: {
        ours: { url: urlOf('ours'), tenants: ['acme'] },
        theirs: { url: urlOf('theirs'), tenants: ['umbrella'] },
        common: { url: urlOf('common') },
      },
      profiles: { team: { tenants: ['acme'] } },
    });
    process.env['OMNIBUS_TOKEN'] = keys.ops;
    const sessions = gateway.processes[shape === 'nats' ? 1 : 0];
    admin = await gateway.admin(sessions as typeof gateway.edge);
  });
  afterAll(async () => {
    delete process.env['OMNIBUS_TOKEN'];
    await gateway[Symbol.asyncDispose]();
    for (const upstream of upstreams.values()) await upstream[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2026-07-28'])(
    'a client of %s finds what belongs to its tenant, and nothing of another one',
    async (revision) => {
      const modern = new ModernClient(gateway.url);
      const open = async (
        caller: CallerName,
      ): Promise<(method: string, params?: Readonly<Record<string, unknown>>) => Promise<Answer>> => {
        if (revision === '2026-07-28') return (method, params) => modern.request(method, params, headersOf(caller));
        const client = await RawClient.open(gateway.url, revision, headersOf(caller));
        return (method, params) => client.request(method, params);
      };
      for (const [caller, own, other] of [
        ['ann', 'ours', 'theirs'],
        ['una', 'theirs', 'ours'],
        ['bob', 'common', 'ours'],
      ] as const) {
        const ask = await open(caller);
        const names = ((await ask('tools/list')).last.result?.['tools'] as { name: string }[]).map(({ name }) => name);
        expect(names.filter((name) => !name.endsWith('__wait'))).toEqual(
          [...new Set([own, 'common'])].map((name) => `${name}__act-${name}`),
        );
        expect((await ask('tools/call', { name: `${own}__act-${own}`, arguments: {} })).last.result).toMatchObject(
          text(`done by ${own}`),
        );
        const [hidden, never] = [
          await ask('tools/call', { name: `${other}__act-${other}`, arguments: {} }),
          await ask('tools/call', { name: 'nobody__act-nobody', arguments: {} }),
        ];
        expect(JSON.stringify(hidden.last.error).replaceAll(other, 'nobody')).toBe(JSON.stringify(never.last.error));
        expect(hidden.status).toBe(never.status);
      }
      modern[Symbol.dispose]();
    },
  );

  it.each(['2025-11-25', '2026-07-28'])(
    'a client of %s with a key for some tools finds those of its tenant, and no other tool',
    async (revision) => {
      const modern = new ModernClient(gateway.url);
      using session =
        revision === '2026-07-28' ? undefined : await RawClient.open(gateway.url, revision, headersOf('narrow'));
      const ask = (method: string, params?: Readonly<Record<string, unknown>>): Promise<Answer> =>
        session?.request(method, params) ?? modern.request(method, params, headersOf('narrow'));
      const call = (name: string): Promise<Answer> => ask('tools/call', { name, arguments: {} });
      expect(((await ask('tools/list')).last.result?.['tools'] as { name: string }[]).map(({ name }) => name)).toEqual([
        'common__act-common',
      ]);
      expect((await call('common__act-common')).last.result).toMatchObject(text('done by common'));
      const never = JSON.stringify((await call('common__none')).last.error);
      expect(JSON.stringify((await call('common__wait')).last.error).replaceAll('wait', 'none')).toBe(never);
      for (const name of ['ours__act-ours', 'theirs__act-theirs'])
        expect(reasonOf(await call(name)), name).toBe('tool.unknown');
      modern[Symbol.dispose]();
    },
  );

  it('an endpoint of another tenant is answered like one that does not exist, to known callers and to unknown ones', async () => {
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    };
    const answers = async (endpoint: string, headers: Readonly<Record<string, string>>): Promise<string> => {
      const [post, get] = [
        await fetch(at(endpoint), {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
          body: JSON.stringify(initialize),
        }),
        await fetch(at(endpoint).replace('/mcp', '/sse'), { headers }),
      ];
      return JSON.stringify([
        post.status,
        await post.text(),
        post.headers.get('www-authenticate')?.replace(endpoint, 'X'),
        get.status,
        await get.text(),
      ]);
    };
    for (const [caller, endpoints] of [
      ['una', ['ours', 'team']],
      ['bob', ['ours', 'theirs', 'team']],
      [undefined, ['ours', 'theirs', 'team']],
    ] as const) {
      const headers = caller === undefined ? {} : headersOf(caller);
      const never = await answers('nobody', headers);
      expect(never).toContain(caller === undefined ? '401' : '404');
      for (const endpoint of endpoints)
        expect(await answers(endpoint, headers), `${endpoint} for ${caller}`).toBe(never);
    }
    using own = await RawClient.open(at('team'), '2025-11-25', headersOf('ann'));
    expect(await own.toolNames()).toContain('ours__act-ours');
  });

  it('an operator of a tenant sees its part of the status, and may do nothing else', async () => {
    const ports = await Promise.all(gateway.processes.map((each) => gateway.admin(each)));
    const ask = async (port: string, path: string): Promise<{ readonly status: number; readonly body: string }> => {
      const response = await fetch(`http://${port}${path}`, { headers: headersOf('looker') });
      return { status: response.status, body: await response.text() };
    };
    const answers = await Promise.all(ports.map((port) => ask(port, '/status')));
    const said = answers.map(({ body }) => body).join('\n');
    expect(answers.map(({ status }) => status)).toEqual(ports.map(() => 200));
    expect(said).toContain('"ours"');
    expect(said).not.toMatch(/theirs|"sessions"/);
    expect((await fetch(`http://${admin}/status`, { headers: headersOf('ann') })).status).toBe(403);
    for (const path of ['/api/v1/keys', '/api/v1/blocks']) expect((await ask(admin, path)).status).toBe(403);
  });

  it('a quota holds over all session workers, says when it resets, and counts only executed calls', async () => {
    if (shape === 'nats') await gateway.startPart('session');
    const modern = new ModernClient(gateway.url);
    const call = (name = 'act-common'): Promise<Answer> =>
      modern.request('tools/call', { name: `common__${name}`, arguments: {} }, headersOf('thrifty'));
    expect(reasonOf(await call('not-there'))).toBe('tool.unknown');
    const answers = await Promise.all(Array.from({ length: 15 }, () => call()));
    expect(answers.filter(({ last }) => last.result !== undefined).length).toBeLessThanOrEqual(6);
    expect(answers.filter(({ last }) => last.result !== undefined).length).toBeGreaterThanOrEqual(4);
    const refused = answers.find(({ last }) => last.error !== undefined);
    expect(refused).toMatchObject({
      status: 200,
      last: { error: { code: -32_603, data: { reason: 'limit.quota', limit: 'thrift' } } },
    });
    expect(refused?.last.error?.message).toMatch(/thrift.*a trial.*try again in/);
    const { retryAfterMs } = refused?.last.error?.data as { readonly retryAfterMs: number };
    expect(retryAfterMs).toBeLessThanOrEqual(31 * 86_400_000);
    expect(
      (await modern.request('tools/call', { name: 'common__act-common', arguments: {} }, headersOf('bob'))).last.result,
    ).toBeDefined();
    modern[Symbol.dispose]();
  });

  it('a blocked caller is cut off at every process, even during a call, until unblocked; others are not affected', async () => {
    const common = upstreams.get('common') as Upstream;
    using bob = await RawClient.open(gateway.url, '2025-11-25', headersOf('bob'));
    using ann = await RawClient.open(gateway.url, '2025-11-25', headersOf('ann'));
    const modern = new ModernClient(gateway.url);
    const connections = async (): Promise<number> =>
      (await fetch(new URL('/connect/connections', gateway.url), { headers: headersOf('bob') })).status;
    expect(await connections()).toBe(200);
    const ended = fetch(gateway.url, {
      headers: { ...headersOf('bob'), accept: 'text/event-stream', 'mcp-session-id': bob.session as string },
    }).then((response) => response.text());
    const before = common.cancelled.values.length;
    const running = [
      bob.callTool('common__wait'),
      modern.request('tools/call', { name: 'common__wait', arguments: {} }, headersOf('bob')),
    ];
    const others = ann.callTool('common__wait');
    await expect.poll(() => common.calls.values.filter(({ name }) => name === 'wait').length).toBe(3);
    expect(await asOps('block', 'user', 'key:bob', '--because', 'a lost laptop')).toMatchObject({
      status: 0,
      output: expect.stringContaining('is blocked') as string,
    });
    for (const answer of await Promise.all(running))
      expect(answer.last.error).toMatchObject({
        message: expect.stringContaining('a lost laptop') as string,
        data: { reason: 'auth.blocked' },
      });
    await expect.poll(() => common.cancelled.values.length).toBe(before + 2);
    await ended;
    await expect.poll(async () => (await bob.request('tools/list')).status).toBe(403);
    expect(await connections()).toBe(403);
    expect((await asOps('blocks')).output).toMatch(/user +key:bob .*a lost laptop/);
    if (shape === 'nats')
      expect((await new RawClient(await gateway.startEdge(), headersOf('bob')).initialize('2025-11-25')).status).toBe(
        403,
      );
    expect(await ann.toolNames()).toContain('common__wait');
    expect(await asOps('unblock', 'user', 'key:bob')).toMatchObject({ status: 0 });
    await expect
      .poll(async () => (await new RawClient(gateway.url, headersOf('bob')).initialize('2025-11-25')).status)
      .toBe(200);
    // Blocks a tool with an open call, for a limited time.
    expect(await asOps('block', 'tool', 'common/wait', '--for', '1h')).toMatchObject({ status: 0 });
    expect((await others).last.error).toMatchObject({ data: { reason: 'call.blocked' } });
    expect(reasonOf(await ann.callTool('common__wait'))).toBe('call.blocked');
    expect((await ann.callTool('common__act-common')).last.result).toBeDefined();
    expect((await asOps('unblock', 'tool', 'common/wait')).status).toBe(0);
    expect(await asOps('unblock', 'tool', 'common/wait')).toMatchObject({
      status: 5,
      output: expect.stringContaining('is not blocked') as string,
    });
    expect([await asOps('block', 'user', 'bob'), await asOps('unblock', 'person', 'bob')]).toMatchObject([
      { status: 64, output: expect.stringContaining('ISSUER|SUBJECT') as string },
      { status: 64 },
    ]);
    modern[Symbol.dispose]();
  });

  it('usage is shown by caller, team and tool, and to each tenant only its own', async () => {
    await expect.poll(async () => (await asOps('usage')).output).toMatch(/omnibus:keys\|ann \(acme\) +\d+/);
    expect((await asOps('usage', '--by', 'team')).output).toMatch(/unas +\d+/);
    expect(
      jsonShapes['usage']?.safeParse(JSON.parse((await asOps('usage', '--by', 'tool', '--json')).output)).data,
    ).toMatchObject({ sums: expect.arrayContaining([expect.objectContaining({ name: 'ours/act-ours' })]) as object[] });
    const own = await (await fetch(`http://${admin}/api/v1/usage`, { headers: headersOf('looker') })).text();
    expect(own).toContain('act-ours');
    expect(own).not.toMatch(/una|bob|theirs/);
  });
});
