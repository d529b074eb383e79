/**
 * Authorization at the admin port: by the usual authentication of callers, with roles; by the sealing key as a last resort; and by being on the machine
 * where nothing is configured.
 */
import { Agent, request as secureRequest } from 'node:https';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, formatUsers, leastCost } from '@omnibus/authorization';
import { Authority } from '@omnibus/bus/testing';
import { formatKeys, newKey } from '@omnibus/identity';
import { Balancer } from '../support/balancer.ts';
import { saidHere } from '../support/command-here.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { sealing } from '../support/processes.ts';
import { RawClient } from '../support/raw-client.ts';
import { Browser, OAuthClient, type Tokens } from '../support/sign-in.ts';
import { inPipe } from '../support/terminal.ts';
import { Upstream } from '../support/upstream.ts';

const password = 'correct horse battery staple';

let folder: string;
let keysFile: string;
let upstream: Upstream;
let front: Balancer;
let gateway: GatewayHere;
let config: Readonly<Record<string, unknown>>;
/** A key of a caller with each role. */
let keys: Readonly<Record<'viewer' | 'operator' | 'auditor' | 'admin' | 'nobody', string>>;
/** The admin ports of the edge, the session worker and the backend worker. */
let ports: readonly [edge: string, session: string, backend: string];

function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  input = '',
): Promise<{ readonly status: number; readonly output: string }> {
  return saidHere(args, { env: environment, stdin: input });
}

