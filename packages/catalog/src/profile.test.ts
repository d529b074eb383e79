import { expect, it } from 'vitest';
import { toolFilter, type EndpointDefinition } from './profile.ts';

it('a tool does not dodge a glob by slashes, dots or line breaks in its name', () => {
  const isShown = toolFilter({ tools: ['!a/*', '!b/drop*'] });
  for (const key of ['a/x', 'a/x/y', 'a//', 'a/.hidden', 'a/..', 'a/x\ny', 'b/drop', 'b/drop/all', 'b/drop\n/.x'])
    expect(isShown(key), key).toBe(false);
  for (const key of ['ab/x', 'b/a/x', 'b/keep']) expect(isShown(key), key).toBe(true);
});

it.each([
  ['a/get_*', ['a/get_', 'a/get_one', 'a/get_one/two'], ['a/get', 'b/get_one']],
  ['a/**', ['a/x', 'a/x/y', 'a/'], ['ab/x']],
  ['*/search', ['a/search', 'b/x/search'], ['a/searches', 'search']],
  ['a/?et', ['a/get', 'a/😀et'], ['a/et', 'a/gget']],
  ['a/[gs]et_[!0-9]', ['a/get_x', 'a/set_y'], ['a/let_x', 'a/get_1']],
  ['a/{get,set}_{one,two}', ['a/get_one', 'a/set_two'], ['a/get_', 'a/{get,set}_one']],
  [String.raw`a/\*`, ['a/*'], ['a/x']],
  ['a/x.y', ['a/x.y'], ['a/xzy']],
  ['a/*b*b', ['a/bb', 'a/xbxb'], ['a/b']],
])('the glob %s gives what it says', (glob, given, others) => {
  const isShown = toolFilter({ tools: [glob] });
  for (const key of given) expect(isShown(key), key).toBe(true);
  for (const key of others) expect(isShown(key), key).toBe(false);
});

it('many stars and a long name take no longer than both are long', () => {
  const isShown = toolFilter({ tools: [`a/${'*x'.repeat(12)}*y`] });
  // An expression that tries every split would not be done within the time that a test has.
  expect(isShown(`a/${'x'.repeat(20_000)}`)).toBe(false);
});

it('what a server does not offer is in no selection, by its own names or globs', () => {
  const offered = new Map([
    ['a', { only: ['get_*', 'put'], not: ['get_secret'] }],
    ['b', { only: undefined, not: ['drop*'] }],
    ['c', { only: [], not: [] }],
  ] as const);
  const isShown = toolFilter({
    tools: ['*/*'],
    offered: offered as unknown as NonNullable<EndpointDefinition['offered']>,
  });
  for (const key of ['a/get_one', 'a/put', 'b/x', 'd/anything']) expect(isShown(key), key).toBe(true);
  for (const key of ['a/get_secret', 'a/other', 'b/drop', 'b/drop_all', 'c/x']) expect(isShown(key), key).toBe(false);
});
