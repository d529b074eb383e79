import { expect, it } from 'vitest';
import type { Allowed } from './people.ts';
import { programOf, revoke, shownProgram } from './programs.ts';

const allowedAs = (grantId: string): Allowed => ({
  grantId,
  clientId: 'client',
  clientName: undefined,
  redirectHosts: [],
  scopes: [],
  resources: [],
  at: 0,
});

it('no id of a program can be read as an option of a command', () => {
  const allowed = Array.from({ length: 500 }, (_, each) => allowedAs(`grant${each}`));
  const ids = allowed.map((each) => shownProgram(each).id);
  expect(ids.filter((id) => !/^\w/.test(id))).toEqual([]);
  expect(ids.map((id) => programOf(allowed, id)?.grantId)).toEqual(allowed.map(({ grantId }) => grantId));
});

it('a revocation that ends the tokens counts, although the store does not remove the consent', async () => {
  const away = { takeBack: () => Promise.reject(new Error('the store is away')) };
  const ended = (has: boolean) => revoke(away, { has: () => has }, 'ann', allowedAs('grant'));
  expect(await ended(true)).toEqual({ client: 'client', problem: 'the store is away' });
  await expect(ended(false)).rejects.toThrow('the store is away');
});
