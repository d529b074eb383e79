/**
 * Members of a result that are null where the specification's schema has no null: libraries write members that are not set, and lists without items, in this
 * way, and official clients refuse the result over them. Data of a tool is left as it is. `_meta` that is an empty list is an empty object (PHP).
 */
import {
  isEmptyList,
  isObject,
  methodRow,
  wire,
  type ExchangeMethod,
  type ExchangeOutcome,
  type JsonObject,
  type MayHaveBytes,
  type Repair,
  type RepairCounts,
} from '@omnibus/protocol';
import type { CatalogPublisher } from '../../catalog/publisher.ts';
import type { CallStep } from '../../call/steps.ts';

/** Hears of each repair. @param repair left out for a member that is absent from now on. */
type Note = (place: string, repair?: Repair) => void;

/** Optional members of results, of blocks of content, of contents and of completions (2025-11-25 and 2026-07-28 schema). */
const optional: ReadonlySet<string> = new Set([
  ...['_meta', 'isError', 'description', 'annotations', 'title', 'icons', 'mimeType', 'size', 'text', 'blob'],
  ...['audience', 'priority', 'lastModified', 'total', 'hasMore', 'resultType', 'ttlMs', 'cacheScope'],
]);

/** Members that hold blocks of content, contents of resources, or messages of prompts. */
const lists = ['content', 'contents', 'messages'] as const;

/** Whether a result may have such members. It allocates nothing, since it looks at every result. */
export function mayHoldNulls(outcome: ExchangeOutcome): boolean {
  if (outcome.kind !== 'result') return false;
  const { result } = outcome;
  if ((result as MayHaveBytes)[wire]?.hasNulls === false) return false;
  for (const name in result) {
    const value = result[name];
    if (value === null || (name === 'completion' && hasNull(value))) return true;
    if (!Array.isArray(value)) continue;
    if (value.length === 0 && name === '_meta') return true;
    for (let index = 0; index < value.length; index += 1) {
      const item: unknown = value[index];
      if (!isObject(item)) continue;
      for (const member in item) if (typeof item[member] === 'object' && hasNull(item[member], 1)) return true;
    }
  }
  return false;
}

/** In the object, or in an object in it. */
function hasNull(value: unknown, depth = 0): boolean {
  if (value === null) return true;
  if (!isObject(value)) return false;
  for (const name in value) {
    const member = value[name];
    if (member === null || (depth < 2 && hasNull(member, depth + 1))) return true;
  }
  return false;
}

/**
 * @param mayBeNull whether null is a value of the tool's `structuredContent`; asked only where it is null.
 * @param note hears of each member, by its place.
 * @returns the same object where there is nothing to repair, as in almost every result.
 */
export function withoutNullMembers(
  method: ExchangeMethod,
  outcome: ExchangeOutcome,
  mayBeNull: () => boolean,
  note: Note,
): ExchangeOutcome {
  if (outcome.kind !== 'result') return outcome;
  const { result } = outcome;
  // The gateway does not know the results of methods that no revision defines.
  if (methodRow(method) === undefined) return outcome;
  let made = cleaned(result, '', note);
  for (const list of lists) made = withItems(withList(made, list, '', note), list, note);
  if (isEmptyList(made['_meta'])) {
    note('_meta', 'empty-object');
    made = { ...made, _meta: {} };
  }
  const { completion } = made;
  if (isObject(completion)) {
    const values = withList(cleaned(completion, 'completion.', note), 'values', 'completion.', note);
    made = withMember(made, 'completion', values);
  }
  if (made['structuredContent'] === null && !mayBeNull()) made = without(made, 'structuredContent', '', note);
  return made === result ? outcome : { ...outcome, result: made };
}

/** A list without items is null where a language has no empty list (Go). */
function withList(object: JsonObject, name: string, place: string, note: Note): JsonObject {
  if (object[name] !== null) return object;
  note(`${place}${name}`, 'empty-list');
  return { ...object, [name]: [] };
}

/** Blocks of content, contents of resources, or messages of prompts, which hold a block. */
function withItems(result: JsonObject, name: string, note: Note): JsonObject {
  const list = result[name];
  if (!Array.isArray(list)) return result;
  let made: unknown[] | undefined;
  for (let index = 0; index < list.length; index += 1) {
    const item: unknown = list[index];
    if (!isObject(item)) continue;
    const kept = block(item, `${name}[${index}].`, note);
    if (kept !== item) (made ??= [...(list as unknown[])])[index] = kept;
  }
  return made === undefined ? result : { ...result, [name]: made };
}

/** Its members, and those of its parts: a resource, annotations, the content of a message. */
function block(item: JsonObject, place: string, note: Note): JsonObject {
  let made = cleaned(item, place, note);
  for (const name of ['resource', 'annotations', 'content']) {
    const inner = made[name];
    if (isObject(inner))
      made = withMember(
        made,
        name,
        name === 'content' ? block(inner, `${place}${name}.`, note) : cleaned(inner, `${place}${name}.`, note),
      );
  }
  return made;
}

function cleaned(object: JsonObject, place: string, note: Note): JsonObject {
  let made = object;
  for (const name in object) if (object[name] === null && optional.has(name)) made = without(made, name, place, note);
  return made;
}

function without(object: JsonObject, name: string, place: string, note: Note): JsonObject {
  note(`${place}${name}`);
  const { [name]: _null, ...rest } = object;
  return rest;
}

function withMember(object: JsonObject, name: string, value: JsonObject): JsonObject {
  return object[name] === value ? object : { ...object, [name]: value };
}

/** Repairs what calls are answered. @param repairs counts the members that were left out. */
export function nullSteps(repairs: RepairCounts, catalog: Pick<CatalogPublisher, 'tool'>): CallStep {
  return {
    outcome: ({ command: { method, params, context } }, given) =>
      mayHoldNulls(given)
        ? withoutNullMembers(
            method,
            given,
            () => {
              const schema = catalog.tool(String(params['name']), context.principal)?.['outputSchema'];
              return isObject(schema) && schema['type'] !== 'object';
            },
            (place, repair = 'null-member') => repairs.note(repair, `result of ${method}: ${place}`),
          )
        : given,
  };
}
