/**
 * Whether every client can compile a schema, as far as a look at it shows. Compiling takes milliseconds, and a list has thousands of schemas, so only a schema that is
 * not plain is compiled.
 */
import { isObject, isPattern, numberOf, type JsonObject } from '@omnibus/protocol';

type Check = (value: unknown, root: JsonObject) => boolean;

const types: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'null', 'array', 'object']);
const any: Check = () => true;
const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isNumber: Check = (value) => numberOf(value) !== undefined;
const isList = (value: unknown, each: (item: unknown) => boolean): boolean => Array.isArray(value) && value.every(each);
const isSchema: Check = (value, root) => typeof value === 'boolean' || (isObject(value) && isPlain(value, root));
const areSchemas: Check = (value, root) =>
  isObject(value) && Object.values(value).every((each) => isSchema(each, root));
const someSchemas: Check = (value, root) =>
  Array.isArray(value) && value.length > 0 && isList(value, (each) => isSchema(each, root));

/** Keywords that mean the same to all dialects in use, with the values that each of them takes (JSON Schema draft-07 and 2020-12). */
const keywords: ReadonlyMap<string, Check> = new Map<string, Check>([
  [
    'type',
    (value) => types.has(value) || (Array.isArray(value) && value.length > 0 && value.every((each) => types.has(each))),
  ],
  ['properties', areSchemas],
  ['$defs', areSchemas],
  ['definitions', areSchemas],
  ['items', isSchema],
  ['additionalProperties', isSchema],
  ['propertyNames', isSchema],
  ['not', isSchema],
  ['anyOf', someSchemas],
  ['oneOf', someSchemas],
  ['allOf', someSchemas],
  ['required', (value) => isList(value, (each) => typeof each === 'string')],
  ['enum', (value) => Array.isArray(value) && value.length > 0],
  ['const', any],
  ['$ref', leadsSomewhere],
  ['format', isText],
  ['pattern', (value) => typeof value === 'string' && isPattern(value)],
  ['uniqueItems', isFlag],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].map((name) => [name, isNumber] as const),
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'].map(
    (name) => [name, (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0] as const,
  ),
  ...['title', 'description', '$comment', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly'].map(
    (name) => [name, any] as const,
  ),
  ['$schema', isText],
]);

/** @param root the schema that references lead into. */
export function isPlain(schema: JsonObject, root = schema): boolean {
  return Object.entries(schema).every(([name, value]) => keywords.get(name)?.(value, root) ?? name.startsWith('x-'));
}

/**
 * Whether a reference leads to a schema of the same document, by a pointer (RFC 6901) without escapes. A schema that is a reference too may lead back: clients
 * follow such a circle until their stack is full.
 */
function leadsSomewhere(reference: unknown, root: JsonObject): boolean {
  if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference) || /[~%]/.test(reference)) return false;
  let found: unknown = root;
  for (const step of reference.split('/').slice(1)) {
    if (!isObject(found) || !Object.hasOwn(found, step)) return false;
    found = found[step];
  }
  return (isObject(found) && !Object.hasOwn(found, '$ref')) || typeof found === 'boolean';
}
