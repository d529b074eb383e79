/** Agents that act for users (RFC 8693): which tokens they get, what the tokens prove at an edge, and by what they end. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt, SignJWT, type JWK } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEvent } from '@omnibus/audit';
import { Authenticator, type Facts } from '@omnibus/identity';
import { StandInIssuer } from '@omnibus/identity/testing';
import { rootEndpoint, type EndpointName } from '@omnibus/protocol';
import { formatAgents, newSecret, type AgentRecord } from '../agents/agent-file.ts';
import { AuthorizationUnderTest } from '../authorization-under-test.ts';
import { digestOf, leastCost, type UserRecord } from '../users.ts';

const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessToken = 'urn:ietf:params:oauth:token-type:access_token';
const jwt = 'urn:ietf:params:oauth:token-type:jwt';
const password = 'correct horse battery staple';
const { secret, record } = newSecret();
const names = { subject: 'sub', groups: 'groups', algorithms: ['ES256'], tokenType: 'at+jwt' } as const;

const agent = (name: string, more: Partial<AgentRecord> = {}): AgentRecord => ({
  name,
  id: `record-of-${name}`,
  owner: 'ann',
  groups: ['bots'],
  scopes: [],
  secrets: [record],
  keys: [],
  created: '2026-11-01T00:00:00Z',
  round: 0,
  ...more,
});
const agents = [
  agent('assistant', { scopes: ['reports:read', 'omnibus:admin'] }),
  agent('planner'),
  agent('reviewer'),
  agent('stranger'),
  agent('narrow', { endpoints: ['github'] }),
  agent('pod', { secrets: [], isWorkload: true }),
  agent('acme', { tenant: 'acme' }),
];

let folder: string;
let file: string;
let idp: StandInIssuer;
let cluster: StandInIssuer;
let users: readonly UserRecord[];
let under: AuthorizationUnderTest;
let edge: Authenticator;
const events: AuditEvent[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-exchange-'));
  file = join(folder, 'agents.yaml');
  idp = await StandInIssuer.start();
  cluster = await StandInIssuer.start();
  const digest = await digestOf(password, leastCost);
  users = ['ann', 'ben'].map((name) => ({
    name,
    id: `id-of-${name}`,
    password: digest,
    groups: ['eng'],
    created: '2026-11-01T00:00:00Z',
  }));
});

afterAll(async () => {
  await idp[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

beforeEach(async () => {
  await writeFile(file, formatAgents(agents));
  events.length = 0;
  const isKnown = (user: Facts): boolean => user.groups.includes('eng');
  const issuers = [{ issuer: idp.issuer, ...names, claims: ['department'], tenant: 'org', mayLackTenant: true }];
  under = await AuthorizationUnderTest.start(
    {
      agentsFile: file,
      clients: [{ id: 'app', redirectUris: ['http://127.0.0.1/callback'] }],
      moreScopes: [
        { name: 'reports:read', isAnnounced: true, administers: false },
        { name: 'omnibus:admin', isAnnounced: false, administers: true },
      ],
      workloads: [
        {
          agent: 'pod',
          issuer: cluster.issuer,
          subject: ['system:*'],
          audience: ['sts'],
          algorithms: ['ES256'],
          require: {},
          reuse: false,
        },
      ],
      acting: {
        issuers,
        audience: [],
        rules: [
          ...['assistant', 'pod'].map((name) => ({ agent: name, isFor: isKnown, chained: true })),
          ...['planner', 'reviewer', 'narrow', 'acme'].map((name) => ({ agent: name, isFor: isKnown, chained: false })),
        ],
        refusal: ({ subject }) => (subject === 'blocked' ? 'an operator has blocked this user' : undefined),
      },
      audit: { record: (event: AuditEvent) => void events.push(event) } as never,
    },
    users,
  );
  edge = await Authenticator.open({
    own: under.server,
    issuers,
    resource: { publicUrl: under.url, audience: [], scopes: ['mcp'] },
    warn: () => undefined,
  });
  return async () => {
    await edge.close();
    await under[Symbol.asyncDispose]();
  };
});

type Answer = Readonly<Record<string, string>>;

async function ownToken(name = 'ann'): Promise<string> {
  const answer = await under.signIn({ client: 'app', name, password }, (form) => under.post('/token', form));
  return answer['access_token'] ?? expect.fail(JSON.stringify(answer));
}

/** A token of a user of the other issuer. */
const foreign = (claims: Readonly<Record<string, unknown>> = {}, header = {}): Promise<string> =>
  idp.token({ sub: 'carl', aud: `${under.url}/mcp`, scope: 'mcp', groups: ['eng'], ...claims }, header);

