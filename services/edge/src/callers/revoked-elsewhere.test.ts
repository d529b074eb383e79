/** Streams with a token revoked at an issuer that reports no revocations: the edge asks the issuer again while they are open. */
import { once } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { StandInIssuer } from '@omnibus/identity/testing';
import type { Caller } from '@omnibus/protocol';
import { byIssuers, EdgeUnderTest } from '../edge-under-test.ts';

const publicUrl = 'https://mcp.example.com';
/** Longer than answers of issuers are cached, and than the time between two rounds of questions. */
const laterMs = 61_000;

let issuer: StandInIssuer;
let test: EdgeUnderTest;
let callers: readonly Caller[];

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  issuer = await StandInIssuer.start();
  for (const token of ['ann', 'ben'])
    issuer.opaque.set(token, {
      active: true,
      sub: token,
      aud: `${publicUrl}/mcp`,
      scope: 'mcp ops',
      exp: Math.floor(Date.now() / 1_000) + 3_600,
    });
  const introspection = `{ url: "${issuer.issuer}/introspect", clientId: omnibus, clientSecret: secret }`;
  const text = `publicUrl: ${publicUrl}\nsecurity: { allowedHosts: ["*"] }\nauth: { issuers: [{ issuer: "${issuer.issuer}", introspection: ${introspection} }], scopes: [mcp], stepUp: [{ scope: ops, endpoints: [a] }] }\nmcpServers: { a: { url: "http://127.0.0.1:1" } }`;
  test = await EdgeUnderTest.start(text, { authenticate: byIssuers });
  callers = await test.serveStateless();
});

afterEach(async () => {
  vi.useRealTimers();
  await test[Symbol.asyncDispose]();
  expect(test.faults).toEqual([]);
  await issuer[Symbol.asyncDispose]();
});

const revoke = (token: string): unknown => issuer.opaque.set(token, { active: false });
const questions = (): number => issuer.asked.filter((path) => path === '/introspect').length;
const subscription = (token: string, path = '/mcp'): Promise<Response> =>
  test.postStateless({ authorization: `Bearer ${token}`, accept: 'text/event-stream' }, path, 'subscriptions/listen');
const eventSource = (token: string): Promise<Response> =>
  fetch(`${test.origin}/sse`, { headers: { accept: 'text/event-stream', authorization: `Bearer ${token}` } });

async function webSocket(): Promise<WebSocket> {
  const socket = new WebSocket(`${test.origin.replace('http', 'ws')}/ws`, 'mcp', {
    headers: { authorization: 'Bearer ann' },
  });
  await once(socket, 'open');
  return socket;
}

/** The groups with which a message over a WebSocket reaches a worker. */
async function groupsOver(socket: WebSocket): Promise<readonly string[] | undefined> {
  const answered = once(socket, 'message');
  socket.send(test.stateless({}, 'tools/list').body);
  await answered;
  return callers.at(-1)?.facts?.groups;
}

it.each([
  ['a subscription', subscription],
  ['a stream of HTTP+SSE', eventSource],
])('%s ends when the issuer no longer confirms its token, and those of others go on', async (_what, open) => {
  const [hers, his] = [await open('ann'), await open('ben')];
  let hasHisEnded = false;
  const rest = his.text().then(() => {
    hasHisEnded = true;
  });
  revoke('ann');
  vi.advanceTimersByTime(laterMs);
  await hers.text();
  expect(hasHisEnded).toBe(false);
  revoke('ben');
  vi.advanceTimersByTime(laterMs);
  await rest;
});

it('a stream ends when its token no longer has the scope of the endpoint, and one at another endpoint goes on', async () => {
  const [there, elsewhere] = [await subscription('ann', '/mcp/a'), await subscription('ann')];
  let hasOtherEnded = false;
  const rest = elsewhere.text().then(() => {
    hasOtherEnded = true;
  });
  issuer.opaque.set('ann', { ...issuer.opaque.get('ann'), scope: 'mcp' });
  vi.advanceTimersByTime(laterMs);
  await there.text();
  expect(hasOtherEnded).toBe(false);
  issuer.opaque.set('ann', { ...issuer.opaque.get('ann'), scope: '' });
  vi.advanceTimersByTime(laterMs);
  await rest;
});

it('a WebSocket closes when the issuer no longer confirms its token', async () => {
  const socket = await webSocket();
  revoke('ann');
  vi.advanceTimersByTime(laterMs);
  expect((await once(socket, 'close'))[0]).toBe(1008);
});

it('a WebSocket whose token gives other groups now goes on with those', async () => {
  const socket = await webSocket();
  expect(await groupsOver(socket)).toEqual([]);
  issuer.opaque.set('ann', { ...issuer.opaque.get('ann'), groups: ['ops'] });
  vi.advanceTimersByTime(laterMs);
  await expect.poll(() => groupsOver(socket)).toEqual(['ops']);
  socket.terminate();
});

it('while the issuer does not answer, a WebSocket goes on with the groups that were told last, and not with those it was opened with', async () => {
  issuer.opaque.set('ann', { ...issuer.opaque.get('ann'), groups: ['ops'] });
  const socket = await webSocket();
  expect(await groupsOver(socket)).toEqual(['ops']);
  issuer.opaque.set('ann', { ...issuer.opaque.get('ann'), groups: [] });
  vi.advanceTimersByTime(laterMs);
  await expect.poll(() => groupsOver(socket)).toEqual([]);
  issuer.isBroken = true;
  // The second round of questions begins when the answers of the first have taken effect.
  for (let round = 0; round < 2; round += 1) {
    const before = questions();
    vi.advanceTimersByTime(laterMs);
    await expect.poll(questions).toBeGreaterThan(before);
  }
  expect(await groupsOver(socket)).toEqual([]);
  socket.terminate();
});

it('while the issuer does not answer, a stream goes on; many streams by one token cost one question', async () => {
  const streams = [await subscription('ann'), await subscription('ann'), await eventSource('ann')];
  let ended = 0;
  const all = Promise.all(
    streams.map(async (stream) => {
      await stream.text();
      ended += 1;
    }),
  );
  expect(questions()).toBe(1);
  issuer.isBroken = true;
  vi.advanceTimersByTime(laterMs);
  await expect.poll(questions).toBeGreaterThan(1);
  issuer.isBroken = false;
  await expect.poll(async () => (await test.postStateless({ authorization: 'Bearer ann' })).status).toBe(200);
  expect(ended).toBe(0);
  const before = questions();
  revoke('ann');
  vi.advanceTimersByTime(laterMs);
  await all;
  expect(questions() - before).toBe(1);
});
