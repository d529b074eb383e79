/** Agents from outside: added, rotated, blocked and removed at the admin port, named by rules, and served as themselves. */
import { generateKeyPairSync, hash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ClientCredentialsProvider,
  Client as ClientTwo,
  DpopSession,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport as TransportTwo,
} from '@modelcontextprotocol/client';
import {
  ClientCredentialsProvider as CredentialsOne,
  PrivateKeyJwtProvider as KeyOne,
} from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeJwt, SignJWT, type JWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { base, changeHeader, operations } from '@omnibus/admin-api';
import { StandInIssuer } from '@omnibus/identity/testing';
import { Balancer } from '../support/balancer.ts';
import { saidHere } from '../support/command-here.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { startGatewayHere, type GatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient } from '../support/modern-client.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const run = (...args: readonly string[]) => saidHere(args);

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
        issuers: [{ issuer: cluster.issuer, tokenType: 'at+jwt' }],
        scopes: ['mcp'],
        server: {
          actors: [{ agent: 'assistant', for: 'group:staff' }],
          agents: { file: join(folder, 'agents.yaml') },
          workloads: [{ agent: 'pod', issuer: cluster.issuer, subject: 'system:serviceaccount:ci:*' }],
        },
      },
      access: {
        rules: [
          { id: 'deployers', who: 'agent:deployer', allow: ['up/deploy', 'up/wait'] },
          { id: 'readers', who: 'group:readers', allow: ['up/read'] },
          { id: 'staff', who: 'group:staff', allow: ['up/read', 'up/deploy', 'up/wait'] },
          { id: 'assistant', who: { group: 'staff', via: 'agent:assistant' }, allow: ['up/read', 'up/wait'] },
        ],
      },
      mcpServers: { up: { url: upstream.url } },
    });
    front.edges = shape === 'embedded' ? [gateway.url] : [gateway.url, await gateway.startEdge()];
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

  /** Resolves when every edge knows the agent: requests go to them in turn. */
  const until = (name: string, secret: unknown): Promise<unknown> =>
    expect
      .poll(async () => [await tokenOf(name, secret), await tokenOf(name, secret)])
      .toEqual(
        [1, 2].map(() => expect.objectContaining({ access_token: expect.any(String) as string }) as object),
      ) as Promise<unknown>;

  /** Resolves when each edge answers with one of these. */
  const untilAll = (ask: () => Promise<unknown>, expected: unknown): Promise<unknown> =>
    expect.poll(async () => [await ask(), await ask()]).toEqual([expected, expected]) as Promise<unknown>;

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
    const { status: _status, ...seen } = await api('GET', '/agents');
    expect(operations.agents.answer.parse(seen)).toEqual(seen);
    expect(JSON.stringify(seen)).not.toMatch(/hash|secrets/);
    expect(seen).toMatchObject({
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
    await untilAll(async () => (await waiting.callTool('deploy')).status, 403);
    await untilAll(async () => (await tokenOf('deployer', secret))['error'], 'invalid_client');
    expect(await api('GET', '/agents')).toMatchObject({ agents: [{ state: 'blocked', because: 'incident 17' }] });
    expect(await api('DELETE', '/blocks/user:agent:deployer')).toMatchObject({ status: 200 });
    await until('deployer', secret);

    expect(await api('DELETE', '/agents/deployer')).toEqual({ status: 200, name: 'deployer' });
    await untilAll(
      async () => (await new RawClient(`${front.url}/mcp`, bearer(token)).initialize('2025-11-25')).status,
      401,
    );
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
    await expect.poll(async () => (await client.callTool('read')).status).toBe(401);
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
    await untilAll(async () => (await tokenFor('system:serviceaccount:ci:builder'))['token_type'], 'Bearer');
    const token = await tokenFor('system:serviceaccount:ci:builder');
    using client = await RawClient.open(`${front.url}/mcp`, '2025-11-25', bearer(token));
    expect(await client.untilTools((names) => names.length > 0)).toEqual(['read']);
    expect(await tokenFor('system:serviceaccount:web:builder')).toMatchObject({ error: 'invalid_grant' });
    expect(await api('POST', '/agents/pod', {})).toMatchObject({ status: 400 });
  });

  it('an agent that acts for a user may do what both may; a block of either ends it, and usage names both', async () => {
    const { secret } = await api('POST', '/agents', { name: 'assistant', owner: 'ann' });
    await until('assistant', secret);
    const user = await cluster.token({ sub: 'carl', aud: `${front.url}/mcp`, scope: 'mcp', groups: ['staff'] });
    const acting = async (): Promise<Readonly<Record<string, unknown>>> =>
      (await (
        await fetch(`${front.url}/token`, {
          method: 'POST',
          body: new URLSearchParams({
            grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
            client_id: 'agent-assistant',
            client_secret: String(secret),
            subject_token: user,
            subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
          }),
        })
      ).json()) as Readonly<Record<string, unknown>>;
    const token = await acting();
    for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
      using client = await RawClient.open(`${front.url}/mcp`, revision, bearer(token));
      expect(await client.untilTools((names) => names.length > 0)).toEqual(['read', 'wait']);
      expect((await client.callTool('read')).last.result).toMatchObject(text('done: read'));
      expect((await client.callTool('deploy')).last.error).toBeDefined();
    }
    const modern = new ModernClient(`${front.url}/mcp`);
    expect((await modern.request('tools/list', {}, bearer(token))).last.result).toMatchObject({
      tools: [{ name: 'read' }, { name: 'wait' }],
    });
    for (const blocked of [`user:${cluster.issuer}|carl`, 'user:agent:assistant']) {
      using waiting = await RawClient.open(`${front.url}/mcp`, '2025-11-25', bearer(token));
      await waiting.untilTools((names) => names.length > 0);
      const open = waiting.callTool('wait');
      await upstream.calls.untilSome(({ name }) => name === 'wait');
      expect(await api('POST', '/blocks', { kind: 'user', name: blocked.slice('user:'.length) })).toMatchObject({
        status: 200,
      });
      expect((await open).last.error).toBeDefined();
      await untilAll(async () => (await waiting.callTool('read')).status, 403);
      await untilAll(async () => (await acting())['access_token'], undefined);
      expect(await api('DELETE', `/blocks/${encodeURIComponent(blocked)}`)).toMatchObject({ status: 200 });
      await untilAll(async () => typeof (await acting())['access_token'], 'string');
    }
    // Session workers write usage from time to time.
    await expect
      .poll(async () => JSON.stringify(await api('GET', '/usage')))
      .toContain(`${cluster.issuer}|carl via agent:assistant`);
  });

  it('a token that is bound to a key is served with a proof for each request, once at all edges, in every revision, on SSE and WebSocket', async () => {
    const { secret } = await api('POST', '/agents', { name: 'bound', owner: 'ann', groups: ['readers'] });
    await until('bound', secret);
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = pair.publicKey.export({ format: 'jwk' }) as JWK;
    const proof = (method: string, address: string, more: object = {}): Promise<string> =>
      new SignJWT({ jti: randomUUID(), htm: method, htu: address, iat: Math.floor(Date.now() / 1_000), ...more })
        .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
        .sign(pair.privateKey);
    const tokenProof = await proof('POST', `${front.url}/token`);
    const tokenWith = async (dpop: string): Promise<Readonly<Record<string, unknown>>> =>
      (await (
        await fetch(`${front.url}/token`, {
          method: 'POST',
          headers: { dpop },
          body: new URLSearchParams({
            grant_type: 'client_credentials',
            client_id: 'agent-bound',
            client_secret: String(secret),
          }),
        })
      ).json()) as Readonly<Record<string, unknown>>;
    const issued = await tokenWith(tokenProof);
    expect(issued).toMatchObject({ token_type: 'DPoP' });
    expect(await tokenWith(tokenProof)).toMatchObject({ error: 'invalid_grant' });
    const token = String(issued['access_token']);
    expect(decodeJwt(token)).toMatchObject({ cnf: { jkt: expect.any(String) as string } });
    const ath = hash('sha256', token, 'base64url');
    const at = `${front.url}/mcp`;
    const withProof = async (method: string, address: string): Promise<Readonly<Record<string, string>>> => ({
      authorization: `DPoP ${token}`,
      dpop: await proof(method, address, { ath }),
    });

    for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
      const client = new RawClient(at);
      const body = (method: string, params: object): object => ({ jsonrpc: '2.0', id: method, method, params });
      const opened = await client.post(
        body('initialize', { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'x', version: '1' } }),
        await withProof('POST', at),
      );
      expect(opened.status, opened.body).toBe(200);
      client.session = opened.session ?? undefined;
      await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' }, await withProof('POST', at));
      const again = await withProof('POST', at);
      const call = body('tools/call', { name: 'read', arguments: {} });
      expect((await client.post(call, again)).last.result).toMatchObject(text('done: read'));
      expect((await client.post(call, again)).last.error?.data?.['reason']).toBe('auth.proof');
      expect((await client.post(call, again)).status).toBe(401);
      expect((await client.post(call, { authorization: `Bearer ${token}` })).status).toBe(401);
      const stream = await fetch(at, {
        headers: {
          accept: 'text/event-stream',
          'mcp-session-id': String(client.session),
          ...(await withProof('GET', at)),
        },
      });
      expect(stream.status).toBe(200);
      await stream.body?.cancel();
    }
    const modern = new ModernClient(at);
    const called = await modern.request('tools/call', { name: 'read', arguments: {} }, await withProof('POST', at));
    expect(called.last.result).toMatchObject(text('done: read'));

    const sse = `${front.url}/sse`;
    const events = await fetch(sse, { headers: { accept: 'text/event-stream', ...(await withProof('GET', sse)) } });
    expect([events.status, (await fetch(sse, { headers: { authorization: `Bearer ${token}` } })).status]).toEqual([
      200, 401,
    ]);
    await events.body?.cancel();

    const late = await fetch(at, {
      method: 'POST',
      headers: { authorization: `DPoP ${token}`, dpop: await proof('POST', at, { ath, iat: 1_700_000_000 }) },
    });
    expect([late.status, late.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringMatching(/^DPoP .*error="use_dpop_nonce"/),
    ]);
    const nonce = late.headers.get('dpop-nonce');
    const timed = await new RawClient(at).post(
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { authorization: `DPoP ${token}`, dpop: await proof('POST', at, { ath, iat: 1_700_000_000, nonce }) },
    );
    expect(timed.status).not.toBe(401);

    const ws = new URL(gateway.url.replace(/^http/, 'ws').replace(/\/mcp$/, '/ws'));
    const socketWith = (headers: Readonly<Record<string, string>>): WebSocket =>
      new WebSocket(ws, { protocols: ['mcp'], headers } as unknown as string[]);
    const socket = socketWith(await withProof('GET', `${front.url}/ws`));
    await once(socket, 'open');
    socket.close();
    const [refused] = await Promise.all([
      once(socketWith({ authorization: `Bearer ${token}` }), 'error'),
      once(socketWith(await withProof('GET', `${front.url}/mcp`)), 'error'),
    ]);
    expect(refused).toBeDefined();
  });

  it('clients of both official SDKs are served as agents with a secret, with a key, and with tokens that are bound to a key', async () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { secret } = await api('POST', '/agents', { name: 'sdk', owner: 'ann', groups: ['readers'] });
    await api('POST', '/agents', {
      name: 'sdk-key',
      owner: 'ann',
      groups: ['readers'],
      keys: [pair.publicKey.export({ format: 'jwk' })],
    });
    // The file was written for the second one after the first one.
    await untilAll(
      async () =>
        (
          (await (
            await fetch(`${front.url}/token`, {
              method: 'POST',
              body: new URLSearchParams({
                grant_type: 'client_credentials',
                client_id: 'agent-sdk-key',
                client_secret: 'x',
              }),
            })
          ).json()) as { readonly error_description?: string }
        ).error_description !== 'client not found',
      true,
    );
    await until('sdk', secret);
    const withSecret = { clientId: 'agent-sdk', clientSecret: String(secret), expectedIssuer: front.url };
    const withKey = {
      clientId: 'agent-sdk-key',
      privateKey: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
      algorithm: 'ES256',
      expectedIssuer: front.url,
    };
    class Bound extends ClientCredentialsProvider {
      readonly #session = DpopSession.create();
      dpop(): Promise<DpopSession> {
        return Promise.resolve(this.#session);
      }
    }
    const at = new URL(`${front.url}/mcp`);
    const bound = new Bound(withSecret);
    const transports = [
      [
        new ClientOne({ name: 'x', version: '1' }),
        new TransportOne(at, { authProvider: new CredentialsOne(withSecret) }),
      ],
      [new ClientOne({ name: 'x', version: '1' }), new TransportOne(at, { authProvider: new KeyOne(withKey) })],
      [
        new ClientTwo({ name: 'x', version: '1' }),
        new TransportTwo(at, { authProvider: new ClientCredentialsProvider(withSecret) }),
      ],
      [
        new ClientTwo({ name: 'x', version: '1' }),
        new TransportTwo(at, { authProvider: new PrivateKeyJwtProvider(withKey) }),
      ],
      [new ClientTwo({ name: 'x', version: '1' }), new TransportTwo(at, { authProvider: bound })],
    ] as const;
    for (const [client, transport] of transports) {
      await client.connect(transport as never);
      expect(await client.callTool({ name: 'read', arguments: {} })).toMatchObject(text('done: read'));
      await client.close();
    }
    expect(bound.tokens()).toMatchObject({ token_type: 'DPoP' });
  });

  it('a rotated signing key ends no token; at once, it ends all of them at every edge', async () => {
    const { secret } = await api('POST', '/agents', { name: 'signed', owner: 'ann', groups: ['readers'] });
    await until('signed', secret);
    const token = await tokenOf('signed', secret);
    using client = await RawClient.open(`${front.url}/mcp`, '2025-11-25', bearer(token));
    const rotated = await run('signing-keys', 'rotate', '--admin', admin, '--json');
    expect(rotated.status, rotated.output).toBe(0);
    expect(JSON.parse(rotated.output)).toMatchObject([{ state: 'next' }, { state: 'signing' }]);
    const again = await run('signing-keys', 'rotate', '--admin', admin);
    expect(again.output).toMatch(/published already, and signs from/);
    await untilAll(async () => (await client.callTool('read')).status, 200);
    const ended = await run('signing-keys', 'rotate', '--at-once', '--admin', admin);
    expect(ended.status, ended.output).toBe(0);
    await untilAll(async () => (await client.callTool('read')).status, 401);
    const listed = await run('signing-keys', 'list', '--admin', admin, '--json');
    expect(JSON.parse(listed.output)).toMatchObject([{ state: 'signing' }]);
    await untilAll(async () => {
      using next = new RawClient(`${front.url}/mcp`, bearer(await tokenOf('signed', secret)));
      return (await next.initialize('2025-11-25')).status;
    }, 200);
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
