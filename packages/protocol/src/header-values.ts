/** Values in HTTP headers (2026-07-28 basic/transports, Custom Headers): a value that a header cannot contain is wrapped in base64. */
import { isObject, type JsonObject } from './json-rpc.ts';

const wrapped = /^=\?base64\?(.*)\?=$/s;
const safe = /^[\x21-\x7E](?:[\x20-\x7E\t]*[\x21-\x7E])?$/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

export function encodeHeaderValue(value: string): string {
  const isSafe = value === '' || (safe.test(value) && !wrapped.test(value));
  return isSafe ? value : `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

/** @returns undefined for a wrapped value that is not valid base64; a value without the wrapper is returned unchanged. */
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
/** Most servers accept 16 KB of headers in a request, so more would not be accepted. */
const maxParameterHeaders = 100;
const maxHeaderNameLength = 200;
/** Arguments nest no deeper (`limits.maxJsonDepth`). */
const maxParameterDepth = 128;
/** Results by schema: a schema is needed for every call, and is read once. */
const read = new WeakMap<JsonObject, ReturnType<typeof parameterHeaders>>();

/**
 * The arguments that an input schema declares to be repeated in headers.
 * @returns the problem, when a declaration breaks the rules: such a tool must not be offered.
 */
export function parameterHeaders(schema: JsonObject): readonly ParameterHeader[] | { readonly problem: string } {
  const known = read.get(schema) ?? readParameterHeaders(schema);
  read.set(schema, known);
  return known;
}

/** The place of a property, linked to its parents. Most properties are not repeated in a header, so a path is built only where one is. */
interface Place {
  readonly key: string;
  readonly parent: Place | undefined;
  readonly depth: number;
}

/** Walks the schema without recursion, since the server decides how deep and wide it is. */
function readParameterHeaders(schema: JsonObject): ReturnType<typeof parameterHeaders> {
  const found = new Map<string, ParameterHeader>();
  const open: { readonly properties: unknown; readonly place: Place | undefined }[] = [
    { properties: schema['properties'], place: undefined },
  ];
  for (let level = open.pop(); level !== undefined; level = open.pop()) {
    if (!isObject(level.properties)) continue;
    const depth = (level.place?.depth ?? 0) + 1;
    for (const [key, property] of Object.entries(level.properties)) {
      if (!isObject(property)) continue;
      const place: Place = { key, parent: level.place, depth };
      if (Object.hasOwn(property, annotation)) {
        const header = headerOf(property, place);
        if ('problem' in header) return header;
        const name = header.name.toLowerCase();
        if (found.has(name)) return { problem: `two arguments are repeated in the header ${name}` };
        if (found.size === maxParameterHeaders)
          return { problem: `more than ${maxParameterHeaders} arguments are repeated in headers` };
        found.set(name, header);
      }
      if (isObject(property['properties'])) open.push({ properties: property['properties'], place });
    }
  }
  return [...found.values()];
}

function headerOf(property: JsonObject, place: Place): ParameterHeader | { readonly problem: string } {
  if (place.depth > maxParameterDepth)
    return { problem: `${annotation} stands deeper than ${maxParameterDepth} properties` };
  const path = pathOf(place);
  const name = property[annotation];
  const { type } = property;
  const at = path.join('.').slice(0, 200);
  if (typeof name !== 'string' || name.length > maxHeaderNameLength || !token.test(name))
    return { problem: `${annotation} of ${at} must be a header name` };
  if (type !== 'string' && type !== 'integer' && type !== 'boolean')
    return { problem: `${annotation} of ${at} needs the type string, integer or boolean` };
  return { path, name, type };
}

function pathOf(place: Place): string[] {
  const path: string[] = [];
  for (let at: Place | undefined = place; at !== undefined; at = at.parent) path.unshift(at.key);
  return path;
}

/** The argument that a header repeats; undefined when it is absent or null, and then there is no header. */
export function argumentAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value ?? undefined;
}

/** Whether a header has the same value as the argument that it repeats. */
export function repeats(header: string, argument: unknown): boolean {
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) return false;
  switch (typeof argument) {
    case 'string':
      return decoded === argument;
    case 'number':
      return decoded.trim() !== '' && Number(decoded) === argument;
    case 'boolean':
      return decoded === String(argument);
    default:
      return false;
  }
}
