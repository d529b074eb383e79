/** TypeScript types of JSON Schemas, for models to read. What a type cannot say is left out. */
import { isObject, type JsonObject } from '@omnibus/protocol';

const maxDepth = 6;
const maxMembers = 60;
const maxChoices = 30;
const maxComment = 100;
/** Characters of one type; beyond it, inner parts become `unknown`. */
const maxLength = 4_000;

interface Written {
  readonly root: JsonObject;
  left: number;
}

/** @returns one line. */
export function typeOf(schema: unknown): string {
  const root = isObject(schema) ? schema : {};
  return written(root, { root, left: maxLength }, 0);
}

function written(given: unknown, to: Written, depth: number): string {
  if (!isObject(given)) return 'unknown';
  if (depth > maxDepth || to.left <= 0) return 'unknown';
  // Also a part without a text of its own, such as one of many references, is work.
  to.left -= 1;
  const text = partOf(given, to, depth);
  if (depth > 0) to.left -= text.length / depth;
  return text;
}

function partOf(schema: JsonObject, to: Written, depth: number): string {
  const { $ref, enum: values, anyOf, oneOf, allOf, type } = schema;
  if (typeof $ref === 'string') return written(targetOf($ref, to.root), to, depth + 1);
  if ('const' in schema) return JSON.stringify(schema['const']) ?? 'unknown';
  if (Array.isArray(values)) return choice(few(values).map((value) => JSON.stringify(value) ?? 'unknown'));
  const choices = [anyOf, oneOf].find((each) => Array.isArray(each)) as readonly unknown[] | undefined;
  if (choices !== undefined) return choice(few(choices).map((each) => written(each, to, depth + 1)));
  if (Array.isArray(allOf) && !isObject(schema['properties']))
    return (
      few(allOf)
        .map((each) => written(each, to, depth + 1))
        .join(' & ') || 'unknown'
    );
  if (Array.isArray(type))
    return choice(few(type).map((each) => plainType({ ...schema, type: each as unknown }, to, depth)));
  return plainType(schema, to, depth);
}

function plainType(schema: JsonObject, to: Written, depth: number): string {
  switch (schema['type']) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema['type'];
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
      return arrayOf(schema, to, depth);
    case 'object':
      return objectOf(schema, to, depth);
    default:
      return isObject(schema['properties']) ? objectOf(schema, to, depth) : 'unknown';
  }
}

function arrayOf({ items, prefixItems }: JsonObject, to: Written, depth: number): string {
  if (Array.isArray(prefixItems))
    return `[${few(prefixItems)
      .map((each) => written(each, to, depth + 1))
      .join(', ')}]`;
  const item = written(items, to, depth + 1);
  return /^[\w"]+$/.test(item) || item.startsWith('{') ? `${item}[]` : `(${item})[]`;
}

function objectOf({ properties, required, additionalProperties }: JsonObject, to: Written, depth: number): string {
  const members = isObject(properties) ? Object.entries(properties) : [];
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  if (members.length === 0)
    return isObject(additionalProperties)
      ? `Record<string, ${written(additionalProperties, to, depth + 1)}>`
      : 'Record<string, unknown>';
  const texts = members
    .slice(0, maxMembers)
    .map(
      ([name, of]) =>
        `${memberName(name)}${needed.has(name) ? '' : '?'}: ${written(of, to, depth + 1)}${commentOf(of, depth)}`,
    );
  return `{ ${texts.join('; ')}${members.length > maxMembers ? '; …' : ''} }`;
}

/** The description of an argument, not of its parts. */
function commentOf(schema: unknown, depth: number): string {
  const description = isObject(schema) ? schema['description'] : undefined;
  if (depth > 0 || typeof description !== 'string') return '';
  const plain = description.replaceAll(/\s+/g, ' ').replaceAll('*/', '').trim();
  if (plain === '') return '';
  return ` /* ${plain.length > maxComment ? `${plain.slice(0, maxComment)}…` : plain} */`;
}

function memberName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** One more than are shown, so that the type says that there are more. */
function few(choices: readonly unknown[]): readonly unknown[] {
  return choices.slice(0, maxChoices + 1);
}

function choice(types: readonly string[]): string {
  const different = [...new Set(types)];
  const shown = different.slice(0, maxChoices).join(' | ');
  return different.length === 0 ? 'unknown' : different.length > maxChoices ? `${shown} | …` : shown;
}

/** The schema that a reference within the same schema names. */
function targetOf(reference: string, root: JsonObject): unknown {
  if (!reference.startsWith('#')) return undefined;
  return reference
    .slice(1)
    .split('/')
    .filter((part) => part !== '')
    .reduce<unknown>((at, part) => {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      return isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    }, root);
}
