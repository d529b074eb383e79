import { expect, it } from 'vitest';
import { draftOf, readDraft } from './form.tsx';
import { choicesOf, fieldsOf, isNullable, resolve, shapeOf, typeWords, waysOf, type Schema } from './schema.ts';
import { emptyOf, problemsOf, readJson, readNumber, Unread } from './values.ts';

const schema: Schema = {
  type: 'object',
  required: ['who', 'address'],
  properties: {
    note: { type: ['string', 'null'] },
    who: { type: 'string', default: 'me' },
    address: { $ref: '#/$defs/address' },
    count: { type: 'integer' },
    list: { type: 'array', items: { type: 'integer' } },
  },
  $defs: { address: { allOf: [{ type: 'object', properties: { city: { type: 'string' } } }, { required: ['city'] }] } },
};

it('required fields come first, also behind references and allOf', () => {
  expect(fieldsOf(schema).map(({ name, isRequired }) => [name, isRequired])).toEqual([
    ['who', true],
    ['address', true],
    ['note', false],
    ['count', false],
    ['list', false],
  ]);
  expect(fieldsOf(fieldsOf(schema)[1]?.schema as Schema, schema)).toMatchObject([{ name: 'city', isRequired: true }]);
});

it('schemas that are circular, deep, external or invalid become a text field for JSON', () => {
  const circular: Schema = { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } };
  expect(resolve({ $ref: '#/$defs/a' }, circular)).toBeUndefined();
  expect(resolve({ $ref: 'https://example.com/x.json' }, {})).toBeUndefined();
  expect(resolve({ $ref: '#/__proto__/x' }, {})).toBeUndefined();
  expect(resolve(7, {})).toBeUndefined();
  for (const odd of [
    {},
    { type: 'object' },
    { type: 'array' },
    { type: 'tuple' },
    { type: 'object', properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`f${index}`, {}])) },
  ])
    expect(shapeOf(odd)).toBe('json');
  const tree: Schema = { type: 'object', required: ['child'], properties: { child: { $ref: '#' } } };
  expect(JSON.stringify(emptyOf(tree, tree)).length).toBeLessThan(200);
});

it('choices are the values that a schema lists, with their titles', () => {
  expect(choicesOf({ enum: [1, 'two', null] }).map(({ title }) => title)).toEqual(['1', 'two', 'null']);
  expect(choicesOf({ oneOf: [{ const: 'a', title: 'A' }, { const: 'b' }] })).toEqual([
    { value: 'a', title: 'A' },
    { value: 'b', title: 'b' },
  ]);
  expect(choicesOf({ oneOf: [{ const: 'a' }, { type: 'string' }] })).toEqual([]);
});

it('null, several types and several schemas are alternatives of a value', () => {
  expect(isNullable({ type: ['string', 'null'] }, {})).toBe(true);
  expect(isNullable({ anyOf: [{ type: 'string' }, { type: 'null' }] }, {})).toBe(true);
  expect(waysOf({ type: ['string', 'integer', 'null'] }, {}).map(({ type }) => type)).toEqual(['string', 'integer']);
  expect(
    waysOf(
      { description: 'x', oneOf: [{ type: 'string' }, { $ref: '#/$defs/a' }, { type: 'null' }] },
      { $defs: { a: { type: 'integer' } } },
    ),
  ).toMatchObject([{ description: 'x', type: 'string' }, { type: 'integer' }]);
  expect(typeWords({ type: 'array', items: { enum: ['a', 'b'] }, default: [] })).toBe('array of a | b, else []');
});

it('a number that cannot be kept exactly is refused', () => {
  expect(readNumber('', true)).toBeUndefined();
  expect(readNumber('1e3', true)).toBe(1_000);
  expect(readNumber(' -2.5 ', false)).toBe(-2.5);
  for (const [text, isWhole] of [
    ['2.5', true],
    ['x', false],
    ['0x10', false],
    ['12345678901234567890', true],
    ['1e999', false],
  ] as const)
    expect(readNumber(text, isWhole)).toBeInstanceOf(Unread);
  expect(readJson('{"a":')).toBeInstanceOf(Unread);
});

it('left out, empty and null are different, and a missing value is named with its path', () => {
  const begun = emptyOf(schema, schema);
  expect(begun).toEqual({ address: {} });
  expect(problemsOf(begun, schema, schema)).toEqual([
    { path: 'who', problem: 'needed' },
    { path: 'address.city', problem: 'needed' },
  ]);
  expect(problemsOf({ who: '', address: { city: 'x' }, note: null, list: [1, undefined] }, schema, schema)).toEqual([
    { path: 'list[2]', problem: 'needed' },
  ]);
  expect(problemsOf({ who: null, address: { city: 'x' } }, schema, schema)).toEqual([
    { path: 'who', problem: 'it may not be null' },
  ]);
});

it('of several alternatives, the one with the fewest missing fields says what is missing', () => {
  const way: Schema = {
    type: 'object',
    properties: {
      to: {
        oneOf: [
          { type: 'object', required: ['shop'], properties: { shop: {} } },
          { type: 'object', required: ['days', 'hour'], properties: { days: {}, hour: {} } },
        ],
      },
    },
  };
  expect(problemsOf({ to: { days: 1, hour: 2 } }, way, way)).toEqual([]);
  expect(problemsOf({ to: {} }, way, way)).toEqual([{ path: 'to.shop', problem: 'needed' }]);
});

it('JSON is sent as it was written, a form as its values, and defaults are not sent', () => {
  const text = '{ "big": 12345678901234567890 }';
  expect(readDraft({ mode: 'json', value: {}, text }, schema)).toEqual({ text });
  expect(readDraft({ mode: 'json', value: {}, text: '[1]' }, schema)).toHaveProperty('problems');
  expect(readDraft({ mode: 'form', value: { who: 'x', address: { city: 'y' } }, text: '' }, schema)).toEqual({
    text: '{"who":"x","address":{"city":"y"}}',
  });
  expect(draftOf(schema, '{"who":"x"}')).toMatchObject({ mode: 'form', value: { who: 'x' } });
  expect(draftOf(schema, 'no JSON')).toMatchObject({ mode: 'json', text: 'no JSON' });
});
