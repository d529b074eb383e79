import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { argumentsFor } from './arguments.ts';
import { withNames } from './error-names.ts';
import { shapedSchema, type ToolShape } from './schema.ts';

const text = { type: 'string' };
const schemaOf = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});
const shape = (shapes: ToolShape['arguments']): ToolShape => ({ arguments: shapes });
const who = {
  issuer: 'i',
  subject: 'ada',
  tenant: undefined,
  groups: [],
  claims: { team: 'core', level: '3', on: 'true' },
};

describe('the schema for clients', () => {
  const shaped = (schema: JsonObject, shapes: ToolShape['arguments']): unknown => {
    const found = shapedSchema(schema, shapes);
    return 'schema' in found ? found.schema : found.problem;
  };

  it('has no hidden argument, the new names, descriptions and defaults', () => {
    expect(
      shaped(
        schemaOf(
          { owner: text, repo: { ...text, description: 'old' }, state: text },
          { required: ['owner', 'repo', 'state'], additionalProperties: false },
        ),
        { owner: { fixed: 'acme' }, repo: { name: 'project', description: 'new' }, state: { default: 'open' } },
      ),
    ).toEqual({
      type: 'object',
      properties: { project: { ...text, description: 'new' }, state: { ...text, default: 'open' } },
      required: ['project'],
      additionalProperties: false,
    });
  });

  it('says in its conditions what follows for the new names', () => {
    expect(
      shaped(
        schemaOf(
          { a: text, b: text, c: text },
          {
            anyOf: [{ required: ['a'] }, { required: ['b', 'c'] }],
            dependentRequired: { a: ['b'], b: ['a'] },
            dependentSchemas: { a: { required: ['c'] } },
            not: { properties: { b: { const: 'x' } } },
            minProperties: 2,
            propertyNames: { enum: ['a', 'b', 'c'] },
          },
        ),
        { a: { fixed: '1' }, b: { name: 'bee' } },
      ),
    ).toEqual({
      type: 'object',
      properties: { bee: text, c: text },
      anyOf: [{ required: [] }, { required: ['bee', 'c'] }],
      dependentRequired: { bee: [] },
      dependentSchemas: {},
      allOf: [{ required: ['c'] }],
      not: { properties: { bee: { const: 'x' } } },
      required: ['bee'],
    });
  });

  it('shows no default that only the call knows', () => {
    expect(shaped(schemaOf({ a: text }, { required: ['a'] }), { a: { default: '{principal.claims.team}' } })).toEqual(
      schemaOf({ a: text }),
    );
  });

  it.each<[string, JsonObject, ToolShape['arguments'], string]>([
    ['an argument that is gone', {}, { gone: { fixed: 1 } }, 'has no argument "gone"'],
    ['a value of another type', { a: { type: 'integer' } }, { a: { fixed: '1' } }, 'is no integer'],
    ['a value that is not allowed', { a: { enum: ['x'] } }, { a: { default: 'y' } }, 'none of the values'],
    ['a fact for a list', { a: { type: 'array' } }, { a: { fixed: '{principal.subject}' } }, 'which is no array'],
    ['two arguments of one name', { a: text, b: text }, { a: { name: 'b' } }, 'would have the name "b"'],
    [
      'a reference to a hidden argument',
      { a: text, b: { items: { $ref: '#/properties/a' } } },
      { a: { fixed: 'x' } },
      'refers to "#/properties/a"',
    ],
    ['a reference to the whole', { a: text, b: { $ref: '#' } }, { a: { name: 'x' } }, 'refers to "#"'],
  ])('does not exist for %s', (_what, properties, shapes, problem) => {
    expect(shaped(schemaOf(properties), shapes)).toContain(problem);
  });

  it('keeps references to definitions, and texts that look like references', () => {
    const properties = { a: text, b: { $ref: '#/$defs/b' }, c: { const: { $ref: '#' } } };
    expect(shaped(schemaOf(properties, { $defs: { b: text } }), { a: { name: 'x' } })).toMatchObject({
      properties: { x: text, b: { $ref: '#/$defs/b' } },
    });
  });
});

