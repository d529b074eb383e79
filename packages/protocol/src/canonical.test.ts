import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonical } from './canonical.ts';
import { parseJson } from './exact-numbers.ts';

it.each([
  ['{"b":1,"a":{"d":[],"c":[{"y":null,"x":true}]}}', '{"a":{"c":[{"x":true,"y":null}],"d":[]},"b":1}'],
  ['{"ö":1,"\\u007f":2,"a\\"b":3,"":4,"__proto__":5}', '{"":4,"__proto__":5,"a\\"b":3,"\u007F":2,"ö":1}'],
  ['{"n":12345678901234567890.10}', '{"n":12345678901234567890.10}'],
  ['[]', '[]'],
  ['"text"', '"text"'],
])('%s is written as %s', (given, written) => expect(canonical(parseJson(given))).toBe(written));

it('leaves members out that are undefined, and takes undefined items for null', () => {
  expect(canonical({ a: undefined, b: [undefined], c: { d: undefined } })).toBe('{"b":[null],"c":{}}');
});

it('is one text for any order of members, and says the same as the value', () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .toReversed()
            .map(([key, member]) => [key, shuffled(member)]),
        )
      : value;
  };
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const plain: unknown = JSON.parse(JSON.stringify(value));
      expect(canonical(shuffled(plain))).toBe(canonical(plain));
      expect(JSON.parse(canonical(plain))).toEqual(plain);
    }),
  );
});