interface Said {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function ask(admin: string, path: string, token?: string, method = 'GET', body?: object): Promise<Said> {
  const response = await fetch(`http://${admin}${path}`, {
    method,
    body: body === undefined ? null : JSON.stringify(body),
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(method === 'GET' ? {} : { 'content-type': 'application/json', 'x-omnibus-console': '1' }),
    },
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const adminsOf = (roles: object): object => ({
  ...config,
  auth: { ...(config['auth'] as object), admin: { roles, metrics: 'viewer' } },
});
const roles = {
  viewer: ['group:people', 'key:viewer'],
  operator: ['key:operator'],
  auditor: ['key:auditor'],
  admin: ['key:admin'],
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-admin-'));
  keysFile = join(folder, 'keys.yaml');
  const usersFile = join(folder, 'users.yaml');
  const made = ['viewer', 'operator', 'auditor', 'admin', 'nobody'].map((subject) => ({
    subject,
    ...newKey({ subject, groups: [], endpoints: undefined, expires: undefined, note: undefined }),
  }));
  keys = Object.fromEntries(made.map(({ subject, key }) => [subject, key])) as typeof keys;
  await writeFile(keysFile, formatKeys(made.map(({ record }) => record)));
  await writeFile(
    usersFile,
    formatUsers([{ name: 'ann', password: await digestOf(password, leastCost), groups: ['people'] }]),
  );
  upstream = await Upstream.start();
  front = await Balancer.start();
  config = {
    publicUrl: front.url,
    auth: { keys: { file: keysFile }, server: { users: { file: usersFile } } },
    mcpServers: { up: { url: upstream.url } },
  };
  gateway = await startGatewayHere('nats', adminsOf(roles));
  front.edges = [gateway.url];
  const [backend, session] = gateway.processes;
  ports = await Promise.all([
    gateway.admin(gateway.edge),
    gateway.admin(session as typeof gateway.edge),
    gateway.admin(backend as typeof gateway.edge),
  ]);
});

afterAll(async () => {
  for (const each of [gateway, front, upstream]) await each[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

it('every process authenticates callers of its admin port, and each role has only its own rights; health needs no authentication', async () => {
  for (const port of ports) {
    for (const path of ['/healthz', '/readyz']) expect((await ask(port, path)).status).toBe(200);
    for (const path of ['/status', '/metrics', '/api/v1/whoami', '/api/v1/keys'])
      expect((await ask(port, path)).status).toBe(401);
    expect((await ask(port, '/status', 'omk_nobody_x')).status).toBe(401);
    expect(await ask(port, '/status', keys.nobody)).toMatchObject({
      status: 403,
      text: expect.stringContaining('no role') as string,
    });
    for (const path of ['/status', '/metrics', '/api/v1/whoami'])
      expect((await ask(port, path, keys.viewer)).status).toBe(200);
  }
  const [edge] = ports;
  const table = {
    'GET /api/v1/keys': ['auditor', 'admin'],
    'GET /api/v1/users': ['auditor', 'admin'],
    'POST /api/v1/reload': ['operator', 'admin'],
    'POST /api/v1/keys': ['admin'],
    'DELETE /api/v1/keys/x': ['admin'],
    'POST /api/v1/users': ['admin'],
    'DELETE /api/v1/users/x': ['admin'],
  };
  for (const [line, permitted] of Object.entries(table)) {
    const [method = '', path = ''] = line.split(' ');
    for (const role of ['viewer', 'operator', 'auditor', 'admin', 'nobody'] as const) {
      const { status } = await ask(edge, path, keys[role], method, method === 'POST' ? {} : undefined);
      if (permitted.includes(role)) expect(status, `${line} by ${role}`).not.toBe(403);
      else expect(status, `${line} by ${role}`).toBe(403);
    }
  }
  const { text: words, headers } = await ask(edge, '/status');
  expect(words).toMatch(/auth\.admin\.roles.*Authorization: Bearer.*omnibus recover/);
  expect(headers.get('www-authenticate')).toContain(
    `resource_metadata="${front.url}/.well-known/oauth-protected-resource/mcp"`,
  );
  expect((await ask(edge, '/api/v1/keys', keys.admin)).text).not.toMatch(/hash|omk_/);
  expect((await ask(edge, '/api/v1/users', keys.admin)).text).not.toContain('scrypt');
});

it('a signed-in user has a role by a group with a token for the admin scope; the token of a client gives no role', async () => {
  const client = await OAuthClient.register(front.url);
  const plain = await client.signIn(new Browser(), 'ann', password);
  const more = await client.signIn(new Browser(), 'ann', password, { scope: 'mcp mcp:admin' });
  const scopeOf = ({ access_token: token }: Tokens): unknown =>
    (JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as { readonly scope?: unknown })
      .scope;
  expect([scopeOf(plain), scopeOf(more)]).toEqual(['mcp', 'mcp mcp:admin']);
  const browser = new Browser();
  const consent = await browser.submit(
    await browser.open((await OAuthClient.register(front.url)).authorizeUrl({ scope: 'mcp:admin' })),
    '/login',
    { name: 'ann', password },
  );
  expect(consent.text).toContain('administer the gateway');
  for (const port of ports) {
    expect(await ask(port, '/status', plain.access_token)).toMatchObject({
      status: 403,
      text: expect.stringContaining('--scope mcp:admin') as string,
    });
    expect(JSON.parse((await ask(port, '/api/v1/whoami', more.access_token)).text)).toMatchObject({
      name: `${front.url}|ann`,
      roles: ['viewer'],
      groups: ['people'],
    });
    expect((await ask(port, '/api/v1/reload', more.access_token, 'POST')).status).toBe(403);
  }
  expect(
    JSON.stringify(await (await fetch(`${front.url}/.well-known/oauth-authorization-server`)).json()),
  ).not.toContain('mcp:admin');
  await expect
    .poll(async () => (await run(['status', '--admin', ports[0]], { OMNIBUS_TOKEN: more.access_token })).output)
    .toMatch(/backend .*ready/);
  expect((await run(['status', '--admin', ports[0]])).output).toContain('serves known callers only');
});

it('a token that its user revokes is refused at every admin port, also in processes without an edge', async () => {
  const client = await OAuthClient.register(front.url);
  const { access_token: token, refresh_token: refresh } = await client.signIn(new Browser(), 'ann', password, {
    scope: 'mcp mcp:admin',
  });
  const statuses = (): Promise<number[]> =>
    Promise.all(ports.map(async (port) => (await ask(port, '/status', token)).status));
  expect(await statuses()).toEqual([200, 200, 200]);
  expect(
    (
      await fetch(`${front.url}/revoke`, {
        method: 'POST',
        body: new URLSearchParams({ token: refresh, client_id: client.id }),
      })
    ).status,
  ).toBe(200);
  await expect.poll(statuses).toEqual([401, 401, 401]);
});

it('an admin makes and revokes keys and users of a running gateway, and the log names the admin', async () => {
  const [edge] = ports;
  const made = await ask(edge, '/api/v1/keys', keys.admin, 'POST', {
    subject: 'new',
    groups: ['people'],
    expires: '1d',
    note: 'for the test',
  });
  expect(made.status).toBe(200);
  const { id, key } = JSON.parse(made.text) as { readonly id: string; readonly key: string };
  await expect
    .poll(
      async () =>
        (await new RawClient(gateway.url, { authorization: `Bearer ${key}` }).initialize('2025-11-25')).status,
    )
    .toBe(200);
  expect((await ask(edge, '/status', key)).status).toBe(200);
  // A key that is restricted to some tools or endpoints permits no administration, whatever roles its caller has.
  for (const some of [{ tools: ['up/echo'] }, { endpoints: ['/mcp'] }]) {
    const narrow = JSON.parse(
      (await ask(edge, '/api/v1/keys', keys.admin, 'POST', { subject: 'admin', ...some })).text,
    ) as {
      readonly id: string;
      readonly key: string;
    };
    await expect
      .poll(
        async () =>
          (await new RawClient(gateway.url, { authorization: `Bearer ${narrow.key}` }).initialize('2025-11-25')).status,
      )
      .toBe(200);
    expect((await ask(edge, '/api/v1/keys', narrow.key)).status).toBe(403);
    if ('tools' in some)
      expect(
        (JSON.parse((await ask(edge, '/api/v1/keys', keys.admin)).text) as { readonly keys: object[] }).keys,
      ).toContainEqual(expect.objectContaining({ id: narrow.id, tools: ['up/echo'] }));
  }
  expect((await ask(edge, `/api/v1/keys/${id}`, keys.admin, 'DELETE')).status).toBe(200);
  await expect.poll(async () => (await ask(edge, '/status', key)).status).toBe(401);
  expect((await ask(edge, '/api/v1/users', keys.admin, 'POST', { name: 'bob', password })).status).toBe(200);
  const client = await OAuthClient.register(front.url);
  let tokens: Tokens | undefined;
  await expect
    .poll(
      async () => {
        tokens = await client.signIn(new Browser(), 'bob', password).catch(() => undefined);
        return tokens;
      },
      { interval: 500 },
    )
    .toBeDefined();
  const { access_token: given, refresh_token: fresh } = tokens as unknown as Tokens;
  expect((await new RawClient(gateway.url, { authorization: `Bearer ${given}` }).initialize('2025-11-25')).status).toBe(
    200,
  );
  expect((await ask(edge, '/api/v1/users/bob', keys.admin, 'DELETE')).status).toBe(200);
  // The consents of a removed user end at once.
  await expect
    .poll(
      async () =>
        (await new RawClient(gateway.url, { authorization: `Bearer ${given}` }).initialize('2025-11-25')).status,
    )
    .toBe(401);
  expect((await client.refresh(fresh)).body).toMatchObject({ error: 'invalid_grant' });
  for (const [path, method, body] of [
    ['/api/v1/keys', 'POST', { subject: '' }],
    ['/api/v1/keys', 'POST', { subject: 'x', expires: 'soon' }],
    ['/api/v1/keys', 'POST', { subject: 'x', tools: ['!up/echo'] }],
    ['/api/v1/keys/none', 'DELETE', undefined],
    ['/api/v1/users', 'POST', { name: 'c', password: 'short' }],
  ] as const) {
    expect((await ask(edge, path, keys.admin, method, body)).status).toBe(400);
  }
  await gateway.edge.line(new RegExp(`"act":"keys.create","by":"omnibus:keys\\|admin".*"key":"${id}"`));
  for (const secret of [key, password, keys.admin]) expect(gateway.edge.output()).not.toContain(secret);
  expect(
    (
      await fetch(`http://${edge}/api/v1/keys`, {
        method: 'POST',
        body: '{"subject":"x"}',
        headers: {
          authorization: `Bearer ${keys.admin}`,
          origin: 'https://evil.example',
          'x-omnibus-console': '1',
        },
      })
    ).status,
  ).toBe(403);
});

it('when there is no admin any more, the sealing key gives access, and roles that are then configured count at once', async () => {
  const [edge, session, backend] = ports;
  await gateway.configure(adminsOf({}));
  await expect.poll(async () => (await ask(edge, '/api/v1/keys', keys.admin)).status).toBe(403);
  expect(
    await run(['recover', '--admin', edge, '--config', gateway.configFile], {
      OMNIBUS_SEALING_KEY: Buffer.alloc(32, 7).toString('base64'),
    }),
  ).toMatchObject({ status: 4, output: expect.stringContaining('not the sealing key') as string });
  expect((await run(['recover', '--admin', backend, '--config', gateway.configFile], sealing)).output).toContain(
    'no sealing key',
  );
  const { status, output } = await run(['recover', '--admin', edge, '--config', gateway.configFile], sealing);
  expect(status).toBe(0);
  const token = /^oma_\S+$/m.exec(output)?.[0] ?? '';
  expect((await ask(edge, '/api/v1/keys', token)).status).toBe(200);
  // The token is valid for one process only.
  expect((await ask(session, '/status', token)).status).toBe(401);
  expect(gateway.edge.output()).toContain('somebody with the sealing key has become admin');
  expect(gateway.edge.output()).not.toContain(token);
  await gateway.configure(adminsOf(roles));
  await expect.poll(async () => (await ask(edge, '/api/v1/keys', keys.admin)).status).toBe(200);
});

it('an operator can have the configuration read again, and is told what is wrong with it', async () => {
  const [edge] = ports;
  expect(await run(['reload', '--admin', edge], { OMNIBUS_TOKEN: keys.operator })).toMatchObject({
    status: 0,
    output: expect.stringContaining('is in use') as string,
  });
  await gateway.configure({ mcpServers: { up: { command: 5 } } });
  expect(await run(['reload', '--admin', edge], { OMNIBUS_TOKEN: keys.operator })).toMatchObject({
    status: 78,
    output: expect.stringContaining('mcpServers.up.command') as string,
  });
  await writeFile(gateway.configFile, ''); // As during a write.
  expect(await run(['reload', '--admin', edge], { OMNIBUS_TOKEN: keys.operator })).toMatchObject({
    status: 78,
    output: expect.stringContaining('the file is empty') as string,
  });
  await gateway.configure({ ...adminsOf(roles), publicUrl: 'https://mcp.example.com' });
  expect(await run(['reload', '--admin', edge], { OMNIBUS_TOKEN: keys.operator })).toMatchObject({
    status: 0,
    output: expect.stringContaining('is in use; what differs in publicUrl takes effect with the next start') as string,
  });
  await gateway.configure(adminsOf(roles));
});

it('a process that cannot authenticate callers goes on serving, and refuses everybody at its admin port', async () => {
  await gateway.configure({ ...config, auth: { keys: { file: join(folder, 'nowhere.yaml') }, admin: { roles } } });
  const part = await gateway.startPart('backend');
  const admin = await gateway.admin(part);
  expect([(await ask(admin, '/readyz')).status, (await ask(admin, '/status', keys.admin)).status]).toEqual([200, 503]);
  expect(part.output()).toMatch(/nowhere\.yaml.*nobody can be known at the admin port/);
  await gateway.configure(adminsOf(roles));
});

it('by default, programs of the machine may read the status and reload, over TLS if configured, and may not make keys', async () => {
  await using authority = await Authority.create();
  const { certFile, keyFile } = await authority.sign('localhost', [
    { type: 'dns', value: 'localhost' },
    { type: 'ip', value: '127.0.0.1' },
  ]);
  await using plain = await startGatewayHere('embedded', {
    tls: { certFile, keyFile, admin: true },
    auth: { keys: { file: keysFile }, clientCertificates: { caFile: authority.caFile, required: true } },
    mcpServers: {},
  });
  const admin = await plain.admin(plain.edge);
  const ca = await readFile(authority.caFile);
  const agent = new Agent({ ca });
  const over = async (
    path: string,
    method = 'GET',
    headers: Readonly<Record<string, string>> = {},
  ): Promise<readonly [number | undefined, string]> => {
    const [response] = (await once(
      secureRequest(`https://${admin}${path}`, { method, agent, headers }).end(),
      'response',
    )) as [IncomingMessage];
    return [response.statusCode, await text(response)];
  };
  await plain.edge.line(new RegExp(`console {3}https://${admin}/`));
  expect((await over('/healthz'))[0]).toBe(200);
  expect((await over('/status'))[1]).toContain('"role": "all"');
  const change = { 'x-omnibus-console': '1' };
  expect((await over('/api/v1/reload', 'POST', change))[0]).toBe(200);
  expect(await over('/api/v1/keys', 'POST', change)).toEqual([403, expect.stringContaining('auth.admin.roles')]);
  expect(await over('/api/v1/keys')).toEqual([403, expect.stringContaining('auditor or admin')]);
  // A proxy on this machine forwards a request of another machine.
  for (const header of ['x-forwarded-for', 'forwarded', 'x-real-ip'])
    expect(await over('/status', 'GET', { [header]: '203.0.113.9' })).toEqual([
      403,
      expect.stringContaining('from another machine'),
    ]);
  expect((await over('/metrics', 'GET', { 'x-forwarded-for': '203.0.113.9' }))[0]).toBe(200);
  await expect(fetch(`http://${admin}/status`)).rejects.toThrow();
  expect(
    (
      await run(['recover', '--admin', `https://${admin}`, '--config', plain.configFile], {
        NODE_EXTRA_CA_CERTS: authority.caFile,
      })
    ).output,
  ).toContain('auth.admin.roles');
  expect(
    (await inPipe(['status', '--admin', `https://${admin}`], { env: { NODE_EXTRA_CA_CERTS: authority.caFile } }))
      .stdout,
  ).toMatch(/all .*ready/);
  expect((await run(['status', '--admin', admin])).output).toContain('https://');
  agent.destroy();
});
