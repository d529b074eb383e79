/** Streams and connections end with the token that they were opened with. */
import { once } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { StandInIssuer } from '@omnibus/identity/testing';
import { byIssuers, EdgeUnderTest } from '../edge-under-test.ts';

const publicUrl = 'https://mcp.example.com';
const goodMs = 600_000;

let issuer: StandInIssuer;
let test: EdgeUnderTest;
let authorization: string;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['performance'], shouldAdvanceTime: true });
  issuer = await StandInIssuer.start();
  test = await EdgeUnderTest.start(
    `publicUrl: ${publicUrl}\nsecurity: { allowedHosts: ["*"] }\nauth: { issuers: [{ issuer: "${issuer.issuer}" }] }\nmcpServers: { a: { url: "http://127.0.0.1:1" } }`,
    { authenticate: byIssuers },
  );
  await test.serveStateless();
  const exp = Math.floor((Date.now() + goodMs) / 1_000);
  authorization = `Bearer ${await issuer.token({ sub: 'ann', aud: `${publicUrl}/mcp`, exp })}`;
});

afterEach(async () => {
  await test[Symbol.asyncDispose]();
  expect(test.faults).toEqual([]);
  await issuer[Symbol.asyncDispose]();
  vi.useRealTimers();
});

/** Lets the time pass that the token is good for, and half a minute by which clocks may differ. */
const passTime = (): void => void vi.advanceTimersByTime(goodMs + 31_000);

it('a subscription ends', async () => {
  const answer = await test.postStateless(
    { authorization, accept: 'text/event-stream' },
    '/mcp',
    'subscriptions/listen',
  );
  expect(answer.status).toBe(200);
  passTime();
  expect(await answer.text()).toContain('acknowledged');
});

it('a stream of HTTP+SSE ends', async () => {
  const answer = await fetch(`${test.origin}/sse`, { headers: { accept: 'text/event-stream', authorization } });
  passTime();
  expect(await answer.text()).toContain('event: endpoint');
});

it('a WebSocket closes', async () => {
  const socket = new WebSocket(`${test.origin.replace('http', 'ws')}/ws`, 'mcp', { headers: { authorization } });
  await once(socket, 'open');
  passTime();
  expect((await once(socket, 'close'))[0]).toBe(1008);
});
