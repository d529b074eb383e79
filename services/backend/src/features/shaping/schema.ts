/**
 * The input schema of a shaped tool: without its hidden arguments, with the new names of the others. What a schema says of names in its conditions
 * (`anyOf`, `if`, `dependentRequired`) is rewritten too. Where that is impossible, the shape does not fit, and the problem says why.
 */
import type { ServerConfig } from '@omnibus/config';
import { isObject, isTemplate, type JsonObject } from '@omnibus/protocol';

export type ToolShape = ServerConfig['tools'][string];
export type ArgumentShape = ToolShape['arguments'][string];

type ShapedSchema = { readonly schema: JsonObject } | { readonly problem: string };

/** Keywords with schemas for the same object (JSON Schema 2020-12, 10.2). */
const lists = ['allOf', 'anyOf', 'oneOf'] as const;
const single = ['not', 'if', 'then', 'else'] as const;
/** Keywords with values, in which `$ref` is no reference. */
const values: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);

export function isHidden(shape: ArgumentShape | undefined): boolean {
  return shape !== undefined && 'fixed' in shape;
}

/** The name that clients use for an argument. */
export function shownName(original: string, shape: ArgumentShape | undefined): string {
  return shape?.name ?? original;
}

/** @returns the schema for clients, or why the shape does not fit the schema of the server. */
export function shapedSchema(schema: JsonObject, shapes: ToolShape['arguments']): ShapedSchema {
  const all = new Map(Object.entries(shapes));
  const problem = misfit(schema, all);
  if (problem !== undefined) return { problem };
  const properties = propertiesOf(schema);
  const shown = Object.fromEntries(
    Object.entries(properties).flatMap(([name, property]) => {
      const shape = all.get(name);
      return isHidden(shape) ? [] : [[shownName(name, shape), shapedProperty(property, shape)]];
    }),
  );
  const rewritten = new Rewriting(all).node(schema);
  const optional = new Set(
    [...all].filter(([, shape]) => 'default' in shape).map(([name, shape]) => shownName(name, shape)),
  );
  const required = textsOf(rewritten['required']).filter((name) => !optional.has(name));
  // They may name arguments by the names of the server.
  const { examples: _examples, default: _default, required: _required, ...rest } = rewritten;
  return { schema: { ...rest, properties: shown, ...(required.length === 0 ? {} : { required }) } };
}

/** The definition that the server gives an argument. */
export function propertyOf(schema: unknown, name: string): unknown {
  return hasProperty(schema, name) ? propertiesOf(schema)[name] : undefined;
}

export function hasProperty(schema: unknown, name: string): boolean {
  return Object.hasOwn(propertiesOf(schema), name);
}

function propertiesOf(schema: unknown): JsonObject {
  return isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {};
}

function shapedProperty(property: unknown, shape: ArgumentShape | undefined): unknown {
  if (shape === undefined || !isObject(property)) return property;
  const { description } = shape;
  return {
    ...property,
    ...(description === undefined ? {} : { description }),
    // A fact about the caller is not known here.
    ...('default' in shape && !isFact(shape.default) ? { default: shape.default } : {}),
  };
}

/** Whether a configured value depends on the caller. */
export function isFact(value: unknown): value is string {
  return typeof value === 'string' && isTemplate(value);
}

function misfit(schema: JsonObject, shapes: ReadonlyMap<string, ArgumentShape>): string | undefined {
  const properties = propertiesOf(schema);
  for (const [name, shape] of shapes) {
    if (!Object.hasOwn(properties, name)) return `the server's tool has no argument ${JSON.stringify(name)}`;
    for (const option of ['fixed', 'default'] as const) {
      const problem = option in shape ? valueProblem(shape[option], properties[name]) : undefined;
      if (problem !== undefined) return `\`${option}\` of the argument ${JSON.stringify(name)} ${problem}`;
    }
  }
  const seen = new Set<string>();
  for (const name of Object.keys(properties)) {
    const shape = shapes.get(name);
    if (isHidden(shape)) continue;
    const shown = shownName(name, shape);
    if (seen.has(shown)) return `two of its arguments would have the name ${JSON.stringify(shown)}`;
    seen.add(shown);
  }
  const moved = new Set(
    [...shapes].filter(([, shape]) => isHidden(shape) || shape.name !== undefined).map(([name]) => name),
  );
  const reference = moved.size === 0 ? undefined : movedReference(schema, moved);
  return reference === undefined
    ? undefined
    : `a part of its schema refers to ${JSON.stringify(reference.slice(0, 200))}, which an argument with another name, or a hidden one, moves`;
}

