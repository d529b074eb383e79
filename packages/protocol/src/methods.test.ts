import { expect, it } from 'vitest';
import { paramsProblem } from './methods.ts';

it('arguments that are null are none', () => {
  for (const method of ['tools/call', 'prompts/get'] as const) {
    expect(paramsProblem(method, { name: 'a', arguments: null })).toBeUndefined();
    expect(paramsProblem(method, { name: 'a', arguments: [] })).toBe('params.arguments must be an object');
  }
});

it('parameters whose _meta is no object are refused before anything is added to it', () => {
  for (const meta of ['x'.repeat(1_000), 7, null, [], true])
    expect(paramsProblem('tools/call', { name: 'a', _meta: meta })).toBe('params._meta must be an object');
  expect(paramsProblem('tools/call', { name: 'a', _meta: { progressToken: 1 } })).toBeUndefined();
});
