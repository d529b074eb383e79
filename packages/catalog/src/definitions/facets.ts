/**
 * The parts of a definition of a tool, prompt or resource template: texts for people and models, input, output, and behaviour. After a change of
 * texts only, the rest of the approval is still valid.
 */
import { canonical, isObject, type DefinedKind, type JsonObject } from '@omnibus/protocol';
import { hash } from 'node:crypto';

const facets = ['words', 'input', 'output', 'behaviour'] as const;
export type Facet = (typeof facets)[number];

/** Keywords of a schema that are only annotations (JSON Schema 2020-12, 9; `examples`, `$comment`). */
const annotations = new Set(['title', 'description', 'examples', '$comment']);
/** Members of a schema with free names of their own members. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Members of a schema that contain values instead of schemas: a `description` in them is a part of the value. */
const values = new Set(['enum', 'const', 'default']);

function withoutWords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutWords);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !annotations.has(key))
      .map(([key, value]) => {
        if (values.has(key)) return [key, value];
        if (named.has(key) && isObject(value))
          return [key, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutWords(each)]))];
        return [key, withoutWords(value)];
      }),
  );
}

/** The facets of a definition. The `title` of a tool's annotations counts as text, and so does `_meta`, which hosts interpret. */
function facetsOf(kind: DefinedKind, entry: JsonObject): Readonly<Record<Facet, unknown>> {
  const {
    title,
    description,
    icons,
    _meta,
    inputSchema,
    outputSchema,
    arguments: given,
    annotations: hints,
    ...rest
  } = entry;
  const { title: hintTitle, ...behaviour } = isObject(hints) ? hints : {};
  const words = { title, description, icons, _meta, hintTitle };
  if (kind === 'tools')
    return {
      words: { ...words, inputSchema, outputSchema },
      input: withoutWords(inputSchema),
      output: withoutWords(outputSchema),
      behaviour: { ...rest, ...behaviour },
    };
  if (kind === 'prompts')
    return {
      words: { ...words, given },
      input: withoutWords(given),
      output: undefined,
      behaviour: { ...rest, ...behaviour },
    };
  const { name, uriTemplate, mimeType, ...more } = rest;
  return { words: { ...words, name }, input: uriTemplate, output: mimeType, behaviour: { ...more, ...behaviour } };
}

/** The facets in which two definitions differ. */
export function changedFacets(kind: DefinedKind, approved: JsonObject, seen: JsonObject): readonly Facet[] {
  if (canonical(approved) === canonical(seen)) return [];
  const [before, after] = [facetsOf(kind, approved), facetsOf(kind, seen)];
  return facets.filter((facet) => canonical(before[facet]) !== canonical(after[facet]));
}

/** A digest of a definition that does not depend on the order of its members. */
export function definitionDigest(definition: unknown): string {
  const text = canonical(definition);
  // Half a surrogate pair has no bytes of its own.
  return hash('sha256', text.isWellFormed() ? text : JSON.stringify(text), 'base64url').slice(0, 22);
}

/** By the object of a definition in the catalogue, which stays the same until the definition changes. */
const digests = new WeakMap<JsonObject, string>();

export function entryDigest(entry: JsonObject): string {
  const digest = digests.get(entry) ?? definitionDigest(entry);
  digests.set(entry, digest);
  return digest;
}
