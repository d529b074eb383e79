/**
 * Repairs unambiguous violations of the schema of an entry. Each change is one row of the table of repairs.
 * Nothing is guessed: an entry that is unfit afterwards is left out of the list (`entry-fit.ts`).
 */
import { isEmptyList, isEmptyObject, isObject, type JsonObject, type ListKind, type Repair } from '@omnibus/protocol';
import { annotationFits, iconFits } from './entry-fit.ts';

/** Hears of each repair. @param member where it is, within the entry. */
export type NoteRepair = (repair: Repair, member: string) => void;

/** Members with any JSON as value, so that null is a value. */
const values: ReadonlySet<string> = new Set(['const', 'default']);
const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;
const schemas = ['inputSchema', 'outputSchema'] as const;

/** @returns the same object where there is nothing to repair. */
export function repairEntry(kind: ListKind, value: JsonObject, note: NoteRepair): JsonObject {
  let entry = withEmpty(withoutNulls(value, '', note), ofEntries, '', note);
  if (kind === 'tools') {
    entry = withMember(entry, 'inputSchema', objectSchema(entry['inputSchema'], note));
    for (const name of schemas) entry = mapObject(entry, name, (schema) => repairSchema(schema, name, note));
    entry = mapObject(entry, 'execution', (execution) => withoutNulls(execution, 'execution.', note));
    entry = mapObject(entry, 'annotations', (annotations) =>
      withFlags(withoutNulls(annotations, 'annotations.', note), hints, 'annotations.', note),
    );
  } else if (kind === 'prompts') {
    entry = mapItems(entry, 'arguments', (item, place) =>
      isObject(item) ? withFlags(withoutNulls(item, `${place}.`, note), ['required'], `${place}.`, note) : item,
    );
  } else entry = withAnnotations(entry, note);
  return withIcons(entry, note);
}

function withIcons(entry: JsonObject, note: NoteRepair): JsonObject {
  const { icons } = entry;
  if (icons === undefined) return entry;
  if (!Array.isArray(icons)) {
    note('icon', 'icons');
    return without(entry, 'icons');
  }
  return mapItems(entry, 'icons', (item, place) => {
    let icon = isObject(item) ? withoutNulls(item, `${place}.`, note) : {};
    if (typeof icon['sizes'] === 'string') {
      note('icon-sizes', `${place}.sizes`);
      icon = { ...icon, sizes: icon['sizes'].split(/\s+/).filter((size) => size !== '') };
    }
    icon = onlyFitting(icon, iconFits, (name) => note('icon', `${place}.${name}`));
    if (typeof icon['src'] === 'string') return icon;
    note('icon', place);
    return undefined;
  });
}

function withAnnotations(entry: JsonObject, note: NoteRepair): JsonObject {
  const { annotations } = entry;
  if (annotations === undefined) return entry;
  if (!isObject(annotations)) {
    note('annotation', 'annotations');
    return without(entry, 'annotations');
  }
  return mapObject(entry, 'annotations', (each) =>
    onlyFitting(withoutNulls(each, 'annotations.', note), annotationFits, (name) =>
      note('annotation', `annotations.${name}`),
    ),
  );
}

/** The arguments of a call are an object (server/tools, Tool; schema, `Tool.inputSchema.type`), so a schema without type describes one. */
function objectSchema(schema: unknown, note: NoteRepair): unknown {
  if (schema !== undefined && schema !== true && !isObject(schema)) return schema;
  const { type, ...rest } = isObject(schema) ? schema : { type: undefined };
  const isUntyped = type === undefined || type === null || (Array.isArray(type) && type.includes('object'));
  if (!isUntyped) return schema;
  note('input-schema', 'inputSchema');
  return { type: 'object', ...rest };
}

