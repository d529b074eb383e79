import { expect, it } from 'vitest';
import { Twins } from './twins.ts';

const twins = new Twins((path) => (path === 'kept/key' ? 'secret\n' : undefined));

it('entries are one server only if nothing in them differs', () => {
  const entry = { url: 'https://a.test/mcp', headers: { Authorization: 'secret' } };
  for (const [other, options] of [
    [{ ...entry, headers: { Authorization: 'other' } }, ['headers']],
    [{ ...entry, url: 'https://a.test/mcp?team=b' }, ['url']],
    [{ ...entry, env: { A: 'a' } }, ['env']],
    [{ ...entry, excludeTools: ['x'] }, ['excludeTools']],
    [{ ...entry, type: 'sse' }, ['type']],
  ] as const)
    expect(twins.differences(entry, other)).toEqual(options);
  expect(twins.differences({ command: 'a', args: ['x'] }, { command: 'a', args: ['y'] })).toEqual(['args']);
});

it('a secret in a file is the same as in the entry, and what says nothing new is no difference', () => {
  expect(
    twins.differences(
      { type: 'http', url: 'https://a.test/mcp/', headers: { Authorization: '${file:kept/key}' }, disabled: false },
      { url: 'https://a.test/mcp', headers: { Authorization: 'secret' }, args: [], env: {} },
    ),
  ).toEqual([]);
  expect(twins.differences({ headers: { A: '${file:gone}' } }, { headers: { A: 'secret' } })).toEqual(['headers']);
});

it('limits and selections do not make another server of an entry, credentials and tools of its program do', () => {
  expect(twins.areOneServer(['timeout', 'excludeTools', 'disabled'])).toBe(true);
  for (const option of ['headers', 'env', 'args', 'credentials', 'cwd'])
    expect(twins.areOneServer([option])).toBe(false);
});
