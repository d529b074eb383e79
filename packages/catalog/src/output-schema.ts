/**
 * Output schemas for clients of the revisions with sessions, which take an object only (2025-11-25 schema, Tool): any other
 * appears inside an object, and so are its values.
 */
import { isObject, type JsonObject } from '@omnibus/protocol';
import { isPlain } from './plain-schema.ts';

export function needsWrapping(outputSchema: unknown): boolean {
  return isObject(outputSchema) && outputSchema['type'] !== 'object';
}

export function wrapSchema(schema: JsonObject): JsonObject {
  return { type: 'object', properties: { result: moveReferences(schema) }, required: ['result'] };
}

/** References from the root of the schema lead to where it is now. */
function moveReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(moveReferences);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) =>
      key === '$ref' && typeof each === 'string' && (each === '#' || each.startsWith('#/'))
        ? [key, `#/properties/result${each.slice(1)}`]
        : [key, moveReferences(each)],
    ),
  );
}

/**
 * An output schema as clients get it. A client compiles the schemas of all tools in one place, where an `$id` of one server would stand for a schema of
 * another. No reference needs it: those that do not begin with "#" make a schema unusable.
 */
export function shownSchema(schema: JsonObject): JsonObject {
  if (schema['$id'] === undefined) return schema;
  const { $id: _id, ...rest } = schema;
  return rest;
}

/** The forms of an output schema for clients that some may be unable to compile; none if all can. */
export function formsToCompile(schema: JsonObject): readonly JsonObject[] {
  const shown = shownSchema(schema);
  if (isPlain(shown)) return [];
  return needsWrapping(shown) ? [shown, wrapSchema(shown)] : [shown];
}

/** Whether a part of a schema has an `$id`, which clients would confuse with those of other servers. */
export function hasInnerId(value: unknown, isRoot = true): boolean {
  if (Array.isArray(value)) return value.some((each) => hasInnerId(each, false));
  if (!isObject(value)) return false;
  if (!isRoot && typeof value['$id'] === 'string') return true;
  return Object.values(value).some((each) => hasInnerId(each, false));
}
