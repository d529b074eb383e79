/** Tokens of agents: by secrets and by signed assertions, at two edges on one bus, and what is refused. */
import { createHmac, generateKeyPairSync, randomUUID, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryBus } from '@omnibus/bus';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { AuthorizationServer } from '../server.ts';
import { formatAgents, newSecret, parseAgents, publicKeyOf, type AgentRecord } from './agent-file.ts';

const sealing = Buffer.alloc(32, 7);
const issuer = 'http://gateway.example';
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const [other, kept, ended] = Array.from({ length: 3 }, () => generateKeyPairSync('ec', { namedCurve: 'P-256' })) as [
  typeof pair,
  typeof pair,
  typeof pair,
];
const publicKey = ({ publicKey: key }: typeof pair): ReturnType<typeof publicKeyOf> =>
  publicKeyOf(key.export({ format: 'jwk' }));
const { secret, record: secretRecord } = newSecret();
const old = newSecret();
const over = newSecret();

const agent = (name: string, more: Partial<AgentRecord> = {}): AgentRecord => ({
  name,
  id: `record-of-${name}`,
  owner: 'ann',
  groups: ['ci'],
  scopes: [],
  secrets: [secretRecord],
  keys: [],
  created: '2026-11-01T00:00:00Z',
  round: 0,
  ...more,
});

const agents = [
  agent('deployer', {
    secrets: [
      secretRecord,
      { ...old.record, until: new Date(Date.now() + 3_600_000).toISOString() },
      { ...over.record, until: '2026-11-02T00:00:00Z' },
    ],
    tenant: 'acme',
  }),
  agent('signer', {
    secrets: [],
    keys: [
      publicKey(pair),
      { ...publicKey(kept), until: new Date(Date.now() + 3_600_000).toISOString() },
      { ...publicKey(ended), until: '2026-11-02T00:00:00Z' },
    ],
  }),
  agent('narrow', { endpoints: ['github'], scopes: ['reports:read'] }),
  agent('former', { expires: '2026-11-02T00:00:00Z' }),
  agent('blocked'),
  ...Array.from({ length: 1_000 }, (_, index) => agent(`one-of-many-${index}`)),
];

let folder: string;
let file: string;
let bus: MemoryBus;
const edges: { readonly server: AuthorizationServer; readonly http: Server; readonly url: string }[] = [];

