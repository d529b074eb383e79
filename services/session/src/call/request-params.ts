/** Changes to the parameters of a client's request before it is sent to a server. */
import type { Route } from '@omnibus/catalog';
import { isObject, ownLimitKey, serverKey, type JsonObject } from '@omnibus/protocol';

/** Removes `arguments: null`, which several SDKs send for a call without arguments and most servers reject. */
export function withoutNullArguments(params: JsonObject): JsonObject {
  if (params['arguments'] !== null) return params;
  const { arguments: _none, ...rest } = params;
  return rest;
}

/** Removes the members of `_meta` that are for the gateway: the progress token, which is replaced on each hop, and the gateway's own keys for limit and server. */
export function withoutOwnMeta(params: JsonObject): JsonObject {
  const meta = params['_meta'];
  if (!isObject(meta) || !('progressToken' in meta || ownLimitKey in meta || serverKey in meta)) return params;
  const { progressToken: _token, [ownLimitKey]: _limit, [serverKey]: _server, ...rest } = meta;
  return { ...params, _meta: rest };
}

/** Puts changes of guardrails into the parameters that a client has sent. @param before the parameters for the guardrails, with the server's own names. @param after the same, changed. */
export function withChanges(given: JsonObject, before: JsonObject, after: JsonObject): JsonObject {
  const changed = Object.entries(after)
    .filter(([name, value]) => value !== before[name])
    .map(([name, value]): readonly [string, unknown] => {
      // Keys of `_meta` for the gateway itself were not given to guardrails, and stay.
      const [was, is] = [given['_meta'], value];
      return name === '_meta' && isObject(was) && isObject(is)
        ? [
            name,
            {
              ...Object.fromEntries(
                Object.entries(was).filter(([key]) => !isObject(before['_meta']) || !(key in before['_meta'])),
              ),
              ...is,
            },
          ]
        : [name, value];
    });
  const kept = Object.entries(given).filter(([name]) => !(name in before) || name in after);
  return { ...Object.fromEntries(kept), ...Object.fromEntries(changed) };
}

/** Puts in the server's own name of the tool, and the arguments that the profile pins. */
export function toolParams(params: JsonObject, { original, pinned }: Route): JsonObject {
  const named = { ...params, name: original };
  return pinned === undefined
    ? named
    : { ...named, arguments: { ...(params['arguments'] as JsonObject | undefined), ...pinned } };
}