function act(
  subject: string,
  name = 'assistant',
  more: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return under.post(
    '/token',
    { grant_type: exchange, subject_token: subject, subject_token_type: accessToken, ...more },
    { authorization: `Basic ${Buffer.from(`agent-${name}:${secret}`).toString('base64')}`, ...headers },
  );
}

const tokenOf = (answer: Answer): string => answer['access_token'] ?? expect.fail(JSON.stringify(answer));

async function proven(answer: Answer, endpoint: EndpointName = rootEndpoint): Promise<Partial<Facts>> {
  const verdict = await edge.authenticate(
    { method: 'POST', headers: { authorization: `Bearer ${tokenOf(answer)}` }, rawHeaders: [] },
    { url: '/mcp', endpoint, peer: undefined, address: () => 'here' },
  );
  return 'fault' in verdict ? { subject: verdict.fault.message } : verdict;
}

const refusedFor = async (answer: Answer): Promise<string | undefined> => (await proven(answer)).subject;

describe('an agent that acts for a user', () => {
  it('gets a token that names both, with the groups of the user, and no longer than that of the user', async () => {
    const subject = await ownToken();
    const answer = await act(subject);
    expect(answer).toMatchObject({ issued_token_type: accessToken, token_type: 'Bearer', scope: 'mcp' });
    expect(answer).not.toHaveProperty('refresh_token');
    expect(decodeJwt(tokenOf(answer)).exp).toBeLessThanOrEqual(decodeJwt(subject).exp ?? 0);
    const facts = await proven(answer);
    const own = await proven({ access_token: subject });
    expect(facts).toMatchObject({
      issuer: under.url,
      subject: 'ann',
      groups: ['eng'],
      agent: 'assistant',
      client: 'agent-assistant',
      ofSubject: own.principal,
      actors: [{ issuer: under.url, subject: 'agent:assistant' }],
    });
    expect(facts.principal).not.toBe(own.principal);
    expect(events.find(({ name }) => name === 'auth.acting')).toMatchObject({
      outcome: 'ok',
      who: { subject: 'ann', client: 'agent-assistant', actors: [{ subject: 'agent:assistant' }] },
    });
  });

  it('is named with the user and the issuer of the user, where another issuer has signed', async () => {
    const facts = await proven(await act(await foreign({ department: 'sales' })));
    const own = await proven({ access_token: await foreign() });
    expect(facts).toMatchObject({
      issuer: idp.issuer,
      subject: 'carl',
      claims: { department: 'sales' },
      ofSubject: own.principal,
      actors: [{ issuer: under.url, subject: 'agent:assistant' }],
    });
  });

  it('may be of the tenant of the user', async () => {
    expect(await proven(await act(await foreign({ org: 'acme' }), 'acme'))).toMatchObject({ tenant: 'acme' });
    expect(await proven(await act(await foreign({ org: 'acme' })))).toMatchObject({ tenant: 'acme' });
  });

  it('may act behind another agent if it is chained; the chain is in the token', async () => {
    const planned = await act(await ownToken(), 'planner');
    const facts = await proven(await act(tokenOf(planned)));
    expect(facts.actors?.map(({ subject }) => subject)).toEqual(['agent:assistant', 'agent:planner']);
    expect(facts).toMatchObject({ subject: 'ann', agent: 'assistant' });
    expect(await act(tokenOf(planned), 'reviewer')).toMatchObject({
      error_description: expect.stringMatching(/chained/),
    });
    const foreigner = await foreign({ act: { sub: 'robot', act: { sub: 'one' } } });
    const behind = await proven(await act(foreigner));
    expect(behind.actors).toMatchObject([
      { subject: 'agent:assistant' },
      { issuer: idp.issuer, subject: 'robot' },
      { issuer: idp.issuer, subject: 'one' },
    ]);
  });

  it('is permitted by `may_act` of the token, and by it alone where it is there', async () => {
    for (const permitted of [{ sub: 'agent:stranger' }, { client_id: 'agent-stranger', iss: under.url }])
      expect(await proven(await act(await foreign({ may_act: permitted }), 'stranger'))).toMatchObject({
        agent: 'stranger',
      });
    for (const other of [
      { sub: 'agent:planner' },
      { sub: 'agent:assistant', iss: 'https://else.example' },
      'agent:assistant',
      {},
    ])
      expect(await act(await foreign({ may_act: other }))).toMatchObject({
        error: 'invalid_request',
        error_description: expect.stringMatching(/may_act/),
      });
  });

  it("gets a token that ends with the user's, where an issuer says the end in milliseconds", async () => {
    const endsAt = Math.floor(Date.now() / 1_000) + 60;
    const answer = await act(await foreign({ exp: endsAt * 1_000 }));
    expect(decodeJwt(tokenOf(answer)).exp).toBeLessThanOrEqual(endsAt);
  });

  it('gets the scopes that both have, and never one that administers', async () => {
    const all = 'mcp reports:read omnibus:admin';
    const token = await foreign({ scope: all });
    expect(await act(token)).toMatchObject({ scope: 'mcp reports:read' });
    expect(await act(token, 'assistant', { scope: all })).toMatchObject({ scope: 'mcp reports:read' });
    expect(await act(token, 'planner', { scope: all })).toMatchObject({ scope: 'mcp' });
    expect(await act(await foreign(), 'assistant', { scope: all })).toMatchObject({ scope: 'mcp' });
  });

  it('gets tokens for the addresses that both may use', async () => {
    const narrow = await foreign({ aud: `${under.url}/mcp/github` });
    expect(decodeJwt(tokenOf(await act(narrow))).aud).toBe(`${under.url}/mcp/github`);
    expect(await act(narrow, 'assistant', { resource: `${under.url}/mcp` })).toMatchObject({ error: 'invalid_target' });
    expect(await act(narrow, 'assistant', { resource: `${under.url}/mcp/other` })).toMatchObject({
      error: 'invalid_target',
    });
    expect(decodeJwt(tokenOf(await act(await foreign(), 'narrow'))).aud).toBe(`${under.url}/mcp/github`);
    expect(await act(await foreign(), 'narrow', { audience: `${under.url}/mcp` })).toMatchObject({
      error: 'invalid_target',
    });
    const wide = tokenOf(await act(await foreign(), 'assistant', { audience: `${under.url}/mcp/github/` }));
    expect(decodeJwt(wide).aud).toBe(`${under.url}/mcp/github`);
  });

  it('may be a workload, whose assertion is the actor_token', async () => {
    const form = async (): Promise<Record<string, string>> => ({
      grant_type: exchange,
      subject_token: await foreign(),
      subject_token_type: jwt,
      actor_token: await cluster.token({ sub: 'system:ci', aud: 'sts', jti: randomUUID() }),
      actor_token_type: jwt,
    });
    const once = await form();
    expect(await proven(await under.post('/token', once))).toMatchObject({ subject: 'carl', agent: 'pod' });
    expect(await under.post('/token', once)).toMatchObject({ error: 'invalid_request' });
    expect(await under.post('/token', { ...(await form()), client_id: 'agent-planner' })).toMatchObject({
      error: 'invalid_request',
    });
    const wrong = { ...(await form()), actor_token: await cluster.token({ sub: 'user:x', aud: 'sts' }) };
    expect(await under.post('/token', wrong)).toMatchObject({ error: 'invalid_request' });
  });

  it('may bring its own token as the actor_token, and that of no other agent', async () => {
    const own = async (name: string): Promise<string> =>
      tokenOf(
        await under.post('/token', {
          grant_type: 'client_credentials',
          client_id: `agent-${name}`,
          client_secret: secret,
        }),
      );
    const more = { actor_token_type: accessToken };
    expect(
      await proven(await act(await foreign(), 'planner', { ...more, actor_token: await own('planner') })),
    ).toMatchObject({ agent: 'planner' });
    expect(await act(await foreign(), 'planner', { ...more, actor_token: await own('assistant') })).toMatchObject({
      error: 'invalid_request',
    });
  });

  it('gets a token that is bound to its key if it sends a proof', async () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const proof = await new SignJWT({ htm: 'POST', htu: `${under.url}/token`, jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: pair.publicKey.export({ format: 'jwk' }) as JWK })
      .setIssuedAt()
      .sign(pair.privateKey);
    const answer = await act(await foreign(), 'assistant', {}, { DPoP: proof });
    expect(answer).toMatchObject({ token_type: 'DPoP' });
    expect(decodeJwt(tokenOf(answer))).toMatchObject({
      cnf: { jkt: expect.any(String) },
      act: { sub: 'agent:assistant' },
    });
  });
});

