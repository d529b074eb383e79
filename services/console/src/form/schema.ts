/** Reads JSON schemas for forms. Schemas come from servers: parts that are too deep, circular, huge or invalid become a text field for JSON. */

export type Schema = Readonly<Record<string, unknown>>;

export const maxDepth = 8;
/** Fields of one object that a form shows; an object with more is a text field for JSON. */
const maxFields = 200;

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Follows a `$ref` within the document, and merges `allOf`. Nothing is fetched. @returns undefined for a reference that cannot be followed. */
export function resolve(schema: unknown, root: Schema, depth = 0): Schema | undefined {
  if (!isSchema(schema) || depth > maxDepth) return schema === true ? {} : undefined;
  const { $ref: reference, allOf, ...rest } = schema;
  if (typeof reference === 'string') {
    const target =
      reference === '#'
        ? root
        : reference.startsWith('#/')
          ? reference
              .slice(2)
              .split('/')
              .reduce<unknown>(
                (at, part) => (isSchema(at) || Array.isArray(at) ? own(at, unescaped(part)) : undefined),
                root,
              )
          : undefined;
    const found = resolve(target, root, depth + 1);
    return found === undefined ? undefined : merge(found, rest);
  }
  if (!Array.isArray(allOf)) return schema;
  const parts = allOf.map((part) => resolve(part, root, depth + 1));
  return parts.includes(undefined) ? undefined : parts.reduce<Schema>((all, part) => merge(all, part ?? {}), rest);
}

function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

function unescaped(part: string): string {
  const text = part.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // Not percent-encoded.
  }
}

function merge(one: Schema, other: Schema): Schema {
  const properties = {
    ...(isSchema(one['properties']) ? one['properties'] : {}),
    ...(isSchema(other['properties']) ? other['properties'] : {}),
  };
  const required = [one['required'], other['required']].flatMap((each) => (Array.isArray(each) ? each : []));
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
}

export interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** The fields of an object, required ones first. */
export function fieldsOf(schema: Schema, root: Schema = schema): readonly Field[] {
  const object = resolve(schema, root) ?? {};
  const required = new Set(Array.isArray(object['required']) ? object['required'] : []);
  const properties = isSchema(object['properties']) ? Object.entries(object['properties']) : [];
  const fields = properties
    .slice(0, maxFields)
    .map(([name, field]) => ({ name, schema: resolve(field, root) ?? {}, isRequired: required.has(name) }));
  return [...fields.filter(({ isRequired }) => isRequired), ...fields.filter(({ isRequired }) => !isRequired)];
}

export interface Choice {
  readonly title: string;
  readonly value: unknown;
}

/** The values that a schema lists (`enum`, `const`, or `const` in `oneOf` or `anyOf`); empty where it lists none. */
export function choicesOf(schema: Schema): readonly Choice[] {
  const { enum: listed, enumNames, oneOf, anyOf } = schema;
  if (Array.isArray(listed))
    return listed.map((value, index) => ({
      value,
      title: Array.isArray(enumNames) && typeof enumNames[index] === 'string' ? enumNames[index] : textOf(value),
    }));
  if ('const' in schema) return [{ value: schema['const'], title: textOf(schema['const']) }];
  const many = oneOf ?? anyOf;
  if (!Array.isArray(many) || many.length === 0 || !many.every((each) => isSchema(each) && 'const' in each)) return [];
  return (many as readonly Schema[]).map((each) => ({
    value: each['const'],
    title: typeof each['title'] === 'string' ? each['title'] : textOf(each['const']),
  }));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The alternatives of a schema, each as a schema of its own: `oneOf`, `anyOf`, several types; without `null`. A schema without alternatives is its only one. */
export function waysOf(schema: Schema, root: Schema): readonly Schema[] {
  const many = schema['oneOf'] ?? schema['anyOf'];
  const { oneOf: _one, anyOf: _any, ...rest } = schema;
  if (Array.isArray(many))
    return many
      .map((each) => resolve(each, root))
      .filter((each) => each !== undefined)
      .filter(({ type }) => type !== 'null')
      .map((each) => merge(rest, each));
  const { type } = schema;
  if (Array.isArray(type))
    return type.filter((each) => each !== 'null').map((each) => ({ ...schema, type: each as unknown }));
  return [schema];
}

export function isNullable(schema: Schema, root: Schema): boolean {
  const { type, oneOf, anyOf, nullable } = schema;
  if (type === 'null' || nullable === true || (Array.isArray(type) && type.includes('null'))) return true;
  return [oneOf, anyOf].some(
    (many) => Array.isArray(many) && many.some((each) => resolve(each, root)?.['type'] === 'null'),
  );
}

export type Shape = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'json';

/** The kind of field that shows a schema without alternatives. */
export function shapeOf(schema: Schema): Shape {
  const { type, properties, items } = schema;
  if (type === 'object' || (type === undefined && isSchema(properties)))
    return isSchema(properties) && Object.keys(properties).length <= maxFields ? 'object' : 'json';
  if (type === 'array' || (type === undefined && isSchema(items))) return isSchema(items) ? 'array' : 'json';
  return type === 'string' || type === 'number' || type === 'integer' || type === 'boolean' ? type : 'json';
}

/** The type of a field, for people. */
export function typeWords(schema: Schema): string {
  const choices = choicesOf(schema);
  if (choices.length > 0) return choices.map(({ title }) => title).join(' | ');
  const { type, anyOf, oneOf, items, minimum, maximum, format, default: fallback } = schema;
  const many = oneOf ?? anyOf;
  const kind = Array.isArray(type)
    ? type.join(' | ')
    : typeof type === 'string'
      ? type
      : Array.isArray(many)
        ? many.map((each) => (isSchema(each) ? typeWords(each) : 'anything')).join(' | ')
        : 'anything';
  const limits =
    minimum === undefined && maximum === undefined ? '' : ` ${textOf(minimum ?? '')}…${textOf(maximum ?? '')}`;
  return `${kind}${kind === 'array' && isSchema(items) ? ` of ${typeWords(items)}` : ''}${limits}${typeof format === 'string' ? ` (${format})` : ''}${fallback === undefined ? '' : `, else ${textOf(fallback)}`}`;
}
