import { describe, expect, it } from 'vitest';
import { checkEntries } from './entry.ts';

const check = (values: readonly unknown[], maxEntries = 100) => checkEntries('tools', values, maxEntries);
const tool = (name: unknown, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more });

describe('a list of a server', () => {
  it('keeps its sound entries when others are of a wrong type', () => {
    const { entries, rejected } = check([
      null,
      1,
      [],
      'x',
      {},
      tool(''),
      tool(7),
      { name: 'a' },
      { name: 'a', inputSchema: [] },
      tool('a'),
      tool('a'),
      tool('__proto__'),
      tool('constructor'),
      tool(' '),
    ]);
    expect(entries.map(({ name }) => name)).toEqual(['a', '__proto__', 'constructor', ' ']);
    expect(rejected).toHaveLength(10);
  });

  it('loses a tool whose input schema is not of type object, and says why', () => {
    const { entries, rejected } = check([
      { name: 'none', inputSchema: {} },
      { name: 'array', inputSchema: { type: 'array' } },
      { name: 'either', inputSchema: { type: ['object', 'null'] } },
      tool('fine'),
    ]);
    expect(entries.map(({ name }) => name)).toEqual(['fine']);
    expect(rejected).toEqual([0, 1, 2].map((index) => `tools[${index}]: "inputSchema" must be of type "object"`));
  });

  it('loses entries that are too long, too deep or have names nobody can read, with a reason', () => {
    let deep: object = {};
    for (let level = 0; level < 20_000; level += 1) deep = { deep };
    const { entries, rejected } = check([
      tool('n'.repeat(1_025)),
      tool('large', { _meta: 'x'.repeat(1024 * 1024) }),
      tool('deep', { _meta: deep }),
      tool('fine'),
    ]);
    expect(entries.map(({ name }) => name)).toEqual(['fine']);
    expect(rejected).toEqual([
      'tools[0]: its name is longer than 1024 characters',
      'tools[1]: it is longer than 1048576 characters',
      'tools[2]: it cannot be written as JSON: Maximum call stack size exceeded',
    ]);
  });

  it('ends at its bounds, and what is said of what was left out is bounded too', { timeout: 20_000 }, () => {
    expect(check(Array.from({ length: 101 }, (_, index) => tool(String(index)))).rejected).toEqual([
      'tools: only the first 100 of 101 are kept',
    ]);
    expect(
      checkEntries(
        'tools',
        [tool('a', { description: 'x'.repeat(700) }), tool('b', { description: 'x'.repeat(700) })],
        100,
        1_000,
      ).rejected,
    ).toEqual(['tools: only the first 1 of 2 are kept']);
    const { entries, rejected } = check([...Array.from({ length: 20_000 }, () => tool('x'.repeat(500))), tool('last')]);
    expect(entries).toHaveLength(2);
    expect(rejected).toHaveLength(100);
    expect(rejected.join('').length).toBeLessThan(50_000);
  });
});
