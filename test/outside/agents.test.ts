/** Agents from outside: added, rotated, blocked and removed at the admin port, named by rules, and served as themselves. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { base, changeHeader } from '@omnibus/admin-api';
import { StandInIssuer } from '@omnibus/identity/testing';
import { Balancer } from '../support/balancer.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { startGatewayHere, type GatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient } from '../support/modern-client.ts';
import { omnibusProgram, startProcess } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

async function run(...args: readonly string[]): Promise<{ readonly status: number; readonly output: string }> {
  const running = startProcess('node', [omnibusProgram, ...args]);
  const status = await new Promise<number>((resolve) => {
    running.child.once('close', (code) => resolve(code ?? -1));
  });
  return { status, output: running.output() };
}

describe.each(shapesOfLane)('%s', (shape) => {
  let folder: string;
  let upstream: Upstream;
  let front: Balancer;
  let gateway: GatewayHere;
  let admin: string;
  let keys: Keys;
  let cluster: StandInIssuer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'omnibus-agents-'));
    upstream = await Upstream.start({
      tools: [tool('deploy'), tool('read'), tool('wait')],
      onCall: (call) => {
        if (call.name !== 'wait') call.answer(text(`done: ${call.name}`));
      },
    });
    keys = await Keys.make('root');
    cluster = await StandInIssuer.start();
    front = await Balancer.start();
    gateway = await startGatewayHere(shape, {
      publicUrl: front.url,
      prefix: 'never',
      auth: {
        ...keys.auth,
        admin: { roles: { admin: ['key:root'] } },
        server: {
          agents: { file: join(folder, 'agents.yaml') },
          workloads: [{ agent: 'pod', issuer: cluster.issuer, subject: 'system:serviceaccount:ci:*' }],
        },
      },
      access: {
        rules: [
          { id: 'deployers', who: 'agent:deployer', allow: ['up/deploy', 'up/wait'] },
          { id: 'readers', who: 'group:readers', allow: ['up/read'] },
        ],
      },
      mcpServers: { up: { url: upstream.url } },
    });
    front.edges = [gateway.url];
    admin = await gateway.admin(gateway.edge);
    process.env['OMNIBUS_TOKEN'] = String(keys.headersOf('root')['authorization']).slice('Bearer '.length);
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    await front[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
    await keys[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
    delete process.env['OMNIBUS_TOKEN'];
    await rm(folder, { recursive: true });
  });

  const api = async (method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> => {
    const response = await fetch(`http://${admin}${base}${path}`, {
      method,
      headers: { ...keys.headersOf('root'), [changeHeader]: '1', 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { status: response.status, ...((await response.json()) as object) };
  };

  const tokenOf = async (name: string, secret: unknown): Promise<Readonly<Record<string, unknown>>> =>
    (await (
      await fetch(`${front.url}/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: `agent-${name}`,
          client_secret: String(secret),
        }),
      })
    ).json()) as Readonly<Record<string, unknown>>;

  const until = (name: string, secret: unknown): Promise<unknown> =>
    expect.poll(() => tokenOf(name, secret), { timeout: 60_000 }).toHaveProperty('access_token') as Promise<unknown>;

  const bearer = (said: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> => ({
    authorization: `Bearer ${String(said['access_token'])}`,
  });

  it('an agent that the command adds is served by its rules in every revision; a block ends its calls and sessions, and a removal its tokens', async () => {
    const added = await run(
      'agents',
      'add',
      'deployer',
      '--owner',
      'ann',
      '--expires',
      '90d',
      '--admin',
      admin,
      '--json',
    );
    expect(added.status, added.output).toBe(0);
    const { secret } = JSON.parse(added.output) as { readonly secret: string };
    await until('deployer', secret);
    const token = await tokenOf('deployer', secret);
    for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
      using client = await RawClient.open(`${front.url}/mcp`, revision, bearer(token));
      expect(await client.untilTools((names) => names.length > 0)).toEqual(['deploy', 'wait']);
      expect((await client.callTool('deploy')).last.result).toMatchObject(text('done: deploy'));
      expect((await client.callTool('read')).last.error).toBeDefined();
    }
    const modern = new ModernClient(`${front.url}/mcp`);
    expect((await modern.request('tools/list', {}, bearer(token))).last.result).toMatchObject({
      tools: [{ name: 'deploy' }, { name: 'wait' }],
    });
    expect(await api('GET', '/agents')).toMatchObject({
      agents: [
        {
          name: 'deployer',
          client: 'agent-deployer',
          owner: 'ann',
          state: 'valid',
          lastUse: expect.any(String) as string,
        },
      ],
    });

    using waiting = await RawClient.open(`${front.url}/mcp`, '2025-11-25', bearer(token));
    await waiting.untilTools((names) => names.length > 0);
    const open = waiting.callTool('wait');
    await upstream.calls.untilSome(({ name }) => name === 'wait');
    const blocked = await run('agents', 'block', 'deployer', '--because', 'incident 17', '--admin', admin);
    expect(blocked.status, blocked.output).toBe(0);
    expect((await open).last.error).toBeDefined();
    expect((await waiting.callTool('deploy')).status).toBe(403);
    expect(await tokenOf('deployer', secret)).toMatchObject({ error: 'invalid_client' });
    expect(await api('GET', '/agents')).toMatchObject({ agents: [{ state: 'blocked', because: 'incident 17' }] });
    expect(await api('DELETE', '/blocks/user:agent:deployer')).toMatchObject({ status: 200 });
    await until('deployer', secret);

    expect(await api('DELETE', '/agents/deployer')).toEqual({ status: 200, name: 'deployer' });
    await expect
      .poll(async () => (await new RawClient(`${front.url}/mcp`, bearer(token)).initialize('2025-11-25')).status, {
        timeout: 60_000,
      })
      .toBe(401);
  });

  it('a rotated secret may be kept for a while; without that, it and its tokens end', async () => {
    const { secret: first } = await api('POST', '/agents', { name: 'reader', owner: 'bob', groups: ['readers'] });
    await until('reader', first);
    const token = await tokenOf('reader', first);
    using client = await RawClient.open(`${front.url}/mcp`, '2025-11-25', bearer(token));
    expect(await client.untilTools((names) => names.length > 0)).toEqual(['read']);
    const { secret: second } = await api('POST', '/agents/reader', { keepMs: 3_600_000 });
    await until('reader', second);
    expect(await tokenOf('reader', first)).toHaveProperty('access_token');
    expect((await client.callTool('read')).status).toBe(200);
    const { secret: third } = await api('POST', '/agents/reader', {});
    await until('reader', third);
    expect(await tokenOf('reader', first)).toMatchObject({ error: 'invalid_client' });
    expect(await tokenOf('reader', second)).toMatchObject({ error: 'invalid_client' });
    await expect.poll(async () => (await client.callTool('read')).status, { timeout: 60_000 }).toBe(401);
  });

  it('a workload is served as its agent by an assertion of its issuer', async () => {
    expect(await api('POST', '/agents', { name: 'pod', owner: 'bob', groups: ['readers'], isWorkload: true })).toEqual({
      status: 200,
      name: 'pod',
      client: 'agent-pod',
    });
    const tokenFor = async (sub: string): Promise<Readonly<Record<string, unknown>>> =>
      (await (
        await fetch(`${front.url}/token`, {
          method: 'POST',
          body: new URLSearchParams({
            grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
            assertion: await cluster.token({ sub, aud: front.url }, { typ: 'JWT' }),
          }),
        })
      ).json()) as Readonly<Record<string, unknown>>;
    await expect
      .poll(() => tokenFor('system:serviceaccount:ci:builder'), { timeout: 60_000 })
      .toHaveProperty('access_token');
    const token = await tokenFor('system:serviceaccount:ci:builder');
    using client = await RawClient.open(`${front.url}/mcp`, '2025-11-25', bearer(token));
    expect(await client.untilTools((names) => names.length > 0)).toEqual(['read']);
    expect(await tokenFor('system:serviceaccount:web:builder')).toMatchObject({ error: 'invalid_grant' });
    expect(await api('POST', '/agents/pod', {})).toMatchObject({ status: 400 });
  });

  it('wrong requests for agents are refused in words', async () => {
    expect(await api('POST', '/agents/nobody', {})).toMatchObject({ status: 404 });
    expect(await api('DELETE', '/agents/nobody')).toMatchObject({ status: 404 });
    for (const wrong of [
      { name: 'A B', owner: 'ann' },
      { name: 'x', owner: 'ann', expires: '2020-01-01' },
      { name: 'x', owner: 'ann', keys: [{ kty: 'EC', crv: 'P-256', x: 'a', y: 'b' }] },
      { name: 'x' },
    ])
      expect(await api('POST', '/agents', wrong), JSON.stringify(wrong)).toMatchObject({ status: 400 });
  });
});
