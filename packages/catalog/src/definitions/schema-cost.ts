/** What makes a schema of a tool costly or dangerous for clients that read it. */
import { isObject, type JsonObject } from '@omnibus/protocol';

/** Nesting that clients and models read without trouble; validators recurse. */
const maxDepth = 24;
/** Parts of a schema that a tool may need: a form of a few hundred fields. */
const maxParts = 5_000;
/** Parts after the replacement of every reference by its target, as some clients do. */
const maxExpanded = 100_000;
/** A group with a repetition in it that is repeated itself, such as `(a+)+`: matching can take exponential time. */
const nestedRepetition = /\((?:[^()\\]|\\.)*(?:[+*]|\{\d+,\d*\})(?:[^()\\]|\\.)*\)(?:[+*]|\{\d+,\d*\})/;

/** @returns the findings, in words; empty for an ordinary schema. */
export function schemaFindings(schema: JsonObject): readonly string[] {
  const found = new Set<string>();
  const sizes = new Map<unknown, number>();
  const open = new Set<unknown>();
  let parts = 0;
  /** The size of a part with its references replaced. A reference back to a part that is being looked at counts as one: recursion is ordinary. */
  const look = (value: unknown, depth: number): number => {
    if (typeof value !== 'object' || value === null || open.has(value)) return 1;
    const known = sizes.get(value);
    if (known !== undefined) return known;
    parts += 1;
    if (depth > maxDepth) found.add(`it is nested more than ${maxDepth} deep`);
    if (parts > maxParts) found.add(`it has more than ${maxParts} parts`);
    if (parts > maxParts || depth > 2 * maxDepth) return 1;
    open.add(value);
    let size = 1;
    for (const each of Object.values(value)) size = Math.min(size + look(each, depth + 1), maxExpanded + 1);
    if (!Array.isArray(value)) size = Math.min(size + special(value as JsonObject, depth), maxExpanded + 1);
    open.delete(value);
    sizes.set(value, size);
    return size;
  };
  const special = ({ $ref: reference, pattern }: JsonObject, depth: number): number => {
    if (typeof pattern === 'string' && nestedRepetition.test(pattern.slice(0, 1_000)))
      found.add('it has a pattern that can take for ever to match');
    if (typeof reference !== 'string') return 0;
    if (!reference.startsWith('#')) {
      found.add('it refers to a schema elsewhere');
      return 0;
    }
    const target = targetOf(schema, reference);
    return target === undefined ? 0 : look(target, depth + 1);
  };
  if (look(schema, 0) > maxExpanded) found.add(`its references multiply to more than ${maxExpanded} parts`);
  return [...found];
}

/** The target of a reference within the document (RFC 6901). */
function targetOf(schema: JsonObject, reference: string): unknown {
  let at: unknown = schema;
  for (const step of reference
    .slice(1)
    .split('/')
    .slice(1, 2 * maxDepth)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!(isObject(at) || Array.isArray(at)) || !Object.hasOwn(at, key)) return undefined;
    at = (at as JsonObject)[key];
  }
  return at;
}