describe('the token of an agent for a user ends', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['with the user', () => under.write(users.filter(({ name }) => name !== 'ann'))],
    ['with the agent', () => writeFile(file, formatAgents(agents.filter(({ name }) => name !== 'planner')))],
    [
      'with the secrets of the agent',
      () => writeFile(file, formatAgents(agents.map((each) => ({ ...each, round: 1 })))),
    ],
    [
      'with an agent behind which another acts',
      () => writeFile(file, formatAgents(agents.filter(({ name }) => name !== 'planner'))),
    ],
  ])('%s', async (what, end) => {
    const first = await act(await ownToken(), 'planner');
    const answer = what.includes('behind') ? await act(tokenOf(first)) : first;
    expect(await refusedFor(answer)).toBe('ann');
    await end();
    await expect.poll(() => refusedFor(answer), { timeout: 30_000 }).toMatch(/not there any more/);
  });

  it('with the key that signed it', async () => {
    const answer = await act(await foreign());
    expect(await refusedFor(answer)).toBe('carl');
    await under.server.rotateKeys(false);
    expect(await refusedFor(answer)).toBe('carl');
    await under.server.rotateKeys(true);
    expect(await refusedFor(answer)).toMatch(/no such key/);
    expect(await refusedFor(await act(await foreign()))).toBe('carl');
  });

  it('with the consent of the user', async () => {
    let refresh = '';
    const subject = await under.signIn({ client: 'app', name: 'ann', password }, async (form) => {
      const answer = await under.post('/token', form);
      refresh = String(answer['refresh_token']);
      return String(answer['access_token']);
    });
    const answer = await act(subject);
    expect(await refusedFor(answer)).toBe('ann');
    await fetch(`${under.url}/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token: refresh, client_id: 'app' }),
    });
    expect(await refusedFor(answer)).toMatch(/not there any more/);
    expect(await act(subject)).toMatchObject({
      error: 'invalid_request',
      error_description: expect.stringMatching(/revoked/),
    });
  });
});

describe('no agent gets a token', () => {
  const agentsOwn = async (): Promise<string> =>
    tokenOf(
      await under.post('/token', {
        grant_type: 'client_credentials',
        client_id: 'agent-planner',
        client_secret: secret,
      }),
    );
  const deep = { sub: 'a', act: { sub: 'b', act: { sub: 'c', act: { sub: 'd' } } } };
  it.each<[string, () => Promise<Answer>, RegExp]>([
    [
      'for a user that no rule names',
      async () => act(await foreign({ groups: ['sales'] })),
      /may not act for this user/,
    ],
    ['that no rule names', async () => act(await foreign(), 'stranger'), /may not act for this user/],
    ['for a user that is blocked', async () => act(await foreign({ sub: 'blocked' })), /blocked this user/],
    ['for an agent', async () => act(await agentsOwn()), /is of an agent/],
    ['for itself again', async () => act(tokenOf(await act(await foreign()))), /already/],
    ['behind four others', async () => act(await foreign({ act: deep })), /more than 4/],
    ['for an expired token', async () => act(await foreign({ exp: 1_000 })), /expired/],
    ['for a token without the scopes', async () => act(await foreign({ scope: 'other' })), /lacks the scope mcp/],
    ['for a user of another tenant', async () => act(await foreign({ org: 'globex' }), 'acme'), /of another tenant/],
    ['for a user of no tenant, if it has one', async () => act(await foreign(), 'acme'), /of another tenant/],
    [
      'for a token with another audience',
      async () => act(await foreign({ aud: 'https://else.example' })),
      /not for this address/,
    ],
    ['for a token of a key', async () => act(await foreign({ cnf: { jkt: 'A'.repeat(43) } })), /bound to a key/],
    ['for an ID token', async () => act(await foreign({}, { typ: 'JWT' })), /typ: at\+jwt/],
    [
      'for a token of another issuer',
      async () => act(await cluster.token({ sub: 'x' })),
      /no signed token of an issuer/,
    ],
    [
      'for a token that is signed by another',
      async () => act(`${(await foreign()).slice(0, -10)}AAAAAAAAAA`),
      /signature/,
    ],
    ['for a text', () => act('text'), /no signed token/],
    [
      'for a refresh token',
      async () =>
        act(await foreign(), 'assistant', { subject_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }),
      /expected subject_token_type/,
    ],
    [
      'of another type',
      async () =>
        act(await foreign(), 'assistant', { requested_token_type: 'urn:ietf:params:oauth:token-type:id_token' }),
      /requested_token_type/,
    ],
    [
      'with a type of an actor alone',
      async () => act(await foreign(), 'assistant', { actor_token_type: jwt }),
      /without its token/,
    ],
    ['for no token', () => under.post('/token', { grant_type: exchange }), /expected a subject_token/],
    [
      'without its secret',
      async () =>
        under.post('/token', {
          grant_type: exchange,
          client_id: 'agent-assistant',
          subject_token: await foreign(),
          subject_token_type: jwt,
        }),
      /client authentication failed/,
    ],
  ])('%s', async (_what, ask, words) => {
    const answer = await ask();
    expect(answer).not.toHaveProperty('access_token');
    expect(answer['error_description']).toMatch(words);
  });

  it('if it is a client of users', async () => {
    const form = { grant_type: exchange, client_id: 'app', subject_token: await foreign(), subject_token_type: jwt };
    expect(await under.post('/token', form)).toMatchObject({
      error_description: expect.stringMatching(/not allowed for this client/),
    });
  });

  it('and each refusal is on record with the agent', async () => {
    await act(await foreign({ groups: [] }));
    expect(events.find(({ name }) => name === 'auth.acting')).toMatchObject({
      outcome: 'denied',
      reason: expect.stringMatching(/may not act/),
      who: { subject: 'carl', client: 'agent-assistant' },
    });
  });

  it('and a refusal because of the address is no success on record', async () => {
    await act(await foreign({ aud: `${under.url}/mcp/github` }), 'assistant', { resource: `${under.url}/mcp` });
    await act(await foreign(), 'narrow', { resource: `${under.url}/mcp` });
    await act(await foreign(), 'planner', { resource: 'https://else.example/mcp' });
    expect(events.filter(({ name }) => name === 'auth.acting')).toMatchObject([
      { outcome: 'denied', reason: expect.stringMatching(/not for this address/), who: { client: 'agent-assistant' } },
      { outcome: 'denied', reason: expect.stringMatching(/may use/), who: { client: 'agent-narrow' } },
      { outcome: 'denied', reason: expect.stringMatching(/no such resource/), who: { client: 'agent-planner' } },
    ]);
  });
});

it('the metadata announce the grant', async () => {
  const metadata = await (await fetch(`${under.url}/.well-known/oauth-authorization-server`)).json();
  expect(metadata).toMatchObject({ grant_types_supported: expect.arrayContaining([exchange, 'client_credentials']) });
});
