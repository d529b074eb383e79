import { expect, it } from 'vitest';
import type { Allowed } from './people.ts';
import { programOf, shownProgram } from './programs.ts';

it('no id of a program can be read as an option of a command', () => {
  const allowed = Array.from({ length: 500 }, (_, each): Allowed => ({
    grantId: `grant${each}`,
    clientId: 'client',
    clientName: undefined,
    redirectHosts: [],
    scopes: [],
    resources: [],
    at: 0,
  }));
  const ids = allowed.map((each) => shownProgram(each).id);
  expect(ids.filter((id) => !/^\w/.test(id))).toEqual([]);
  expect(ids.map((id) => programOf(allowed, id)?.grantId)).toEqual(allowed.map(({ grantId }) => grantId));
});
