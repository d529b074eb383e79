/**
 * Definitions of tools with fewer characters and the same meaning. A model reads them in every conversation. What a server checks stays as it is: only
 * annotations of schemas (JSON Schema 2020-12 Validation, 9) and white space go, and no value of `default`, `const` or `enum` is touched.
 */
import { isObject, type JsonObject } from '@omnibus/protocol';

/** One way to save characters. */
export type Measure = 'titles' | 'examples' | 'schema' | 'empty' | 'space';

export const measures: readonly Measure[] = ['titles', 'examples', 'schema', 'empty', 'space'];

/** Deeper parts stay as they are. */
const maxDepth = 64;
const schemaMaps: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
const schemaLists: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const schemas: ReadonlySet<string> = new Set(
  'items additionalProperties contains not if then else propertyNames unevaluatedItems unevaluatedProperties'.split(
    ' ',
  ),
);
/** Keywords that mean something else, or nothing, in another dialect of JSON Schema: where one stands, `$schema` stays. */
const ofDialect: ReadonlySet<string> = new Set(
  'additionalItems dependencies $recursiveRef $recursiveAnchor $id id $vocabulary'.split(' '),
);
/** Keywords that older dialects do not have, and so do not check. */
const ofNewDialects: ReadonlySet<string> = new Set(
  'prefixItems unevaluatedItems unevaluatedProperties dependentSchemas dependentRequired minContains maxContains $anchor $dynamicRef $dynamicAnchor'.split(
    ' ',
  ),
);
/** What a reference may have beside it: older dialects ignore everything there, and these check nothing. */
const annotations: ReadonlySet<string> = new Set(
  '$ref title description $comment default examples deprecated readOnly writeOnly'.split(' '),
);
/** The dialect of a schema without `$schema` (2025-11-25 basic, JSON Schema Usage). */
const usualDialect = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

/**
 * @param tool as clients see it.
 * @param by the measures to take; default: all.
 */
export function slimTool(tool: JsonObject, by: readonly Measure[] = measures): JsonObject {
  const slimmer = new Slimmer(new Set(by));
  const { name } = tool;
  const made = Object.entries(tool).flatMap(([key, value]): readonly (readonly [string, unknown])[] => {
    if (key === 'title' && slimmer.isSaid(value, name)) return [];
    if (key === 'description') return slimmer.text(key, value);
    if (key === 'annotations' && isObject(value)) {
      const { title, ...rest } = value;
      const left = slimmer.isSaid(title, name) ? rest : value;
      return slimmer.isEmpty(left) ? [] : [[key, left]];
    }
    if (key === '_meta' && slimmer.isEmpty(value)) return [];
    return key === 'inputSchema' || key === 'outputSchema' ? [[key, slimmer.root(value, name)]] : [[key, value]];
  });
  return Object.fromEntries(made);
}

class Slimmer {
  readonly #by: ReadonlySet<Measure>;

  constructor(by: ReadonlySet<Measure>) {
    this.#by = by;
  }

  /** Whether a title says only the name, in other letters, or as generators of schemas write it. */
  isSaid(title: unknown, name: unknown): boolean {
    if (!this.#by.has('titles') || typeof title !== 'string' || typeof name !== 'string') return false;
    return [bare(name), `${bare(name)}arguments`].includes(bare(title));
  }

  isEmpty(value: unknown): boolean {
    return this.#by.has('empty') && isObject(value) && Object.keys(value).length === 0;
  }

  text(key: string, value: unknown): readonly (readonly [string, unknown])[] {
    if (typeof value !== 'string') return [[key, value]];
    const text = this.#by.has('space') ? withoutSpace(value) : value;
    return text === '' && this.#by.has('empty') ? [] : [[key, text]];
  }

  root(schema: unknown, name: unknown): unknown {
    if (!isObject(schema)) return schema;
    const { $schema, ...rest } = schema;
    const mayGo = $schema !== undefined && this.#by.has('schema') && !isBoundToDialect(rest, 0, isOlder($schema));
    return this.#schema(mayGo ? rest : schema, name, 0);
  }

  #schema(schema: unknown, name: unknown, depth: number): unknown {
    if (!isObject(schema) || depth > maxDepth) return schema;
    return Object.fromEntries(
      Object.entries(schema).flatMap(([key, value]): readonly (readonly [string, unknown])[] => {
        if (key === 'title' && this.isSaid(value, name)) return [];
        if (key === 'examples' && this.#by.has('examples')) return [];
        if (key === 'description') return this.text(key, value);
        if ((key === '$defs' || key === 'definitions') && this.isEmpty(value)) return [];
        if (key === 'required' && this.#by.has('empty') && Array.isArray(value) && value.length === 0) return [];
        if (schemaMaps.has(key) && isObject(value))
          return [
            [
              key,
              Object.fromEntries(Object.entries(value).map(([of, each]) => [of, this.#schema(each, of, depth + 1)])),
            ],
          ];
        if (Array.isArray(value) && (schemaLists.has(key) || key === 'items'))
          return [[key, value.map((each) => this.#schema(each, undefined, depth + 1))]];
        return [[key, schemas.has(key) ? this.#schema(value, undefined, depth + 1) : value]];
      }),
    );
  }
}

const isOlder = (dialect: unknown): boolean => typeof dialect !== 'string' || !usualDialect.test(dialect);

/**
 * Whether a schema, or a part of it, has another meaning in the usual dialect.
 * @param fromOlder whether it is of another one.
 */
function isBoundToDialect(schema: unknown, depth: number, fromOlder: boolean): boolean {
  if (Array.isArray(schema)) return schema.some((each) => isBoundToDialect(each, depth + 1, fromOlder));
  if (!isObject(schema)) return false;
  if (depth > maxDepth || (fromOlder && isReadOtherwise(schema))) return true;
  return Object.entries(schema).some(
    ([key, value]) =>
      ofDialect.has(key) || (key === 'items' && Array.isArray(value)) || isBoundToDialect(value, depth + 1, fromOlder),
  );
}

/** Whether an older dialect reads this part in another way: a reference hides what is beside it, and bounds of draft-04 have switches. */
function isReadOtherwise(schema: JsonObject): boolean {
  const keys = Object.keys(schema);
  return (
    (typeof schema['$ref'] === 'string' && keys.some((key) => !annotations.has(key))) ||
    keys.some((key) => ofNewDialects.has(key) || (key.startsWith('exclusiveM') && typeof schema[key] === 'boolean'))
  );
}

const bare = (text: string): string => text.toLowerCase().replaceAll(/[\s_.-]/g, '');

/** A text without the indentation that all its lines have, spaces at the ends of lines, and more than one empty line in a row. */
function withoutSpace(text: string): string {
  const lines = text
    .replaceAll(/\r\n?/g, '\n')
    .trim()
    .split('\n')
    .map((line) => line.trimEnd());
  const indents = lines.slice(1).flatMap((line) => (line === '' ? [] : [line.length - line.trimStart().length]));
  // Not as arguments of `Math.min`: a server may send more lines than a call has room for.
  const common = indents.reduce((least, each) => Math.min(least, each), indents[0] ?? 0);
  return lines
    .map((line, at) => (at === 0 ? line : line.slice(common)))
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n');
}
