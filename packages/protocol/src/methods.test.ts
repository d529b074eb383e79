import { expect, it } from 'vitest';
import { paramsProblem } from './methods.ts';

it('parameters whose _meta is no object are refused before anything is added to it', () => {
  for (const meta of ['x'.repeat(1_000), 7, null, [], true]) expect(paramsProblem('tools/call', { name: 'a', _meta: meta })).toBe('params._meta must be an object');
  expect(paramsProblem('tools/call', { name: 'a', _meta: { progressToken: 1 } })).toBeUndefined();
});
