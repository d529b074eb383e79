/** Parameters of a client's request as its server is to have them. */
import type { Route } from '@omnibus/catalog';
import { isObject, ownLimitKey, serverKey, type JsonObject } from '@omnibus/protocol';

/** `null` is how several SDKs write that a tool or prompt is given no arguments; servers take it for none as rarely as schemas do. */
export function withoutNullArguments(params: JsonObject): JsonObject {
  if (params['arguments'] !== null) return params;
  const { arguments: _none, ...rest } = params;
  return rest;
}

/** Without what is said to the gateway: each hop has its own progress token, and limits and routes are kept here. */
export function withoutOwnMeta(params: JsonObject): JsonObject {
  const meta = params['_meta'];
  if (!isObject(meta) || !('progressToken' in meta || ownLimitKey in meta || serverKey in meta)) return params;
  const { progressToken: _token, [ownLimitKey]: _limit, [serverKey]: _server, ...rest } = meta;
  return { ...params, _meta: rest };
}

/** With the server's own name of a tool, and the arguments that the endpoint fixes. */
export function toolParams(params: JsonObject, { original, pinned }: Route): JsonObject {
  const named = { ...params, name: original };
  return pinned === undefined ? named : { ...named, arguments: { ...(params['arguments'] as JsonObject | undefined), ...pinned } };
}
