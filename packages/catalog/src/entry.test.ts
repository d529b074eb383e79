import { describe, expect, it } from 'vitest';
import { RepairCounts } from '@omnibus/protocol';
import { checkEntries } from './entry.ts';

const check = (values: readonly unknown[], more: Partial<Parameters<typeof checkEntries>[2]> = {}) =>
  checkEntries('tools', values, { maxEntries: 100, ...more });
const tool = (name: unknown, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more });

describe('a list of a server', () => {
  it('keeps its sound entries when others are of a wrong type', async () => {
    const { entries, rejected } = await check([
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

  it('loses a tool whose input schema is not of type object, and says why', async () => {
    const values = [
      { name: 'none', inputSchema: {} },
      { name: 'array', inputSchema: { type: 'array' } },
      { name: 'either', inputSchema: { type: ['object', 'null'] } },
      tool('fine'),
    ];
    const problem = '"inputSchema" must be of type "object"';
    const { entries, rejected } = await check(values);
    expect(entries.map(({ name }) => name)).toEqual(['fine']);
    expect(rejected).toEqual(['none', 'array', 'either'].map((name) => ({ kind: 'tools', name, problem })));
    const repaired = await check(values, { repairs: new RepairCounts() });
    expect(repaired.entries.map(({ name }) => name)).toEqual(['none', 'either', 'fine']);
    expect(repaired.rejected).toEqual([{ kind: 'tools', name: 'array', problem }]);
  });

  it('loses entries that are too long, too deep or have unreadable names, with a reason', async () => {
    let deep: object = {};
    for (let level = 0; level < 20_000; level += 1) deep = { deep };
    const { entries, rejected } = await check([
      tool('n'.repeat(1_025)),
      tool('large', { _meta: { x: 'x'.repeat(1024 * 1024) } }),
      tool('deep', { _meta: deep }),
      tool('fine'),
    ]);
    expect(entries.map(({ name }) => name)).toEqual(['fine']);
    expect(rejected).toEqual([
      { kind: 'tools', problem: 'its name is longer than 1024 characters' },
      { kind: 'tools', name: 'large', problem: 'it is longer than 1048576 characters' },
      { kind: 'tools', name: 'deep', problem: 'it cannot be written as JSON: Maximum call stack size exceeded' },
    ]);
  });

  it('ends at its bounds, and the report of left out entries is bounded too', async () => {
    const many = await check(Array.from({ length: 101 }, (_, index) => tool(String(index))));
    expect(many.rejected).toEqual([{ kind: 'tools', problem: 'only the first 100 of 101 are kept' }]);
    const long = await check(
      ['a', 'b'].map((name) => tool(name, { description: 'x'.repeat(700) })),
      { maxLength: 1_000 },
    );
    expect(long.rejected).toEqual([{ kind: 'tools', problem: 'only the first 1 of 2 are kept' }]);
    const { entries, rejected } = await check([
      ...Array.from({ length: 20_000 }, () => tool('x'.repeat(500))),
      tool('last'),
    ]);
    expect(entries).toHaveLength(2);
    expect(rejected).toHaveLength(100);
    expect(JSON.stringify(rejected).length).toBeLessThan(150_000);
  });
});
