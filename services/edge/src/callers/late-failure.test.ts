import { once } from 'node:events';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Authenticator } from '@omnibus/identity';
import { fault } from '@omnibus/protocol';
import { EdgeUnderTest } from '../edge-under-test.ts';

let test: EdgeUnderTest;

beforeEach(async () => {
  test = await EdgeUnderTest.start('', {
    authenticate: async () =>
      Object.assign(await Authenticator.open({ issuers: [], warn: () => undefined }), {
        authenticate: () => Promise.resolve({ fault: fault('auth.invalid') }),
      }),
    audit: {
      isStrict: false,
      wantsResults: false,
      wants: () => true,
      record: () => {
        throw new Error('a bug in the audit');
      },
      confirm: () => Promise.resolve(true),
    },
  });
});

afterEach(() => test[Symbol.asyncDispose]());

it('a request is answered when the gateway fails after it has asked an issuer', async () => {
  const answer = await test.postStateless({});
  expect(answer.status).toBe(500);
  expect(await answer.json()).toMatchObject({ error: { data: { reason: 'internal.error' } } });
});

it('a WebSocket is refused when the gateway fails after it has asked an issuer', async () => {
  const socket = new WebSocket(`${test.origin.replace('http', 'ws')}/ws`);
  socket.on('error', () => undefined);
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
  expect(answer.statusCode).toBe(500);
  socket.terminate();
});