describe('the arguments for the server', () => {
  it('have its own names, the fixed values, and defaults for those that are left out', () => {
    const given = shape({ owner: { fixed: 'acme' }, repo: { name: 'project' }, state: { default: 'open' } });
    expect(argumentsFor(given, { project: 'p', extra: 0 }, undefined, undefined)).toEqual({
      arguments: { repo: 'p', extra: 0, owner: 'acme', state: 'open' },
    });
    expect(argumentsFor(given, { state: null }, undefined, undefined)).toEqual({
      arguments: { state: null, owner: 'acme' },
    });
  });

  it('swap two names', () => {
    expect(argumentsFor(shape({ a: { name: 'b' }, b: { name: 'a' } }), { a: 1, b: 2 }, undefined, undefined)).toEqual({
      arguments: { b: 1, a: 2 },
    });
  });

  it.each(['owner', 'repo'])('are none if the client sends %s, which only the server knows', (name) => {
    const given = shape({ owner: { fixed: 'acme' }, repo: { name: 'project' } });
    expect(argumentsFor(given, { [name]: 'evil' }, undefined, undefined)).toEqual({ unknown: name });
  });

  it('may have a name that differs from a hidden one in its letters alone, if the server has it', () => {
    const schema = schemaOf({ owner: text, Owner: text });
    expect(argumentsFor(shape({ owner: { fixed: 'acme' } }), { Owner: 'ann' }, schema, undefined)).toEqual({
      arguments: { Owner: 'ann', owner: 'acme' },
    });
  });

  it('have names of objects as data', () => {
    const given = JSON.parse('{"__proto__":{"x":1},"constructor":2}') as JsonObject;
    const made = argumentsFor(shape({ a: { fixed: 1 } }), given, undefined, undefined);
    expect(JSON.stringify(made)).toBe('{"arguments":{"__proto__":{"x":1},"constructor":2,"a":1}}');
  });

  it.each([
    ['text', text, '{principal.claims.level}', '3'],
    ['a number', { type: 'integer' }, '{principal.claims.level}', 3],
    ['a truth value', { type: ['boolean', 'null'] }, '{principal.claims.on}', true],
    ['a part of a text', text, 'team/{principal.claims.team}', 'team/core'],
  ])('have a fact as %s', (_what, property, template, value) => {
    expect(argumentsFor(shape({ a: { fixed: template } }), {}, schemaOf({ a: property }), who)).toEqual({
      arguments: { a: value },
    });
  });

  it.each([
    ['a caller without it', '{principal.claims.phone}', text, who],
    ['an anonymous caller', '{principal.claims.team}', text, undefined],
    ['a value of another type', '{principal.claims.team}', { type: 'integer' }, who],
  ])('are none for %s', (_what, template, property, caller) => {
    expect(argumentsFor(shape({ a: { default: template } }), {}, schemaOf({ a: property }), caller)).toHaveProperty(
      'problem',
    );
    expect(argumentsFor(shape({ a: { default: template } }), { a: 1 }, schemaOf({ a: property }), caller)).toEqual({
      arguments: { a: 1 },
    });
  });
});

it('an error of the server keeps its text, and says which arguments it means', () => {
  const given = shape({ owner: { fixed: 'acme' }, repo: { name: 'project' }, id: { name: 'issue' } });
  const failed = { content: [{ type: 'text', text: "'repo' of owner unknown (idle)" }], isError: true };
  const words = 'Names in this error: the gateway sets "owner"; "repo" is the argument "project".';
  expect(withNames(given, { kind: 'result', result: failed })).toEqual({
    kind: 'result',
    result: { content: [...failed.content, { type: 'text', text: words }], isError: true },
  });
  const error = { code: -32_602, message: 'bad id' };
  expect(withNames(given, { kind: 'error', error })).toMatchObject({
    error: { message: 'bad id (Names in this error: "id" is the argument "issue".)' },
  });
  const fine = { kind: 'result', result: { content: failed.content } } as const;
  expect(withNames(given, fine)).toBe(fine);
});
