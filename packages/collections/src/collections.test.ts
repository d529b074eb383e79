import { array, assert, boolean, constantFrom, nat, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyedLink, KeyedRing } from './keyed-ring.ts';
import { Pieces } from './pieces.ts';
import { Link, Ring } from './ring.ts';
import { SlotTable } from './slot-table.ts';

class Member extends Link {
  readonly number: number;

  constructor(number: number) {
    super();
    this.number = number;
  }
}

describe('a ring', () => {
  it('holds what was added and not removed, in order', () => {
    assert(
      property(array(boolean()), (removals) => {
        const ring = new Ring<Member>();
        const members = removals.map((_, number) => new Member(number));
        for (const member of members) ring.add(member);
        members.forEach((member, number) => {
          if (removals[number] === true) expect(ring.remove(member)).toBe(true);
        });
        const kept = members.filter((_, number) => removals[number] !== true);
        expect(ring.toArray()).toEqual(kept);
        expect(ring.size).toBe(kept.length);
        expect(ring.first).toBe(kept[0]);
        const last = kept.at(-1)?.number ?? 0;
        expect(ring.newest(({ number }) => number > last / 2)).toEqual(
          kept.filter(({ number }) => number > last / 2).toReversed(),
        );
        for (const member of members) expect(ring.has(member)).toBe(kept.includes(member));
      }),
    );
  });

  it('removes a member once', () => {
    const ring = new Ring<Member>();
    const member = new Member(1);
    ring.add(member);
    expect([ring.remove(member), ring.remove(member), ring.size]).toEqual([true, false, 0]);
  });
});

class Keyed extends KeyedLink {
  /** How often it was compared with a key. */
  looks = 0;
  readonly #key: string;

  constructor(key: string) {
    super();
    this.#key = key;
  }

  get key(): string {
    this.looks += 1;
    return this.#key;
  }
}

describe('a keyed ring', () => {
  it('finds what was added and not removed by its key, and keeps the order', () => {
    assert(
      property(array(boolean(), { maxLength: 1_000 }), (removals) => {
        const ring = new KeyedRing<Keyed>();
        const members = removals.map((_, number) => new Keyed(`w.${number}`));
        for (const member of members) ring.add(member);
        members.forEach((member, number) => {
          if (removals[number] === true) expect(ring.remove(member)).toBe(true);
        });
        const kept = members.filter((_, number) => removals[number] !== true);
        expect(ring.toArray()).toEqual(kept);
        members.forEach((member, number) =>
          expect(ring.get(member.key)).toBe(removals[number] === true ? undefined : member),
        );
      }),
    );
  });

  it('looks at a small part of its members to find one', () => {
    const ring = new KeyedRing<Keyed>();
    const members = Array.from({ length: 10_000 }, (_, number) => new Keyed(`worker.${number.toString(36)}`));
    for (const member of members) ring.add(member);
    for (const member of members) member.looks = 0;
    expect(ring.get('worker.none')).toBeUndefined();
    expect(members.reduce((sum, { looks }) => sum + looks, 0)).toBeLessThan(300);
  });
});

describe('a slot table', () => {
  it('finds each value under its own handle and gives no handle twice', () => {
    assert(
      property(array(nat(5)), (steps) => {
        const table = new SlotTable<string>();
        const held = new Map<number, string>();
        const used = new Set<number>();
        steps.forEach((step, number) => {
          const handles = [...held.keys()];
          if (step > 0 || handles.length === 0) {
            const handle = table.add(`value ${number}`);
            expect(used.has(handle) || handle === 0).toBe(false);
            used.add(handle);
            held.set(handle, `value ${number}`);
          } else {
            const handle = handles[number % handles.length] as number;
            expect(table.take(handle)).toBe(held.get(handle));
            held.delete(handle);
          }
          for (const handle of used) expect(table.get(handle)).toBe(held.get(handle));
          expect(table.size).toBe(held.size);
          expect(new Map(table.toArray())).toEqual(held);
        });
      }),
    );
  });

  it('knows nothing under numbers it never gave', () => {
    const table = new SlotTable<string>();
    table.add('one');
    for (const handle of [0, 1, -1, 0.5, 2 ** 52, Number.NaN]) expect(table.take(handle)).toBeUndefined();
  });
});

describe('pieces', () => {
  const numbered = (length: number, number: number): Buffer => Buffer.alloc(length, number);

  it('are all there, in order, and few for their bytes', () => {
    assert(
      property(array(constantFrom(0, 1, 20, 1_023, 1_024, 5_000), { maxLength: 300 }), (lengths) => {
        const came = lengths.map(numbered);
        const pieces = new Pieces(...came.slice(0, 2));
        for (const piece of came.slice(2)) pieces.add(piece);
        const all = Buffer.concat(came);
        expect(pieces.bytes).toBe(all.length);
        expect(pieces.joined().equals(all)).toBe(true);
        expect(Buffer.concat(pieces.all).equals(all)).toBe(true);
        expect(pieces.all.length).toBeLessThanOrEqual((2 * all.length) / 1_024 + 1);
      }),
    );
  });

  it('go on after they were looked at', () => {
    const pieces = new Pieces(Buffer.from('a'));
    expect(pieces.joined().toString()).toBe('a');
    pieces.add(Buffer.from('b'));
    expect(pieces.joined().toString()).toBe('ab');
  });

  it.each([1_024, 1_500, 5_000, 32_767])('of %i bytes hold little more, whatever was read with them', (length) => {
    const pieces = new Pieces();
    for (let number = 0; number < 200; number += 1) pieces.add(numbered(65_536, number).subarray(100, 100 + length));
    let held = 0;
    for (const { byteLength } of new Set(pieces.all.map(({ buffer }) => buffer))) held += byteLength;
    expect(held).toBeLessThan(2 * pieces.bytes);
  });

  it('that are most of what was read are not copied', () => {
    const piece = numbered(65_536, 1).subarray(32_768);
    const pieces = new Pieces(piece, piece);
    expect([pieces.all[0] === piece, pieces.all[1] === piece]).toEqual([true, true]);
  });

  it('that are small are copied', () => {
    const piece = Buffer.from('a');
    const pieces = new Pieces(piece);
    piece.write('b');
    pieces.add(piece);
    expect(pieces.joined().toString()).toBe('ab');
  });
});
