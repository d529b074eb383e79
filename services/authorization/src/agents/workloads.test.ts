/** Assertions of workloads at two edges on one bus: which give tokens of an agent, and which are refused. */
import { createHmac, generateKeyPairSync, randomUUID, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt, SignJWT } from 'jose';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { MemoryBus } from '@omnibus/bus';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { AuthorizationServer } from '../server.ts';
import { formatAgents, newSecret, type AgentRecord } from './agent-file.ts';
import type { WorkloadOptions } from './workloads.ts';

const gateway = 'http://gateway.example';
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const bearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const seconds = (): number => Math.floor(Date.now() / 1_000);

const agent = (name: string, more: Partial<AgentRecord> = {}): AgentRecord => ({
  name,
  id: `record-of-${name}`,
  owner: 'ann',
  groups: [],
  scopes: [],
  secrets: [],
  keys: [],
  isWorkload: true,
  created: '2026-11-01T00:00:00Z',
  round: 0,
  ...more,
});
const secret = newSecret();

let issuer: string;
let silent: string;
const edges: string[] = [];

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-workloads-'));
  const agentsFile = join(folder, 'agents.yaml');
  await writeFile(
    agentsFile,
    formatAgents([
      agent('job'),
      agent('pod'),
      agent('reviewer'),
      agent('gone', { expires: '2026-11-02T00:00:00Z' }),
      agent('person', { isWorkload: undefined, secrets: [secret.record] }),
    ]),
  );
  const keys = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    const jwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' };
    const document = request.url === '/keys' ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}/keys` };
    response.end(JSON.stringify(document));
  });
  issuer = await listen(keys);
  const deaf = createServer((_request, response) => response.writeHead(503).end());
  silent = await listen(deaf);
  const entry = (more: Partial<WorkloadOptions>): WorkloadOptions => ({
    agent: 'job',
    issuer,
    subject: ['repo:acme/app:*'],
    audience: [],
    algorithms: ['ES256'],
    require: {},
    reuse: false,
    ...more,
  });
  const workloads = [
    entry({ require: { ref: ['refs/heads/main'] } }),
    entry({ agent: 'reviewer', subject: ['repo:acme/app:pull_request'] }),
    entry({ agent: 'pod', subject: ['system:serviceaccount:ci:builder'], audience: ['omnibus'], reuse: true }),
    entry({ agent: 'gone', subject: ['gone:*'] }),
    entry({ agent: 'person', subject: ['person:*'] }),
    entry({ issuer: silent, subject: ['any:*'] }),
  ];
  const bus = new MemoryBus(({ what }) => expect.fail(what));
  const servers: AuthorizationServer[] = [];
  const https: Server[] = [keys, deaf];
  for (let count = 0; count < 2; count += 1) {
    const server = await AuthorizationServer.open({
      publicUrl: gateway,
      bus,
      log: createLogger({ level: 'silent', format: 'json' }),
      metrics: new Metrics({ processMetrics: false }),
      sealingKeys: [Buffer.alloc(32, 7)],
      scopes: ['mcp'],
      moreScopes: [],
      accessTokenMs: 600_000,
      signInMs: 3_600_000,
      refreshGraceMs: 0,
      registration: 'off',
      clients: [],
      clientDocuments: false,
      documentHosts: [],
      usersFile: undefined,
      signIn: undefined,
      agentsFile,
      workloads,
      serversAt: (resource) => (resource.startsWith(`${gateway}/mcp`) ? [] : undefined),
    });
    servers.push(server);
    const http = createServer({ keepAliveTimeout: 120_000 }, (request, response) =>
      server.handle(request, response, '198.51.100.1'),
    );
    https.push(http);
    edges.push(await listen(http));
  }
  return async () => {
    for (const http of https) {
      http.close();
      http.closeAllConnections();
    }
    for (const server of servers) await server.close();
    await bus.drain();
    await rm(folder, { recursive: true });
  };
});

const claims = (more: object = {}): Record<string, unknown> => ({
  iss: issuer,
  sub: 'repo:acme/app:ref:refs/heads/main',
  aud: gateway,
  ref: 'refs/heads/main',
  jti: randomUUID(),
  iat: seconds(),
  exp: seconds() + 300,
  ...more,
});

const signed = (said: Record<string, unknown>, key: KeyObject = pair.privateKey, kid = 'one'): Promise<string> =>
  new SignJWT(said).setProtectedHeader({ alg: 'ES256', kid }).sign(key);

async function ask(
  form: Readonly<Record<string, string>>,
  edge = 0,
): Promise<Readonly<Record<string, unknown>> & { readonly status: number }> {
  const response = await fetch(`${edges[edge]}/token`, { method: 'POST', body: new URLSearchParams(form) });
  return { status: response.status, ...((await response.json()) as object) };
}

const asserted = (assertion: string, edge = 0, more: Readonly<Record<string, string>> = {}): ReturnType<typeof ask> =>
  ask({ grant_type: bearerGrant, assertion, ...more }, edge);

describe('a workload', () => {
  it('gets the token of its agent for an assertion, once at all edges', async () => {
    const assertion = await signed(claims());
    const answers = await Promise.all([0, 1, 0, 1].map((edge) => asserted(assertion, edge)));
    const right = answers.filter(({ status }) => status === 200);
    expect(right).toHaveLength(1);
    expect(decodeJwt(String(right[0]?.['access_token']))).toMatchObject({
      sub: 'agent:job',
      client_id: 'agent-job',
      aud: `${gateway}/mcp`,
      scope: 'mcp',
    });
    expect(await asserted(assertion, 1)).toMatchObject({
      error: 'invalid_grant',
      error_description: 'the assertion was used before',
    });
  });

  it('without an id in its assertion uses it once, however its signature is written', async () => {
    const assertion = await signed(claims({ jti: undefined }));
    expect((await asserted(assertion)).status).toBe(200);
    const dot = assertion.lastIndexOf('.') + 1;
    const signature = Buffer.from(assertion.slice(dot), 'base64url');
    // Of each signature by ECDSA there is a second one: the same r, and the order of the curve less s.
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
    const twin = (order - BigInt(`0x${signature.toString('hex', 32)}`)).toString(16).padStart(64, '0');
    const other = Buffer.concat([signature.subarray(0, 32), Buffer.from(twin, 'hex')]).toString('base64url');
    expect(await asserted(`${assertion.slice(0, dot)}${other}`, 1)).toMatchObject({
      error: 'invalid_grant',
      error_description: 'the assertion was used before',
    });
  });

  it('uses an assertion once in the last second of its time too, where it comes first from a clock that goes ahead', async () => {
    const start = Math.floor(Date.now() / 1_000) * 1_000;
    vi.useFakeTimers({ toFake: ['Date'], now: start });
    const assertion = await signed(claims({ iat: seconds() + 30, exp: seconds() + 3_000 }));
    const first = await asserted(assertion);
    vi.setSystemTime(start + 660_500);
    const again = await asserted(assertion, 1);
    vi.setSystemTime(start + 661_000);
    const late = await asserted(assertion, 1);
    vi.useRealTimers();
    expect(first.status).toBe(200);
    expect(again['error_description']).toBe('the assertion was used before');
    expect(late['error_description']).toContain('it has expired, or was issued too long ago');
  });

  it('is the agent that it names, where entries with other demands fit too', async () => {
    const said = { sub: 'repo:acme/app:pull_request', ref: 'refs/pull/5' };
    const { access_token: token } = await asserted(await signed(claims(said)), 0, { client_id: 'agent-reviewer' });
    expect(decodeJwt(String(token))).toMatchObject({ sub: 'agent:reviewer' });
    // Without a name, the first entry that fits decides; and by a name, no demand of an entry falls away.
    expect(await asserted(await signed(claims(said)))).toMatchObject({ error: 'invalid_grant' });
    expect(await asserted(await signed(claims(said)), 0, { client_id: 'agent-job' })).toMatchObject({
      error: 'invalid_grant',
    });
  });

  it('with a mounted token uses it again, also an old one, and one without an id', async () => {
    const token = await signed(
      claims({
        sub: 'system:serviceaccount:ci:builder',
        aud: ['omnibus'],
        jti: undefined,
        iat: seconds() - 3_000,
      }),
    );
    expect((await asserted(token)).status).toBe(200);
    expect((await asserted(token, 1, { client_id: 'agent-pod' })).status).toBe(200);
  });

  it.each<[string, object]>([
    ['of another subject', { sub: 'repo:evil/app:ref:refs/heads/main' }],
    ['of a subject that contains the right one', { sub: 'x repo:acme/app:ref:refs/heads/main' }],
    ['without a required claim', { ref: undefined }],
    ['with another value of a required claim', { ref: 'refs/heads/other' }],
    ['for another audience', { aud: 'https://elsewhere.example' }],
    ['without an audience', { aud: undefined }],
    ['that has expired', { exp: 1_700_000_000 }],
    ['without an end', { exp: undefined }],
    ['of an hour ago', { iat: 1_700_000_000 }],
    ['without a time', { iat: undefined }],
    ['that begins later', { nbf: 4_000_000_000 }],
    ['of another issuer', { iss: 'https://elsewhere.example' }],
    ['of an issuer that is a list', { iss: [] }],
    ['whose agent has expired', { sub: 'gone:x' }],
    ['whose agent has a secret', { sub: 'person:x' }],
    ['of a service account for the gateway itself', { sub: 'system:serviceaccount:ci:builder' }],
  ])('is refused with an assertion %s', async (_what, more) => {
    expect(await asserted(await signed(claims(more)))).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

  it.each<[string, () => string | Promise<string>]>([
    ['of another key', () => signed(claims(), stranger.privateKey)],
    ['of an unknown key', () => signed(claims(), stranger.privateKey, 'two')],
    ['without a signature', () => `${part({ alg: 'none' })}.${part(claims())}.`],
    [
      'with HS256 and the public key',
      () => {
        const text = `${part({ alg: 'HS256', kid: 'one' })}.${part(claims())}`;
        const key = pair.publicKey.export({ format: 'pem', type: 'spki' });
        return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
      },
    ],
    ['that is no JWT', () => 'assertion'],
  ])('is refused with an assertion %s', async (_what, make) => {
    expect(await asserted(await make())).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  it('is refused with none, with one that is too long, and while its issuer is silent', async () => {
    expect(await ask({ grant_type: bearerGrant })).toMatchObject({ error: 'invalid_request' });
    expect(await asserted(await signed(claims({ more: 'x'.repeat(9_000) })))).toMatchObject({
      error: 'invalid_request',
    });
    expect(await asserted(await signed(claims({ iss: silent, sub: 'any:x' })))).toMatchObject({
      error: 'temporarily_unavailable',
    });
  });

  it('gets no token as another client, nor by a secret', async () => {
    expect(await asserted(await signed(claims()), 0, { client_id: 'agent-pod' })).toMatchObject({
      error: 'invalid_client',
    });
    for (const given of ['a workload has none', 'undefined', ''])
      expect(
        await ask({ grant_type: 'client_credentials', client_id: 'agent-job', client_secret: given }),
      ).toHaveProperty('error');
    expect(await ask({ grant_type: 'client_credentials', client_id: 'agent-job' })).toMatchObject({
      error: 'invalid_client',
    });
  });
});
