import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { readLines } from './lines.ts';

function reading(maxBytes: number): {
  readonly input: PassThrough;
  readonly lines: string[];
  readonly tooLong: () => number;
  readonly ended: Promise<void>;
} {
  const input = new PassThrough();
  const lines: string[] = [];
  let long = 0;
  const ended = readLines(input, {
    maxBytes,
    line: (bytes) => lines.push(bytes.toString()),
    tooLong: () => (long += 1),
  });
  return { input, lines, tooLong: () => long, ended };
}

it('lines come whole however they were cut, and the last one needs no end', async () => {
  const { input, lines, ended } = reading(100);
  for (const piece of ['{"a', '":1}\r\n\n  \n{"b":2}\n{"', 'c":', '3}']) input.write(piece);
  input.end();
  await ended;
  expect(lines).toEqual(['{"a":1}\r', '{"b":2}', '{"c":3}']);
});

it('a line without an end costs no more than its bound, is refused once, and the next one is read', async () => {
  const { input, lines, tooLong, ended } = reading(1_000);
  for (let piece = 0; piece < 100; piece += 1) input.write('x'.repeat(1_000));
  input.end('\nshort\n');
  await ended;
  expect([lines, tooLong()]).toEqual([['short'], 1]);
});

it('an input that breaks, or is closed, has ended', async () => {
  const broken = reading(10);
  broken.input.destroy(new Error('EIO'));
  await broken.ended;
  const closed = reading(10);
  closed.input.destroy();
  await closed.ended;
  expect([broken.lines, closed.lines]).toEqual([[], []]);
});
