/** Tokens that a server refuses twice: a token found for the retry can still be refreshed, and a freshly obtained one is useless. */
import { expect, it } from 'vitest';
import { ground, invalid, url } from './user-under-test.ts';

it('a token that was found for the repetition of a request is refreshed when it is refused too, and nobody signs in', async () => {
  const { strict, replica } = await ground(Date.now() + 3_600_000);
  const one = replica();
  // It was sent without a token, when the record could not be read.
  expect(await one.refused({}, invalid)).toBe(true);
  expect(await one.gaveUp(await one.ask(), invalid)).toBe(true);
  expect(await one.ask()).toEqual({ authorization: 'Bearer access-1' });
  expect([strict.asked, one.wanted]).toEqual([['refresh-0'], undefined]);
});

it('so is one that another process has refreshed, which the server refuses by now', async () => {
  const { strict, replica } = await ground(Date.now() + 3_600_000);
  const [one, other] = [replica(), replica()];
  const before = await one.ask();
  expect(await other.refused(await other.ask(), invalid)).toBe(true);
  expect(await one.refused(before, invalid)).toBe(true);
  expect(await one.gaveUp(await one.ask(), invalid)).toBe(true);
  expect(await one.ask()).toEqual({ authorization: 'Bearer access-2' });
  expect(strict.asked).toEqual(['refresh-0', 'refresh-1']);
});

it('one that another process has replaced meanwhile is no reason to give up: there is a newer one', async () => {
  const { strict, at, replica } = await ground(Date.now() + 3_600_000);
  const [one, other] = [at(url), replica()];
  expect(await one.refused({}, invalid)).toBe(true);
  const found = await one.ask();
  expect(await other.refused(await other.ask(), invalid)).toBe(true);
  expect(await one.gaveUp(found, invalid)).toBe(true);
  expect([await one.ask(), strict.asked]).toEqual([{ authorization: 'Bearer access-1' }, ['refresh-0']]);
});

it('one that was obtained for the repetition is useless when it is refused: its user signs in again', async () => {
  const { strict, replica } = await ground(Date.now() + 3_600_000);
  const one = replica();
  expect(await one.refused(await one.ask(), invalid)).toBe(true);
  expect(await one.gaveUp(await one.ask(), invalid)).toBe(false);
  expect([strict.asked, one.wanted, await one.ask(), await replica().ask()]).toEqual([['refresh-0'], invalid, {}, {}]);
});

it('so it is when it had been found first', async () => {
  const { strict, replica } = await ground(Date.now() + 3_600_000);
  const one = replica();
  expect(await one.refused({}, invalid)).toBe(true);
  expect(await one.gaveUp(await one.ask(), invalid)).toBe(true);
  expect(await one.gaveUp(await one.ask(), invalid)).toBe(false);
  expect([strict.asked, one.wanted]).toEqual([['refresh-0'], invalid]);
});

it('for rights that are not enough nothing is obtained anew', async () => {
  const { strict, replica } = await ground(Date.now() + 3_600_000);
  const one = replica();
  expect(await one.gaveUp(await one.ask(), { ...invalid, error: 'insufficient_scope' })).toBe(false);
  expect([strict.asked, await one.ask()]).toEqual([[], { authorization: 'Bearer access-0' }]);
});
