import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Lines } from './lines.ts';

function add(lines: Lines, text: string): void {
  lines.begin().bytes(Buffer.from(text));
  lines.add();
}

it('gives back what was put in, whatever is added, read and released in between', () => {
  const step = fc.oneof(
    fc.record({
      push: fc.oneof(
        { weight: 5, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
        { weight: 1, arbitrary: fc.integer({ min: 20_000, max: 140_000 }).map((length) => 'ä'.repeat(length)) },
      ),
    }),
    fc.record({ release: fc.nat(8) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const lines = new Lines(16, 1_000_000);
      const model: string[] = [];
      let first = 0;
      for (const each of steps) {
        if ('push' in each) {
          if (lines.isFull) continue;
          add(lines, each.push);
          model.push(each.push);
        } else {
          const before = Math.min(first + each.release, model.length);
          lines.release(before);
          first = before;
        }
        expect([lines.first, lines.next, lines.size]).toEqual([first, model.length, model.length - first]);
        const read = lines.from(first, 100, Infinity);
        const text = model
          .slice(first)
          .map((line) => `${line}\n`)
          .join('');
        expect([read.length, read.texts(), Buffer.concat(read.pieces()).toString()]).toEqual([
          model.length - first,
          model.slice(first),
          text,
        ]);
      }
    }),
    { numRuns: 200 },
  );
});

it('is full by lines and by bytes, and gives parts that fit', () => {
  const lines = new Lines(4, 10);
  add(lines, 'ää');
  expect([lines.isFilling, lines.isFull]).toEqual([true, false]);
  add(lines, 'ääää');
  expect(lines.isFull).toBe(true);
  expect(lines.from(0, 10, 9).texts()).toEqual(['ää']);
  expect(lines.from(1, 10, 1).texts()).toEqual(['ääää']);
  lines.release(1);
  expect([lines.isFull, lines.first]).toEqual([false, 1]);
});

it('leaves lines that were dropped to those who read them, and writes to their memory again after they were released', () => {
  const lines = new Lines(100_000, Infinity);
  const round = (text: string): void => {
    for (let number = 0; number < 500; number += 1) add(lines, `${text} ${number}`.padEnd(1_000));
  };
  const textOf = (pieces: readonly Buffer[]): string => Buffer.concat(pieces).toString();
  round('first');
  const dropped = lines.from(0, 10_000, Infinity).pieces();
  const before = textOf(dropped);
  lines.drop(lines.next);
  round('second');
  const released = lines.from(lines.first, 10_000, Infinity).pieces();
  lines.release(lines.next);
  round('third');
  expect(textOf(dropped)).toBe(before);
  expect(released[0]?.buffer).toBe(lines.from(lines.first, 10_000, Infinity).pieces().at(-1)?.buffer);
});
