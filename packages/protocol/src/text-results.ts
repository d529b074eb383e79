/** Results of tools that are one text (2025-11-25 schema, CallToolResult). */
import type { JsonObject } from './json-rpc.ts';

export function textResult(text: string): JsonObject {
  return { content: [{ type: 'text', text }] };
}

/** A mistake of the model is a result and no error, so that the model can correct it (2025-11-25 server/tools, Error Handling). */
export function errorResult(text: string): JsonObject {
  return { ...textResult(text), isError: true };
}
