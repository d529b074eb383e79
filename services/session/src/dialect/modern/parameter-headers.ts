/** Checks the headers that repeat arguments of a tool (2026-07-28 basic/transports, Custom Headers). */
import { argumentAt, isObject, parameterHeaders, repeats, type JsonObject, type ParameterHeader } from '@omnibus/protocol';

const known = new WeakMap<JsonObject, readonly ParameterHeader[]>();

/** @param headers the `Mcp-Param-*` headers by the rest of their name, in lower case. @returns what is wrong, in words. */
export function parameterHeaderProblem(inputSchema: unknown, args: unknown, headers: Readonly<Record<string, string>>): string | undefined {
  if (!isObject(inputSchema)) return undefined;
  for (const { path, name } of headersOf(inputSchema)) {
    const argument = argumentAt(args, path);
    const header = headers[name.toLowerCase()];
    if (argument === undefined) {
      if (header !== undefined) return `Mcp-Param-${name} repeats the argument ${path.join('.')}, which is not there`;
    } else if (header === undefined || !repeats(header, argument)) {
      return `Mcp-Param-${name} must repeat the argument ${path.join('.')}`;
    }
  }
  return undefined;
}

function headersOf(schema: JsonObject): readonly ParameterHeader[] {
  const cached = known.get(schema);
  if (cached !== undefined) return cached;
  const read = parameterHeaders(schema);
  const headers = 'problem' in read ? [] : read;
  known.set(schema, headers);
  return headers;
}
