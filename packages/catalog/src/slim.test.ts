import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { slimTool } from './slim.ts';

const tool = (more: object): { readonly name: string } => ({ name: 'get_insider_trades', ...more });
const schemaOf = (inputSchema: object): unknown => slimTool(tool({ inputSchema }))['inputSchema'];

describe('a slimmed tool loses', () => {
  it.each([
    ['a title that says its name', { title: 'Get insider trades' }, {}],
    ['a title among its annotations that says its name', { annotations: { title: 'get_insider_trades' } }, {}],
    ['annotations and `_meta` without members', { annotations: {}, _meta: {} }, {}],
    [
      'titles that a generator of schemas has made of names',
      {
        inputSchema: {
          title: 'get_insider_tradesArguments',
          properties: { max_trades: { title: 'Max Trades', type: 'integer' } },
        },
      },
      { inputSchema: { properties: { max_trades: { type: 'integer' } } } },
    ],
    [
      '`$schema`, `examples`, and lists and definitions that are empty',
      {
        inputSchema: {
          $schema: 'http://json-schema.org/draft-07/schema#',
          type: 'object',
          properties: { a: { examples: [1] } },
          required: [],
          $defs: {},
        },
      },
      { inputSchema: { type: 'object', properties: { a: {} } } },
    ],
    [
      'indentation, spaces at the ends of lines, and empty lines',
      { description: '  Finds.  \n\n\n\n    Args:\n      a: it\n    ' },
      { description: 'Finds.\n\nArgs:\n  a: it' },
    ],
  ])('%s', (_what, given, expected) => {
    expect(slimTool(tool(given))).toEqual(tool(expected));
  });
});

describe('a slimmed tool keeps', () => {
  it.each([
    ['a title that says more', { title: 'Trades of insiders' }],
    ['hints', { annotations: { readOnlyHint: true } }],
    ['`properties` without members, which some clients demand', { inputSchema: { type: 'object', properties: {} } }],
    [
      'parameters with the names of keywords',
      { inputSchema: { properties: { title: { type: 'string' }, examples: {}, $schema: {} } } },
    ],
    [
      'values that look like schemas',
      { inputSchema: { default: { examples: [1], title: '' }, const: { title: '' }, enum: [{ examples: [] }] } },
    ],
    [
      '`$schema` where a keyword means something else in the usual dialect',
      { inputSchema: { $schema: 'draft-07', items: [{ type: 'string' }] } },
    ],
    [
      '`$schema` beside such a keyword further down',
      { inputSchema: { $schema: 'draft-07', properties: { a: { dependencies: {} } } } },
    ],
  ])('%s', (_what, given) => {
    expect(slimTool(tool(given))).toEqual(tool(given));
  });
});

it('only the given measures are taken', () => {
  const given = tool({ title: 'Get insider trades', annotations: {}, description: ' a ' });
  expect(slimTool(given, ['empty'])).toEqual(tool({ title: 'Get insider trades', description: ' a ' }));
  expect(slimTool(given, [])).toEqual(given);
});

it('slimming takes nothing more the second time, and never makes a tool larger', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), (inputSchema, description) => {
      const once = slimTool(tool({ description, inputSchema }));
      expect(slimTool(once)).toEqual(once);
      expect(JSON.stringify(once).length).toBeLessThanOrEqual(
        JSON.stringify(tool({ description, inputSchema })).length,
      );
    }),
    { numRuns: 1_000 },
  );
});

it('a description of very many lines is slimmed as one of few', () => {
  const lines = Array.from({ length: 300_000 }, () => '  x');
  const { description } = slimTool({ name: 'log', description: ['log', ...lines].join('\n') });
  expect(description === ['log', ...lines.map((line) => line.trim())].join('\n')).toBe(true);
});

it('a schema that goes very deep is slimmed as far as the bound', () => {
  let deep: object = { examples: [1] };
  for (let depth = 0; depth < 1_000; depth += 1) deep = { properties: { a: deep } };
  expect(() => schemaOf(deep)).not.toThrow();
});

it.each([
  ['draft-04', { minimum: 0, exclusiveMinimum: true }],
  ['draft-07', { $ref: '#/definitions/a', minLength: 3 }],
  ['draft-07', { type: 'array', minContains: 2 }],
  ['draft-07', { type: 'object', dependentRequired: { a: ['b'] } }],
])('$schema of %s stays where %j means something else without it', (dialect, n) => {
  const $schema = `http://json-schema.org/${dialect}/schema#`;
  const inputSchema = { $schema, type: 'object', properties: { n } };
  expect(slimTool({ name: 'x', inputSchema })).toEqual({ name: 'x', inputSchema });
});

it('$schema goes where a reference has words for people alone beside it', () => {
  const rest = { type: 'object', properties: { n: { $ref: '#/definitions/a', description: 'A number.' } } };
  const $schema = 'http://json-schema.org/draft-07/schema#';
  expect(slimTool({ name: 'x', inputSchema: { $schema, ...rest } })).toEqual({ name: 'x', inputSchema: rest });
  const of2020 = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', minContains: 2 };
  expect(slimTool({ name: 'x', inputSchema: of2020 })).toEqual({
    name: 'x',
    inputSchema: { type: 'object', minContains: 2 },
  });
});
