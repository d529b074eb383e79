import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitName, maxNameLength, prefixedName, publicNames } from './names.ts';

const entry = fc.record({
  server: fc.constantFrom('a', 'b', 'a_', 'long-server-name'),
  original: fc.string({ minLength: 1, maxLength: 100 }),
});

describe('public names', () => {
  it('are the original where it fits', () => {
    expect(fitName('read_file')).toBe('read_file');
    expect(prefixedName({ server: 'files', original: 'read_file' })).toBe('files__read_file');
  });

  it('are cut to the length that the operator leaves for them, also where they collide, except those that the operator chose', () => {
    const entries = ['x'.repeat(60), 'y'.repeat(29), 'y!'.repeat(15)].map((original) => ({ server: 'a', original }));
    for (const prefixed of [true, false]) {
      const names = [...publicNames(entries, prefixed, new Map([[`a/${'x'.repeat(60)}`, 'z'.repeat(60)]]), 32).keys()];
      expect(new Set(names).size).toBe(3);
      expect(names.map(({ length }) => length)).toEqual([60, prefixed ? 32 : 29, 32]);
    }
  });

  it('are shortened with a hash that does not depend on other names', () => {
    const long = prefixedName({ server: 'files', original: 'x'.repeat(80) });
    expect(long).toHaveLength(maxNameLength);
    expect(long).toBe(prefixedName({ server: 'files', original: 'x'.repeat(80) }));
    expect(long).not.toBe(prefixedName({ server: 'files', original: 'x'.repeat(81) }));
  });

  it('keep both of two tools that would collide, with the prefix', () => {
    const names = publicNames(
      [
        { server: 'a', original: 'search' },
        { server: 'b', original: 'search' },
        { server: 'b', original: 'list' },
      ],
      false,
      new Map(),
    );
    expect([...names.keys()]).toEqual(['a__search', 'b__search', 'list']);
  });

  it('can be chosen by the operator', () => {
    const names = publicNames([{ server: 'a', original: 'search' }], true, new Map([['a/search', 'find']]));
    expect([...names.keys()]).toEqual(['find']);
  });

  it('lead back to exactly the entry they were made for, within length and alphabet', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(entry, { selector: ({ server, original }) => `${server}/${original}` }),
        fc.boolean(),
        (entries, prefixed) => {
          const names = publicNames(entries, prefixed, new Map());
          expect(new Set(names.values())).toEqual(new Set(entries));
          for (const name of names.keys()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        },
      ),
    );
  });

  it(
    'are distinct for 10,000 tools whose names begin alike and have forbidden characters, in reasonable time',
    { timeout: 60_000 },
    () => {
      const began = Date.now();
      const entries = Array.from({ length: 10_000 }, (_, index) => ({
        server: 'a',
        original: ([' ', '/', '💥', '\u0000', '_'][index % 5] as string).repeat(70 + (index % 3)) + String(index),
      }));
      const names = publicNames(entries, true, new Map());
      expect(names.size).toBe(10_000);
      expect(Date.now() - began).toBeLessThan(20_000);
    },
  );

  it('tell names apart that differ only in halves of surrogate pairs', () => {
    const entries = ['\u{d800}', '\u{d801}', '\u{fffd}', '\u{d800}'].map((original, index) => ({
      server: index === 3 ? 'b' : 'a',
      original,
    }));
    expect(publicNames(entries, false, new Map()).size).toBe(4);
  });

  it("give way until they are free when an operator's choice is in the way", () => {
    const entries = [
      { server: 'a', original: 'x' },
      { server: 'b', original: 'y' },
      { server: 'a__b', original: 'x' },
      { server: 'a', original: 'b__x' },
    ];
    const first = publicNames(entries, true, new Map());
    const taken = [...first.keys()][3] as string;
    const names = publicNames(
      entries,
      true,
      new Map([
        ['a/x', taken],
        ['b/y', taken],
      ]),
    );
    expect(new Set(names.values())).toEqual(new Set(entries));
  });
});
