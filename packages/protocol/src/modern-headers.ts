/** The headers that repeat parts of a request of 2026-07-28 (2026-07-28 basic/transports). */
import { argumentAt, encodeHeaderValue, parameterHeaders } from './header-values.ts';
import type { JsonObject } from './json-rpc.ts';
import { namedBy } from './modern.ts';
import { latestModernRevision } from './revisions.ts';

/** @param inputSchema of the called tool, which declares the arguments that are repeated. */
export function modernHeaders(
  method: string,
  params: JsonObject,
  inputSchema: JsonObject | undefined,
): Record<string, string> {
  const name = namedBy(method, params);
  const annotated = method === 'tools/call' && inputSchema !== undefined ? parameterHeaders(inputSchema) : [];
  const repeated = ('problem' in annotated ? [] : annotated).flatMap((header) => {
    const argument = argumentAt(params['arguments'], header.path);
    return argument === undefined
      ? []
      : [
          [
            `mcp-param-${header.name.toLowerCase()}`,
            encodeHeaderValue(typeof argument === 'string' ? argument : JSON.stringify(argument)),
          ],
        ];
  });
  return {
    'mcp-protocol-version': latestModernRevision,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': encodeHeaderValue(name) } : {}),
    ...(Object.fromEntries(repeated) as Record<string, string>),
  };
}
