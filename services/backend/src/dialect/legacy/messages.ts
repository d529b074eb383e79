/** Requests as a server with sessions hears them. */
import type { JsonObject } from '@omnibus/protocol';

/** Parameters of a call with this hop's progress token. Tokens of other hops never come through. */
export function callParams(params: JsonObject, progressToken: number | undefined): JsonObject {
  if (progressToken === undefined) return params;
  return { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), progressToken } };
}