async function openEdge(): Promise<void> {
  const server = await AuthorizationServer.open({
    publicUrl: issuer,
    bus,
    log: createLogger({ level: 'silent', format: 'json' }),
    metrics: new Metrics({ processMetrics: false }),
    sealingKeys: [sealing],
    scopes: ['mcp'],
    moreScopes: [{ name: 'reports:read', isAnnounced: false, administers: false, description: undefined }],
    accessTokenMs: 600_000,
    signInMs: 3_600_000,
    refreshGraceMs: 0,
    registration: 'open',
    clients: [],
    clientDocuments: false,
    documentHosts: [],
    usersFile: undefined,
    signIn: undefined,
    agentsFile: file,
    isBlocked: (name) => name === 'blocked',
    serversAt: (resource) => (resource.startsWith(`${issuer}/mcp`) ? ['github'] : undefined),
  });
  const http = createServer({ keepAliveTimeout: 120_000 }, (request, response) =>
    server.handle(request, response, '198.51.100.1'),
  );
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  edges.push({ server, http, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-agents-'));
  file = join(folder, 'agents.yaml');
  await writeFile(file, formatAgents(agents));
  bus = new MemoryBus(({ what }) => expect.fail(what));
  await openEdge();
  await openEdge();
  return async () => {
    for (const { server, http } of edges) {
      http.close();
      http.closeAllConnections();
      await server.close();
    }
    await bus.drain();
  };
});

afterAll(() => rm(folder, { recursive: true }));

interface Answer {
  readonly status: number;
  readonly error?: string;
  readonly error_description?: string;
  readonly access_token?: string;
  readonly scope?: string;
  readonly token_type?: string;
}

async function ask(
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
  edge = 0,
): Promise<Answer> {
  const response = await fetch(`${edges[edge]?.url}/token`, {
    method: 'POST',
    headers,
    body: new URLSearchParams({ grant_type: 'client_credentials', ...form }),
  });
  return { status: response.status, ...((await response.json()) as Omit<Answer, 'status'>) };
}

const basic = (client: string, password: string): Readonly<Record<string, string>> => ({
  authorization: `Basic ${Buffer.from(`${client}:${password}`).toString('base64')}`,
});

const seconds = (): number => Math.floor(Date.now() / 1_000);

const claims = (more: object = {}): Record<string, unknown> => ({
  iss: 'agent-signer',
  sub: 'agent-signer',
  aud: issuer,
  jti: randomUUID(),
  iat: seconds(),
  exp: seconds() + 60,
  ...more,
});

const signed = (said: Record<string, unknown>, key: KeyObject = pair.privateKey, alg = 'ES256'): Promise<string> =>
  new SignJWT(said).setProtectedHeader({ alg }).sign(key);

const asserted = (assertion: string, edge = 0): Promise<Answer> =>
  ask(
    {
      client_assertion: assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    },
    {},
    edge,
  );

const unsigned = (header: object, said: object): string =>
  [header, said].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');

describe('an agent with a secret', () => {
  it.each([
    ['in the header', {}, basic('agent-deployer', secret)],
    ['in the form', { client_id: 'agent-deployer', client_secret: secret }, {}],
    ['that it had before, while that is kept', {}, basic('agent-deployer', old.secret)],
  ])('gets a token with the secret %s, and no refresh token', async (_where, form, headers) => {
    const answer = await ask(form, headers);
    expect(answer).toMatchObject({ status: 200, token_type: 'Bearer', scope: 'mcp' });
    expect(answer).not.toHaveProperty('refresh_token');
    const said = decodeJwt(answer.access_token as string);
    expect(said).toMatchObject({
      iss: issuer,
      sub: 'agent:deployer',
      client_id: 'agent-deployer',
      aud: `${issuer}/mcp`,
      groups: ['ci'],
      tenant: 'acme',
      omnibus_user: 'record-of-deployer',
    });
    expect(edges.map(({ server }) => server.isRevoked(String(said['grant_id']), 'agent:deployer'))).toEqual([
      false,
      false,
    ]);
  });

  it.each([
    ['a wrong secret', basic('agent-deployer', newSecret().secret)],
    ['a secret that has ended', basic('agent-deployer', over.secret)],
    ['the digest of its secret', basic('agent-deployer', secretRecord.hash)],
    ['an expired agent', basic('agent-former', secret)],
    ['a blocked agent', basic('agent-blocked', secret)],
    ['an agent that is not there', basic('agent-nobody', secret)],
    ['the secret of an agent that signs', basic('agent-signer', secret)],
    ['the client of the account page', basic('omnibus-account', secret)],
  ])('is refused with %s', async (_what, headers) => {
    expect(await ask({}, headers)).toMatchObject({ status: 401, error: 'invalid_client' });
  });

  it('may use only its endpoints, and only scopes that it has', async () => {
    expect(await ask({ resource: `${issuer}/mcp` }, basic('agent-narrow', secret))).toMatchObject({
      status: 400,
      error: 'invalid_target',
    });
    const own = await ask({}, basic('agent-narrow', secret));
    expect(own.scope).toBe('mcp reports:read');
    expect(decodeJwt(own.access_token as string).aud).toBe(`${issuer}/mcp/github`);
    expect(await ask({ scope: 'mcp' }, basic('agent-narrow', secret))).toMatchObject({ scope: 'mcp' });
    expect(await ask({ scope: 'reports:read' }, basic('agent-deployer', secret))).toMatchObject({ scope: 'mcp' });
    expect(await ask({ resource: 'https://elsewhere.example' }, basic('agent-deployer', secret))).toMatchObject({
      error: 'invalid_target',
    });
  });

  it('is one of a thousand, each known by its own name', async () => {
    const all = await Promise.all(
      Array.from({ length: 100 }, (_, index) => ask({}, basic(`agent-one-of-many-${index * 10}`, secret), index % 2)),
    );
    expect(new Set(all.map(({ access_token: token }) => decodeJwt(String(token)).sub)).size).toBe(100);
  });
});

describe('an agent with a key', () => {
  it('gets a token for an assertion, once at all edges', async () => {
    const assertion = await signed(claims());
    const answers = await Promise.all([asserted(assertion), asserted(assertion, 1), asserted(assertion)]);
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
    expect((await asserted(assertion, 1)).status).toBeGreaterThanOrEqual(400);
    const right = answers.find(({ status }) => status === 200);
    expect(decodeJwt(right?.access_token as string).sub).toBe('agent:signer');
  });

  it('gets a token with the key that it had before, while that is kept', async () => {
    expect(await asserted(await signed(claims(), kept.privateKey))).toMatchObject({ status: 200 });
  });

  const hmac = (): string => {
    const text = unsigned({ alg: 'HS256' }, claims());
    const key = pair.publicKey.export({ format: 'pem', type: 'spki' });
    return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
  };

  it.each<[string, () => string | Promise<string>]>([
    ['of another key', () => signed(claims(), other.privateKey)],
    ['of a key that has ended', () => signed(claims(), ended.privateKey)],
    ['without a signature', () => `${unsigned({ alg: 'none' }, claims())}.`],
    ['with HS256 and the public key', hmac],
    ['that has expired', () => signed(claims({ exp: seconds() - 60 }))],
    ['without an end', () => signed(claims({ exp: undefined }))],
    ['that lasts a day', () => signed(claims({ exp: seconds() + 86_400 }))],
    ['for another server', () => signed(claims({ aud: 'https://elsewhere.example' }))],
    ['of another issuer', () => signed(claims({ iss: 'agent-deployer' }))],
    ['for another agent', () => signed(claims({ iss: 'agent-deployer', sub: 'agent-deployer' }))],
    ['without an id', () => signed(claims({ jti: undefined }))],
  ])('is refused with an assertion %s', async (_what, make) => {
    expect(await asserted(await make())).toMatchObject({ status: 401, error: 'invalid_client' });
  });

  it('is refused with an assertion of many kilobytes', async () => {
    expect((await asserted(await signed(claims({ more: 'x'.repeat(100_000) })))).status).toBe(413);
  });

  it('cannot make the server remember more ids than it may have tokens', async () => {
    const answers: Answer[] = [];
    for (let count = 0; count < 80; count += 1) answers.push(await asserted(await signed(claims())));
    expect(answers.at(-1)).toMatchObject({ status: 400, error: 'invalid_request' });
  });
});

describe('a changed file', () => {
  it('ends the tokens of agents that it no longer has, or that have other rights, at every edge', async () => {
    const tokens = await Promise.all(
      ['agent-one-of-many-1', 'agent-one-of-many-2', 'agent-one-of-many-3'].map(async (client) =>
        decodeJwt((await ask({}, basic(client, secret))).access_token as string),
      ),
    );
    const changed = Promise.all(edges.map(({ server }) => new Promise<void>((done) => server.onChanged(done))));
    await writeFile(
      file,
      formatAgents(
        agents
          .filter(({ name }) => name !== 'one-of-many-1')
          .map((each) => (each.name === 'one-of-many-2' ? { ...each, groups: ['ops'] } : each)),
      ),
    );
    await changed;
    for (const { server } of edges)
      expect(
        await Promise.resolve(tokens.map((said) => server.isRevoked(String(said['grant_id']), String(said.sub)))),
      ).toEqual([true, true, false]);
    expect(await ask({}, basic('agent-one-of-many-1', secret))).toMatchObject({ error: 'invalid_client' });
  });

  it.each([
    ['a private key', { secrets: [], keys: [{ ...pair.privateKey.export({ format: 'jwk' }) }] }],
    [
      'a key of few bits',
      { secrets: [], keys: [generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({ format: 'jwk' })] },
    ],
    ['a shared secret as key', { secrets: [], keys: [{ kty: 'oct', k: 'AAAA' }] }],
    ['neither secret nor key', { secrets: [], keys: [] }],
    ['a name with a colon', { name: 'a:b' }],
  ])('with %s is refused in words', (_what, more) => {
    expect(() => parseAgents(formatAgents([agent('x', more as Partial<AgentRecord>)]))).toThrow(/agents\.0/);
  });
});

it('strangers cannot register as agents', async () => {
  const response = await fetch(`${edges[0]?.url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'x',
      redirect_uris: ['https://app.example/callback'],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'client_secret_basic',
    }),
  });
  const { client_id: id, client_secret: given } = (await response.json()) as Record<string, string>;
  expect(await ask({}, basic(String(id), String(given)))).toMatchObject({
    status: 400,
    error_description: 'requested grant type is not allowed for this client',
  });
});
