import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJson, defaultLimits, type JsonObject } from '@omnibus/protocol';
import { compileSchema, type Validate } from './compile.ts';

function usable(schema: JsonObject): Validate {
  const compiled = compileSchema(schema);
  if (compiled.kind === 'unusable') throw new Error(compiled.problem);
  return compiled.validate;
}

function problem(schema: JsonObject, value: unknown): string {
  const verdict = usable(schema)(value);
  return typeof verdict === 'string' ? verdict : verdict.problem;
}

const person = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
  required: ['name'],
  additionalProperties: false,
};

describe('a value is held against its schema', () => {
  it('and what is wrong is said with the name of the member', () => {
    expect(problem(person, { name: 'Ada', age: 36 })).toBe('ok');
    expect(problem(person, { age: 36 })).toContain("must have required property 'name'");
    expect(problem(person, { name: 'Ada', age: 'old' })).toBe('age must be integer');
    expect(problem(person, { name: 'Ada', nick: 1 })).toContain('"nick"');
    expect(problem({ properties: { a: { properties: { b: { enum: ['x', 'y'] } } } } }, { a: { b: 'z' } })).toBe(
      'a.b must be equal to one of the allowed values: ["x","y"]',
    );
  });

  it('by the dialect it names, and by 2020-12 when it names none or one nobody knows', () => {
    const pair = { prefixItems: [{ type: 'string' }, { type: 'number' }], items: false };
    expect(problem(pair, ['a', 1, 2])).not.toBe('ok');
    expect(problem({ ...pair, $schema: 'https://example.com/unknown' }, ['a', 1, 2])).not.toBe('ok');
    expect(
      problem(
        { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }], additionalItems: false },
        ['a', 1],
      ),
    ).not.toBe('ok');
    expect(
      problem(
        {
          $schema: 'http://json-schema.org/draft-07/schema#',
          $ref: '#/definitions/a',
          definitions: { a: { type: 'string' } },
        },
        1,
      ),
    ).not.toBe('ok');
  });

  it('numbers that a double cannot hold count as numbers', () => {
    const read = readJson('{"age":50.0,"name":"x"}', 1_000, defaultLimits);
    expect(read.kind === 'json' && problem(person, read.value)).toBe('ok');
    const big = readJson('{"age":9007199254740993,"name":"x"}', 1_000, defaultLimits);
    expect(big.kind === 'json' && problem(person, big.value)).toBe('ok');
  });

  it('such numbers are found however deep they stand, and in what was put together of what was read; nothing is looked through for them', () => {
    const deep = readJson('{"a":[{"b":{"age":1.0}}],"c":{"plain":[1,2]}}', 1_000, defaultLimits);
    if (deep.kind !== 'json') throw new Error(deep.problem);
    const value = deep.value as { readonly a: readonly [{ readonly b: JsonObject }]; readonly c: JsonObject };
    const schema = { properties: { a: { items: { properties: { b: { properties: { age: { type: 'number' } } } } } } } };
    expect(problem(schema, value)).toBe('ok');
    expect(problem(schema, { ...value, pinned: true })).toBe('ok');
    expect(problem({ properties: { age: { type: 'number' } } }, { ...value.a[0].b, pinned: true })).toBe('ok');
    let looks = 0;
    const look = (): object => {
      looks += 1;
      return {};
    };
    const watched = { inner: Object.defineProperty({}, 'counted', { enumerable: true, get: look }) };
    expect(problem({ type: 'object' }, watched)).toBe('ok');
    expect(looks).toBe(0);
  });

  it('equal items are found whatever the order of their members', () => {
    expect(
      problem({ uniqueItems: true }, [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ]),
    ).not.toBe('ok');
    expect(
      problem(
        { uniqueItems: true },
        Array.from({ length: 100_000 }, (_, n) => ({ n })),
      ),
    ).toBe('ok');
  });

  it('a document that is a tree is checked to the leaves', () => {
    const tree = {
      $defs: {
        node: {
          type: 'object',
          properties: { left: { $ref: '#/$defs/node' }, right: { $ref: '#/$defs/node' }, value: { type: 'number' } },
        },
      },
      $ref: '#/$defs/node',
    };
    expect(problem(tree, { left: { right: { value: 'x' } } })).toBe('left.right.value must be number');
  });
});

describe('a schema that is not meant well', () => {
  it('fetches nothing: a reference to another document makes it unusable', () => {
    expect(compileSchema({ $ref: 'http://127.0.0.1:1/schema.json' })).toMatchObject({ kind: 'unusable' });
    expect(compileSchema({ $ref: 'file:///etc/passwd' })).toMatchObject({ kind: 'unusable' });
  });

  it('has no pattern that takes for ever', () => {
    expect(problem({ pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}!`)).not.toBe('ok');
    expect(problem({ pattern: String.raw`^\d{3}-\p{Lu}+$` }, '123-ABC')).toBe('ok');
    expect(problem({ pattern: '^(?=looking)ahead' }, 'anything')).toBe('ok');
    expect(
      problem({ patternProperties: { '^(x+)+y$': { type: 'number' } } }, { ['x'.repeat(5_000)]: 'not matched' }),
    ).toBe('ok');
  });

  it('that refers back to itself twice for one value is given up, not waited for', () => {
    const twice = {
      $defs: {
        a: {
          type: 'object',
          anyOf: [{ properties: { x: { $ref: '#/$defs/a' } } }, { additionalProperties: { $ref: '#/$defs/a' } }],
        },
      },
      $ref: '#/$defs/a',
    };
    let value: unknown = 1;
    for (let depth = 0; depth < 100; depth += 1) value = { x: value };
    expect(usable(twice)(value)).toBe('unchecked');
    expect(usable({ $dynamicRef: '#' })(1)).toBe('unchecked');
    const wide = Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [
        `d${n}`,
        { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
      ]),
    );
    expect(usable({ $defs: { ...wide, d60: { type: 'string' } }, $ref: '#/$defs/d0' })(1)).toBe('unchecked');
  });

  it('finds a problem in an object that replaces the members by which objects are compared', () => {
    const compiled = compileSchema({ enum: [{}], properties: { a: { const: { b: 1 } } } });
    for (const value of [{ valueOf: false }, { toString: 1 }])
      expect(compiled.kind === 'usable' ? compiled.validate(value) : undefined).toHaveProperty('problem');
  });

  it('is refused when it is too large or too deep to compile, and never throws', () => {
    let deep: JsonObject = {};
    for (let depth = 0; depth < 6_000; depth += 1) deep = { properties: { a: deep } };
    expect(compileSchema(deep)).toMatchObject({ kind: 'unusable' });
    expect(compileSchema({ enum: Array.from({ length: 30_000 }, (_, n) => n) })).toMatchObject({ kind: 'unusable' });
    const nonsense = fc.dictionary(
      fc.constantFrom(
        'type',
        'properties',
        '$ref',
        'items',
        'anyOf',
        'pattern',
        'required',
        'enum',
        'minimum',
        '$id',
        '$schema',
        '$dynamicRef',
        'if',
        'format',
      ),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(nonsense, fc.jsonValue(), (schema, value) => {
        const compiled = compileSchema(schema as JsonObject);
        if (compiled.kind === 'usable') compiled.validate(value);
      }),
      { numRuns: 500 },
    );
  });
});
