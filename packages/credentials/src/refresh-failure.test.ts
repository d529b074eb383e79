/** What becomes of a user's tokens that could not be refreshed. */
import { expect, it } from 'vitest';
import { ground, invalid, issuer } from './user-under-test.ts';

it.each([
  [302, ''], [403, '<html>'], [404, ''], [405, ''], [408, ''], [429, ''], [500, ''], [400, '{"error":"temporarily_unavailable"}'], [400, '{"error":"server_error"}'],
])('an answer HTTP %i "%s" in place of new tokens says nothing of the sign-in: it is used again afterwards', async (status, body) => {
  const { strict, replica } = await ground(Date.now());
  strict.instead = () => new Response(body, { status });
  const user = replica();
  await expect(user.ask()).rejects.toThrow(/issuer\.example/);
  strict.instead = () => undefined;
  expect(await user.ask()).toEqual({ authorization: 'Bearer access-1' });
});

it.each([[400, '{"error":"invalid_grant"}'], [400, '{"error":"invalid_scope"}'], [400, ''], [401, '{"error":"invalid_client"}']])('an issuer that refuses with HTTP %i "%s" wants the user to sign in again', async (status, body) => {
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
  expect(strict.shown).toEqual([`Basic ${Buffer.from('gateway:wrong').toString('base64')}`, `Basic ${Buffer.from('gateway:right').toString('base64')}`]);
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
  expect(await Promise.all(Array.from({ length: 30 }, () => user.refused(sent, invalid)))).toEqual(Array.from({ length: 30 }, () => true));
  expect([strict.asked.length, strict.looks]).toEqual([1, 1]);
});
