/**
 * What a definition of a tool, prompt or resource template consists of: words for people and models, what it takes, what it gives, and how it
 * behaves. Only a change of words leaves what was approved true.
 */
import { canonical, isObject, type DefinedKind, type JsonObject } from '@omnibus/protocol';
import { hash } from 'node:crypto';

const facets = ['words', 'input', 'output', 'behaviour'] as const;
export type Facet = (typeof facets)[number];

/** Keywords of a schema that only say something (JSON Schema 2020-12, 9; `examples`, `$comment`). */
const annotations = new Set(['title', 'description', 'examples', '$comment']);
/** Members of a schema whose own members are names that somebody chose. */
const named = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Members of a schema that hold values and no schemas: a `description` in there is a part of the value. */
const values = new Set(['enum', 'const', 'default']);

/** A schema without its words. */
function withoutWords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutWords);
  if (!isObject(schema)) return schema;
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !annotations.has(key)).map(([key, value]) => {
    if (values.has(key)) return [key, value];
    if (named.has(key) && isObject(value)) return [key, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutWords(each)]))];
    return [key, withoutWords(value)];
  }));
}

/** `title` of a tool's annotations is a word too; so is `_meta`, whose use is up to hosts. */
function facetsOf(kind: DefinedKind, entry: JsonObject): Readonly<Record<Facet, unknown>> {
  const { title, description, icons, _meta, inputSchema, outputSchema, arguments: given, annotations: hints, ...rest } = entry;
  const { title: hintTitle, ...behaviour } = isObject(hints) ? hints : {};
  const words = { title, description, icons, _meta, hintTitle };
  if (kind === 'tools') return { words: { ...words, inputSchema, outputSchema }, input: withoutWords(inputSchema), output: withoutWords(outputSchema), behaviour: { ...rest, ...behaviour } };
  if (kind === 'prompts') return { words: { ...words, given }, input: withoutWords(given), output: undefined, behaviour: { ...rest, ...behaviour } };
  const { name, uriTemplate, mimeType, ...more } = rest;
  return { words: { ...words, name }, input: uriTemplate, output: mimeType, behaviour: { ...more, ...behaviour } };
}

/** Facets in which two definitions of one thing differ. */
export function changedFacets(kind: DefinedKind, approved: JsonObject, seen: JsonObject): readonly Facet[] {
  if (canonical(approved) === canonical(seen)) return [];
  const [before, after] = [facetsOf(kind, approved), facetsOf(kind, seen)];
  return facets.filter((facet) => canonical(before[facet]) !== canonical(after[facet]));
}

/** Names one definition, whatever order its members come in. */
export function definitionDigest(definition: unknown): string {
  const text = canonical(definition);
  // Half a surrogate pair has no bytes of its own.
  return hash('sha256', text.isWellFormed() ? text : JSON.stringify(text), 'base64url').slice(0, 22);
}
