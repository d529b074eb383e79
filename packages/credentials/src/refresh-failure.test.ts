/** What becomes of a user's tokens that could not be refreshed. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Connection } from './sign-in.ts';
import { ground, invalid, issuer, place } from './user-under-test.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
afterEach(() => void vi.useRealTimers());

it.each([
  [302, ''],
  [403, '<html>'],
  [404, ''],
  [405, ''],
  [408, ''],
  [429, ''],
  [500, ''],
  [400, '{"error":"temporarily_unavailable"}'],
  [400, '{"error":"server_error"}'],
])(
  'an answer HTTP %i "%s" in place of new tokens says nothing of the sign-in: it is used again afterwards',
  async (status, body) => {
    const { strict, replica } = await ground(Date.now());
    strict.instead = () => new Response(body, { status });
    const user = replica();
    await expect(user.ask()).rejects.toThrow(/issuer\.example/);
    strict.instead = () => undefined;
    vi.advanceTimersByTime(500);
    expect(await user.ask()).toEqual({ authorization: 'Bearer access-1' });
  },
);

it.each([
  [400, '{"error":"invalid_grant"}'],
  [400, '{"error":"invalid_scope"}'],
  [400, ''],
  [401, '{"error":"invalid_client"}'],
])('an issuer that refuses with HTTP %i "%s" wants the user to sign in again', async (status, body) => {
  const { strict, replica } = await ground(Date.now());
  strict.instead = () => new Response(body, { status });
  const user = replica();
  expect(await user.ask()).toEqual({});
  strict.instead = () => undefined;
  expect(await user.ask()).toEqual({});
});

it('a client of the configuration that its issuer refuses is a matter of the configuration: users need not sign in again', async () => {
  const { strict, of } = await ground(Date.now());
  strict.instead = () => new Response('{"error":"invalid_client"}', { status: 401 });
  await expect(of({ clientId: 'gateway', clientSecret: 'wrong' }).ask()).rejects.toThrow('`clientId`');
  strict.instead = () => undefined;
  expect(await of({ clientId: 'gateway', clientSecret: 'right' }).ask()).toEqual({ authorization: 'Bearer access-1' });
  expect(strict.shown).toEqual([
    `Basic ${Buffer.from('gateway:wrong').toString('base64')}`,
    `Basic ${Buffer.from('gateway:right').toString('base64')}`,
  ]);
});

it('tokens are refreshed where the issuer has its token endpoint by now', async () => {
  const { strict, replica } = await ground(Date.now());
  strict.tokenEndpoint = `${issuer}/v2/token`;
  expect(await replica().ask()).toEqual({ authorization: 'Bearer access-1' });
});

it('a user whose issuer cannot be asked any more, since the server trusts another by now, is asked to sign in', async () => {
  const { strict, replica } = await ground(Date.now());
  strict.instead = () => new Response('', { status: 502 });
  strict.trusted = 'https://other.example';
  expect(await replica().ask()).toEqual({});
});

it('a token with a short life is used for half of it', async () => {
  const { strict, replica } = await ground(Date.now());
  strict.life = 20;
  const user = replica();
  await user.ask();
  expect(user.current).toEqual({ authorization: 'Bearer access-1' });
  expect(await replica().ask()).toEqual({ authorization: 'Bearer access-1' });
});

it('whatever many requests are refused at the same time, the documents of the server are read once', async () => {
  const { strict, replica } = await ground(Date.now() + 3_600_000);
  const user = replica();
  const sent = await user.ask();
  expect(await Promise.all(Array.from({ length: 30 }, () => user.refused(sent, invalid)))).toEqual(
    Array.from({ length: 30 }, () => true),
  );
  expect([strict.asked.length, strict.looks]).toEqual([1, 1]);
});

it('an issuer that is down is asked again after half a second, and after twice as long each time, whatever many calls there are', async () => {
  const { strict, replica } = await ground(Date.now());
  strict.instead = () => new Response('', { status: 503 });
  const user = replica();
  const waits: number[] = [];
  for (let [tenths, asked] = [0, 0]; waits.length < 9; tenths += 1) {
    await expect(user.ask()).rejects.toThrow('HTTP 503');
    if (strict.shown.length > asked) waits.push(tenths / 10);
    asked = strict.shown.length;
    vi.advanceTimersByTime(100);
  }
  expect(waits).toEqual([0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 61.5, 91.5]);
  strict.instead = () => undefined;
  vi.advanceTimersByTime(30_000);
  expect(await user.ask()).toEqual({ authorization: 'Bearer access-1' });
});

it('who signs in anew while an issuer is left alone does not wait for it', async () => {
  const { strict, vault, replica } = await ground(Date.now());
  strict.instead = () => new Response('', { status: 503 });
  const user = replica();
  await expect(user.ask()).rejects.toThrow('HTTP 503');
  const kept = await vault.get<Connection>(place);
  await vault.put(place, issuer, {
    ...(kept?.value as Connection),
    tokens: { accessToken: 'access-a', expiresAt: Date.now(), refreshToken: 'refresh-0', scope: undefined },
  });
  strict.instead = () => undefined;
  expect(await user.ask()).toEqual({ authorization: 'Bearer access-1' });
});

it('a token is used as long as it is good where it could not be replaced before', async () => {
  const { strict, replica } = await ground(Date.now() + 10_000);
  strict.instead = () => new Response('', { status: 503 });
  const user = replica();
  expect(await user.ask()).toEqual({ authorization: 'Bearer access-0' });
  expect(await user.ask()).toEqual({ authorization: 'Bearer access-0' });
  expect(strict.shown.length).toBe(1);
  // A server that refuses it all the same is believed.
  await expect(user.refused({ authorization: 'Bearer access-0' }, invalid)).rejects.toThrow('HTTP 503');
  vi.advanceTimersByTime(10_000);
  await expect(user.ask()).rejects.toThrow('HTTP 503');
  strict.instead = () => undefined;
  vi.advanceTimersByTime(1_000);
  expect(await user.ask()).toEqual({ authorization: 'Bearer access-1' });
});
