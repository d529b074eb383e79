/** Checks the headers that repeat arguments of a tool (2026-07-28 basic/transports, Custom Headers). */
import { argumentAt, isObject, parameterHeaders, repeats } from '@omnibus/protocol';

/** @param headers the `Mcp-Param-*` headers, by their names without the prefix, in lower case. @returns the problem, in words; undefined if there is none. */
export function parameterHeaderProblem(
  inputSchema: unknown,
  args: unknown,
  headers: Readonly<Record<string, string>>,
): string | undefined {
  if (!isObject(inputSchema)) return undefined;
  const headersOf = parameterHeaders(inputSchema);
  if ('problem' in headersOf) return undefined;
  for (const { path, name } of headersOf) {
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