function repairSchema(schema: JsonObject, name: string, note: NoteRepair): JsonObject {
  return mapObject(
    withEmpty(withoutNulls(schema, `${name}.`, note), ofSchemas, `${name}.`, note),
    'properties',
    (properties) => {
      const place = `${name}.properties.`;
      let made = withoutNulls(properties, place, note, noNames);
      made = withEmpty(made, { objects: Object.keys(made), lists: [] }, place, note);
      for (const [property, each] of Object.entries(made)) {
        if (typeof each !== 'boolean') continue;
        note('boolean-schema', `${name}.properties.${property}`);
        made = withMember(made, property, each ? {} : { not: {} });
      }
      return made;
    },
  );
}

const noNames: ReadonlySet<string> = new Set();

/** Members that are objects, and members that are lists. */
interface Containers {
  readonly objects: readonly string[];
  readonly lists: readonly string[];
}

const ofEntries: Containers = {
  objects: ['inputSchema', 'annotations', 'execution', '_meta'],
  lists: ['arguments'],
};
const ofSchemas: Containers = { objects: ['properties', '$defs', 'definitions'], lists: ['required'] };

/** Languages with one kind of container write an empty object as `[]` (PHP), or an empty list as `{}` (Lua). */
function withEmpty(object: JsonObject, { objects, lists }: Containers, place: string, note: NoteRepair): JsonObject {
  let made = object;
  for (const name of objects)
    if (isEmptyList(object[name])) {
      note('empty-object', `${place}${name}`);
      made = withMember(made, name, {});
    }
  for (const name of lists)
    if (isEmptyObject(object[name])) {
      note('empty-list', `${place}${name}`);
      made = withMember(made, name, []);
    }
  return made;
}

/** @param kept names of members of which null is a value. */
function withoutNulls(object: JsonObject, place: string, note: NoteRepair, kept = values): JsonObject {
  let made: JsonObject | undefined;
  for (const name of Object.keys(object)) {
    if (object[name] !== null || kept.has(name)) continue;
    note('null-member', `${place}${name}`);
    made = without(made ?? object, name);
  }
  return made ?? object;
}

function withFlags(object: JsonObject, names: readonly string[], place: string, note: NoteRepair): JsonObject {
  let made = object;
  for (const name of names) {
    const value = object[name];
    const text = typeof value === 'string' ? value.toLowerCase() : '';
    if (text !== 'true' && text !== 'false') continue;
    note('text-flag', `${place}${name}`);
    made = withMember(made, name, text === 'true');
  }
  return made;
}

function onlyFitting(
  object: JsonObject,
  fits: Readonly<Record<string, (value: unknown) => boolean>>,
  dropped: (name: string) => void,
): JsonObject {
  let made = object;
  for (const [name, isFit] of Object.entries(fits)) {
    if (!Object.hasOwn(object, name) || isFit(object[name])) continue;
    dropped(name);
    made = without(made, name);
  }
  return made;
}

function mapObject(entry: JsonObject, name: string, map: (value: JsonObject) => JsonObject): JsonObject {
  const value = entry[name];
  return isObject(value) ? withMember(entry, name, map(value)) : entry;
}

/** @param map returns undefined for an item that is dropped. */
function mapItems(entry: JsonObject, name: string, map: (item: unknown, place: string) => unknown): JsonObject {
  const list = entry[name];
  if (!Array.isArray(list)) return entry;
  const made = list.map((item: unknown, index) => map(item, `${name}[${index}]`));
  return made.every((item, index) => item === list[index])
    ? entry
    : withMember(
        entry,
        name,
        made.filter((item) => item !== undefined),
      );
}

/** `__proto__` is a name like others here. */
function withMember(object: JsonObject, name: string, value: unknown): JsonObject {
  if (object[name] === value && Object.hasOwn(object, name)) return object;
  return value === undefined
    ? object
    : Object.fromEntries([
        ...Object.entries(object).map(([each, before]) => [each, each === name ? value : before] as const),
        ...(Object.hasOwn(object, name) ? [] : [[name, value] as const]),
      ]);
}

function without(object: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([each]) => each !== name));
}
