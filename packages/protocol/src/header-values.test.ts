import { describe, expect, it } from 'vitest';
import { argumentAt, decodeHeaderValue, encodeHeaderValue, parameterHeaders, repeats } from './header-values.ts';
import type { JsonObject } from './json-rpc.ts';

const annotated = (name: unknown, type = 'string') => ({ type, 'x-mcp-header': name });

describe('arguments repeated in headers', () => {
  it('are found at any depth of objects, with their paths', () => {
    expect(
      parameterHeaders({
        properties: { a: annotated('A'), b: { properties: { c: annotated('C', 'integer'), d: {} } } },
      }),
    ).toEqual([
      { path: ['a'], name: 'A', type: 'string' },
      { path: ['b', 'c'], name: 'C', type: 'integer' },
    ]);
    for (const schema of [{}, { properties: [] }, { properties: { a: null, b: 1, c: [] } }])
      expect(parameterHeaders(schema as unknown as JsonObject)).toEqual([]);
  });

  it(
    'of a schema with 80,000 annotations, or 20,000 levels, are refused as quickly as they are read',
    { timeout: 60_000 },
    () => {
      const began = Date.now();
      const many = Object.fromEntries(
        Array.from({ length: 80_000 }, (_, index) => [`p${index}`, annotated(`H${index}`)]),
      );
      expect(parameterHeaders({ properties: many })).toEqual({
        problem: 'more than 100 arguments are repeated in headers',
      });
      let deep: JsonObject = annotated('Deep');
      for (let level = 0; level < 20_000; level += 1) deep = { properties: { p: deep } };
      expect(parameterHeaders(deep)).toEqual({ problem: 'x-mcp-header stands deeper than 128 properties' });
      const wide = Object.fromEntries(
        Array.from({ length: 50_000 }, (_, index) => [`p${index}`, { properties: { q: {} } }]),
      );
      expect(parameterHeaders({ properties: { ...wide, last: annotated('L') } })).toHaveLength(1);
      expect(Date.now() - began).toBeLessThan(20_000);
    },
  );

  it('that no header can carry are refused', () => {
    for (const name of ['', 'a b', 'a\r\nb', 'ä', 7, null, 'x'.repeat(201)])
      expect(parameterHeaders({ properties: { a: annotated(name) } })).toEqual({
        problem: 'x-mcp-header of a must be a header name',
      });
    expect(parameterHeaders({ properties: { a: annotated('A', 'object') } })).toHaveProperty('problem');
    expect(parameterHeaders({ properties: { a: annotated('Same'), b: annotated('same') } })).toEqual({
      problem: 'two arguments are repeated in the header same',
    });
  });

  it("are the arguments' own, whatever the key is called", () => {
    expect(argumentAt({ a: { b: 1 } }, ['a', 'b'])).toBe(1);
    expect(argumentAt({}, ['constructor', 'name'])).toBeUndefined();
    expect(argumentAt({}, ['__proto__'])).toBeUndefined();
    expect(argumentAt(JSON.parse('{"__proto__":"x"}'), ['__proto__'])).toBe('x');
  });

  it('say the same as the header that carries them', () => {
    for (const value of ['plain', ' edge ', 'ä\r\nb', '=?base64?eA==?=', '']) {
      expect(encodeHeaderValue(value)).toMatch(/^[\x20-\x7e]*$/);
      expect(decodeHeaderValue(encodeHeaderValue(value))).toBe(value);
      expect(repeats(encodeHeaderValue(value), value)).toBe(true);
    }
    expect(repeats('=?base64?!!?=', '!!')).toBe(false);
  });
});
