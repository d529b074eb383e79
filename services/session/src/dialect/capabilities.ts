import { inputCapabilities, isObject, type JsonObject } from '@omnibus/protocol';

/**
 * What servers may be told this client can do: what they may ask of it, and the extensions the gateway carries. Everything
 * else a client declares (tasks of its own, experimental features, other extensions) would promise methods that do not come
 * through.
 * @param carriedHere the extensions that are carried for a client of its era.
 */
export function offeredCapabilities(declared: JsonObject, carriedHere: readonly string[]): JsonObject {
  const { extensions } = declared;
  const carried = isObject(extensions) ? carriedHere.filter((name) => isObject(extensions[name])).map((name) => [name, extensions[name]]) : [];
  return {
    ...Object.fromEntries(Object.values(inputCapabilities).flatMap((name) => (isObject(declared[name]) ? [[name, declared[name]]] : []))),
    ...(carried.length === 0 ? {} : { extensions: Object.fromEntries(carried) as JsonObject }),
  };
}
