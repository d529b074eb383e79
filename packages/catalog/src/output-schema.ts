/**
 * Output schemas for clients of the revisions with sessions, which take an object only (2025-11-25 schema, Tool): any other
 * is shown inside an object, and so are its values.
 */
import { isObject, type JsonObject } from '@omnibus/protocol';

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