/** A reference into a part of the schema that has moved, or may have. */
function movedReference(value: unknown, moved: ReadonlySet<string>): string | undefined {
  if (Array.isArray(value)) {
    for (const each of value) {
      const found = movedReference(each, moved);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isObject(value)) return undefined;
  for (const [key, each] of Object.entries(value)) {
    if (values.has(key)) continue;
    const found =
      /^\$(ref|dynamicRef|recursiveRef)$/.test(key) && typeof each === 'string'
        ? isMoved(each, moved)
          ? each
          : undefined
        : movedReference(each, moved);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isMoved(reference: string, moved: ReadonlySet<string>): boolean {
  const [, place, name] = /^#\/([^/]+)\/([^/]*)/.exec(reference) ?? [];
  if (place === '$defs' || place === 'definitions') return false;
  return place !== 'properties' || moved.has((name as string).replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Why the server would refuse a configured value, as far as a look at the definition of the argument shows. */
function valueProblem(value: unknown, property: unknown): string | undefined {
  if (!isObject(property)) return undefined;
  const { type, enum: choices } = property;
  const types = textsOf(typeof type === 'string' ? [type] : type);
  if (isFact(value))
    return types.length === 0 || types.some((each) => /^(string|number|integer|boolean)$/.test(each))
      ? undefined
      : `is a fact about the caller, which is no ${types.join(' or ')}`;
  if (types.length > 0 && !types.some((each) => isOfType(value, each))) return `is no ${types.join(' or ')}`;
  const allowed = Array.isArray(choices) ? choices : 'const' in property ? [property['const']] : undefined;
  return allowed === undefined || allowed.some((each) => JSON.stringify(each) === JSON.stringify(value))
    ? undefined
    : 'is none of the values that the server allows';
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

/** Gives the conditions of a schema the names of clients. A hidden argument is always there, so a demand for it is met. */
class Rewriting {
  readonly #shapes: ReadonlyMap<string, ArgumentShape>;
  readonly #countChanges: boolean;

  constructor(shapes: ReadonlyMap<string, ArgumentShape>) {
    this.#shapes = shapes;
    this.#countChanges = [...shapes.values()].some((shape) => 'fixed' in shape || 'default' in shape);
  }

  node(schema: JsonObject): JsonObject {
    const changed: Record<string, unknown> = { ...schema };
    // The server checks what is left out here.
    delete changed['propertyNames'];
    if (this.#countChanges) for (const key of ['minProperties', 'maxProperties']) delete changed[key];
    for (const key of lists)
      if (Array.isArray(schema[key])) changed[key] = (schema[key] as unknown[]).map((each) => this.#part(each));
    for (const key of single) if (schema[key] !== undefined) changed[key] = this.#part(schema[key]);
    if (isObject(schema['properties'])) changed['properties'] = this.#keyed(schema['properties'], (each) => each);
    const required = [...this.#names(schema['required'])];
    for (const key of ['dependentRequired', 'dependentSchemas', 'dependencies'])
      if (isObject(schema[key])) this.#dependent(key, schema[key], changed, required);
    if (Array.isArray(schema['required']) || required.length > 0) changed['required'] = [...new Set(required)];
    return changed;
  }

  #part(value: unknown): unknown {
    return isObject(value) ? this.node(value) : value;
  }

  /** What follows from a hidden argument, which is always there, always holds. */
  #dependent(key: string, given: JsonObject, changed: Record<string, unknown>, required: string[]): void {
    for (const [name, follows] of Object.entries(given)) {
      if (!isHidden(this.#shapes.get(name))) continue;
      if (Array.isArray(follows)) required.push(...this.#names(follows));
      else changed['allOf'] = [...((changed['allOf'] as unknown[] | undefined) ?? []), this.#part(follows)];
    }
    changed[key] = this.#keyed(given, (follows) =>
      Array.isArray(follows) ? this.#names(follows) : this.#part(follows),
    );
  }

  #keyed(given: JsonObject, each: (value: unknown) => unknown): JsonObject {
    return Object.fromEntries(
      Object.entries(given).flatMap(([name, value]) => {
        const shape = this.#shapes.get(name);
        return isHidden(shape) ? [] : [[shownName(name, shape), each(value)]];
      }),
    );
  }

  #names(given: unknown): readonly string[] {
    return textsOf(given).flatMap((name) => {
      const shape = this.#shapes.get(name);
      return isHidden(shape) ? [] : [shownName(name, shape)];
    });
  }
}
