import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRawNumber, mayHoldRawNumbers, numberOf, parseJson } from './exact-numbers.ts';
import { isObject } from './json-rpc.ts';
import { defaultLimits } from './limits.ts';
import { readJson } from './read-json.ts';

const read = (text: string): unknown => {
  const outcome = readJson(text, 1_000_000, defaultLimits);
  if (outcome.kind !== 'json') throw new Error(outcome.problem);
  return outcome.value;
};

describe('numbers that are only carried', () => {
  it.each([
    '9007199254740993',
    '-9007199254740993',
    '123456789012345678901234567890',
    '1.0',
    '-0',
    '1e400',
    '-1E400',
    '0.10',
    '1.5e3',
    '100e-2',
    '0.1000000000000000055511151231257827',
  ])('%s goes out as it came', (written) => {
    for (const text of [`{"a":${written}}`, `[${written}]`, `[1, ${written} ]`, `{"a":{"b":[{"c": ${written}}]}}`]) {
      expect(JSON.stringify(read(text))).toBe(text.replaceAll(/\s/g, ''));
    }
  });

  it.each(['0', '-1', '0.5', '1e+30', '9007199254740991', '1784555555555', '0.1'])(
    '%s is a plain number',
    (written) => {
      expect(read(`{"a":${written}}`)).toEqual({ a: Number(written) });
      expect(mayHoldRawNumbers(`{"a":${written}}`)).toBe(false);
    },
  );

  it('looks like a number in a string, and costs nothing but a second look', () => {
    expect(read('{"a":"see :1.0 and ,12345678901234567890","b":"1.0"}')).toEqual({
      a: 'see :1.0 and ,12345678901234567890',
      b: '1.0',
    });
  });

  it('every number of any document is written as it was read', () => {
    const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,25})(\.\d{1,20})?([eE][-+]?\d{1,3})?$/);
    fc.assert(
      fc.property(
        fc.array(digits, { minLength: 1, maxLength: 5 }),
        fc.constantFrom(',', ', ', ' ,'),
        (numbers, comma) => {
          expect(JSON.stringify(read(`{"a":[${numbers.join(comma)}]}`))).toBe(`{"a":[${numbers.join(',')}]}`);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('is no object to whoever asks for one, and a number to whoever calculates', () => {
    const { a } = parseJson('{"a":50.0}') as { a: unknown };
    expect(isRawNumber(a)).toBe(true);
    expect(isObject(a)).toBe(false);
    expect(numberOf(a)).toBe(50);
    expect(numberOf(7)).toBe(7);
    expect(numberOf('7')).toBeUndefined();
  });
});
