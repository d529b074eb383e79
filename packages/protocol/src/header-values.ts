/** Values in HTTP headers (2026-07-28 basic/transports, Custom Headers): those a header cannot carry are wrapped in base64. */
import { isObject, type JsonObject } from './json-rpc.ts';

const wrapped = /^=\?base64\?(.*)\?=$/s;
const safe = /^[\x21-\x7E](?:[\x20-\x7E\t]*[\x21-\x7E])?$/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export function encodeHeaderValue(value: string): string {
  const isSafe = value === '' || (safe.test(value) && !wrapped.test(value));
  return isSafe ? value : `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

/** @returns undefined for a wrapped value that is no proper base64; anything not wrapped is itself. */
export function decodeHeaderValue(value: string): string | undefined {
  const match = wrapped.exec(value);
  if (match === null) return value;
  const [, encoded = ''] = match;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64') === encoded ? bytes.toString('utf8') : undefined;
}

/** An argument of a tool that is repeated in a header `Mcp-Param-<name>`. */
export interface ParameterHeader {
  readonly path: readonly string[];
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean';
}

const annotation = 'x-mcp-header';
/** Schemas are asked with every call; each is read once. */
const read = new WeakMap<JsonObject, ReturnType<typeof parameterHeaders>>();

/**
 * The arguments an input schema wants repeated in headers.
 * @returns the problem, when an annotation breaks the rules: such a tool must not be offered.
 */
export function parameterHeaders(schema: JsonObject): readonly ParameterHeader[] | { readonly problem: string } {
  const known = read.get(schema) ?? readParameterHeaders(schema);
  read.set(schema, known);
  return known;
}

function readParameterHeaders(schema: JsonObject): ReturnType<typeof parameterHeaders> {
  const found: ParameterHeader[] = [];
  const problem = collect(schema, [], found);
  if (problem !== undefined) return { problem };
  const names = found.map(({ name }) => name.toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined ? found : { problem: `two arguments are repeated in the header ${twice}` };
}

function collect(schema: JsonObject, path: readonly string[], found: ParameterHeader[]): string | undefined {
  const { properties } = schema;
  if (!isObject(properties)) return undefined;
  for (const [key, property] of Object.entries(properties)) {
    if (!isObject(property)) continue;
    const at = [...path, key];
    if (annotation in property) {
      const name = property[annotation];
      const { type } = property;
      if (typeof name !== 'string' || !token.test(name)) return `${annotation} of ${at.join('.')} must be a header name`;
      if (type !== 'string' && type !== 'integer' && type !== 'boolean') return `${annotation} of ${at.join('.')} needs the type string, integer or boolean`;
      found.push({ path: at, name, type });
    }
    const problem = collect(property, at, found);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The argument a header repeats; undefined when it is absent or null, and then there is no header. */
export function argumentAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return value ?? undefined;
}

/** Whether a header says the same as the argument it repeats. */
export function repeats(header: string, argument: unknown): boolean {
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) return false;
  switch (typeof argument) {
    case 'string': return decoded === argument;
    case 'number': return decoded.trim() !== '' && Number(decoded) === argument;
    case 'boolean': return decoded === String(argument);
    default: return false;
  }
}
