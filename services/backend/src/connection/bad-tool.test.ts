/** What one bad tool of a server, or one caller of it, may not take from other callers. */
import { expect, it } from 'vitest';
import type { SessionKey } from '@omnibus/protocol';
import { AdapterUnderTest, type HeardByServer } from '../adapter-under-test.ts';

const [one, other] = ['session one', 'session two'] as unknown as [SessionKey, SessionKey];
const toolOf = ({ method, params }: HeardByServer): unknown => (method === 'tools/call' ? params?.['name'] : undefined);

it('a tool whose errors come with HTTP 404 and the own id of the request costs no caller the session of its server', async () => {
  await using it = await AdapterUnderTest.start({
    says: (message, response) => {
      if (toolOf(message) !== 'bad') return undefined;
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32_001, message: 'no such page' } }));
      return 'silence';
    },
  });
  await it.adapter.firstAttempt;
  for (let count = 0; count < 6; count += 1)
    expect(await it.call(one, 'tools/call', { name: 'bad' })).toMatchObject({
      kind: 'error',
      error: { message: 'no such page' },
    });
  expect(await it.call(other, 'tools/call', { name: 'act' })).toMatchObject({ kind: 'result' });
  expect([it.count('initialize'), it.count('ping')]).toEqual([1, 0]);
});

it('the lists of a server that fails requests and pings stay until a handshake shows that it is down', async () => {
  let isBroken = false;
  let isDown = false;
  await using it = await AdapterUnderTest.start(
    {
      says: (message, response) => {
        const isRefused = isDown || (isBroken && (message.method === 'tools/call' || message.method === 'ping'));
        if (!isRefused) return undefined;
        response.writeHead(500).end();
        return 'silence';
      },
    },
    { restart: { minDelay: '200ms', maxDelay: '200ms' } },
  );
  await it.adapter.firstAttempt;
  isBroken = true;
  for (let count = 0; count < 5; count += 1) await it.call(one, 'tools/call', { name: 'act' });
  await expect.poll(() => it.record.problem).toContain('5 requests in a row failed, and so did a ping');
  expect([it.record.status, it.tools]).toEqual(['up', ['act']]);
  expect(await it.call(other, 'tools/call', { name: 'act' })).toMatchObject({
    kind: 'fault',
    fault: { reason: 'upstream.unavailable' },
  });
  await expect.poll(() => it.count('initialize')).toBe(2);
  await expect.poll(() => [it.record.status, it.record.problem]).toEqual(['up', undefined]);
  isDown = true;
  for (let count = 0; count < 5; count += 1) await it.call(one, 'tools/call', { name: 'act' });
  await expect.poll(() => it.record.status).toBe('down');
});
