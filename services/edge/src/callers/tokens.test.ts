/** The edge as a resource server: tokens of an issuer, and the answers to strangers. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { proofAlgorithms } from '@omnibus/identity';
import { StandInIssuer } from '@omnibus/identity/testing';
import { byIssuers, EdgeUnderTest } from '../edge-under-test.ts';

const publicUrl = 'https://mcp.example.com';
const wellKnown = '/.well-known/oauth-protected-resource';

let issuer: StandInIssuer;
let test: EdgeUnderTest;
let url: string;

beforeEach(async () => {
  issuer = await StandInIssuer.start();
  const text = `publicUrl: ${publicUrl}\nsecurity: { allowedHosts: ["*"] }\nauth: { issuers: [{ issuer: "${issuer.issuer}" }], scopes: [mcp] }\nmcpServers: { a: { url: "http://127.0.0.1:1" } }`;
  test = await EdgeUnderTest.start(text, { authenticate: byIssuers });
  url = test.origin;
  await test.serveStateless();
});

afterEach(async () => {
  await test[Symbol.asyncDispose]();
  expect(test.faults).toEqual([]);
  await issuer[Symbol.asyncDispose]();
});

const token = (claims = {}): Promise<string> =>
  issuer.token({ sub: 'ann', aud: `${publicUrl}/mcp`, scope: 'mcp', ...claims });
const post = (headers: Record<string, string>, path?: string, method?: string): Promise<Response> =>
  test.postStateless(headers, path, method);

it('a token is looked at once and then known; its request is served whole either way', async () => {
  const authorization = `Bearer ${await token()}`;
  for (let count = 0; count < 3; count += 1) expect((await post({ authorization })).status).toBe(200);
  expect(issuer.asked.filter((path) => path === '/keys')).toHaveLength(1);
});

it.each([
  ['/mcp', 'POST', '/mcp'],
  ['/mcp/a', 'GET', '/mcp/a'],
  ['/sse/a', 'GET', '/sse/a'],
  ['/messages/a?sessionId=x', 'POST', '/sse/a'],
])(
  'a stranger at %s is told where its metadata are, which scopes it needs, and what is wrong',
  async (path, method, place) => {
    const challenge = `Bearer resource_metadata="${publicUrl}${wellKnown}${place}", scope="mcp"`;
    expect((await fetch(`${url}${path}`, { method })).headers.get('www-authenticate')).toBe(challenge);
    const expired = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${await token({ exp: 1_000_000_000 })}` },
    });
    expect([expired.status, expired.headers.get('www-authenticate')]).toEqual([
      401,
      `${challenge}, error="invalid_token", error_description="the token is not accepted: it has expired"`,
    ]);
  },
);

it('a token that permits too little is answered 403 with all scopes it must have', async () => {
  const answer = await post({ authorization: `Bearer ${await token({ scope: 'other' })}` });
  expect(answer.status).toBe(403);
  expect(answer.headers.get('www-authenticate')).toMatch(/scope="mcp", error="insufficient_scope"/);
  expect(await answer.json()).toMatchObject({ error: { data: { reason: 'auth.scope', requiredScopes: ['mcp'] } } });
});

describe('the metadata', () => {
  it.each([
    ['', '/mcp'],
    ['/mcp', '/mcp'],
    ['/mcp/a', '/mcp/a'],
    ['/sse/a', '/sse/a'],
    ['/ws', '/ws'],
  ])('at %s are about that endpoint, for all callers, whatever the Host', async (place, resource) => {
    const document = {
      resource: `${publicUrl}${resource}`,
      authorization_servers: [issuer.issuer],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: proofAlgorithms,
      scopes_supported: ['mcp'],
    };
    for (const headers of [
      {},
      { host: 'evil.example' },
      { 'x-forwarded-host': 'evil.example' },
      { origin: 'http://localhost:1' },
    ]) {
      const answer = await fetch(`${url}${wellKnown}${place}`, { headers });
      expect([answer.status, await answer.json()]).toEqual([200, document]);
    }
  });

  it('can be read by pages that may connect', async () => {
    const origin = { origin: 'http://localhost:5173' };
    expect(
      (await fetch(`${url}${wellKnown}/mcp`, { headers: origin })).headers.get('access-control-allow-origin'),
    ).toBe(origin.origin);
    expect((await fetch(`${url}${wellKnown}/mcp`, { method: 'OPTIONS', headers: origin })).status).toBe(204);
    expect((await fetch(`${url}${wellKnown}/mcp`, { method: 'POST', headers: origin })).status).toBe(405);
  });

  it('are stored by no cache for one origin and shown to another, whoever asked for them first', async () => {
    for (const place of [`${wellKnown}/mcp`, '/.well-known/oauth-authorization-server']) {
      for (const headers of [{}, { origin: 'http://localhost:5173' }])
        expect((await fetch(`${url}${place}`, { headers })).headers.get('vary'), place).toBe('origin');
    }
  });

  it('are there for endpoints that are there', async () => {
    for (const place of ['/mcp/nowhere', '/messages', '/other', '/mcp/a/b', 'x'])
      expect((await fetch(`${url}${wellKnown}${place}`)).status, place).toBe(404);
  });

  it('of the authorization server are at the root too, as it says them, for clients that look nowhere else', async () => {
    const answer = await fetch(`${url}/.well-known/oauth-authorization-server`);
    expect([answer.status, await answer.json()]).toEqual([
      200,
      await (await fetch(`${issuer.issuer}/.well-known/oauth-authorization-server`)).json(),
    ]);
  });

  it.each([
    '/.well-known/oauth-authorization-server?x=1',
    '/.well-known/oauth-authorization-server/',
    '/.well-known/openid-configuration/?x',
    `${wellKnown}?x=1`,
    `${wellKnown}/mcp/?x=1`,
  ])('are found with a query or a slash at the end: %s', async (path) => {
    expect((await fetch(`${url}${path}`)).status).toBe(200);
  });

  it('of an authorization server that does not say them are no fault of ours', async () => {
    issuer.isBroken = true;
    expect((await fetch(`${url}/.well-known/oauth-authorization-server`)).status).toBe(503);
  });
});
