/** The form of requests for servers of revisions up to 2025-11-25. */
import type { JsonObject } from '@omnibus/protocol';

/** Parameters of a call with the progress token of this hop. Tokens of other hops are never passed on. */
export function callParams(params: JsonObject, progressToken: number | undefined): JsonObject {
  if (progressToken === undefined) return params;
  return { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), progressToken } };
}
