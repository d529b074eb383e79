import { inputCapabilities, isObject, type JsonObject } from '@omnibus/protocol';

/**
 * What servers may be told this client can do: what they may ask of it. Everything else a client declares (tasks,
 * experimental features, extensions) would promise methods that the gateway does not carry.
 */
export function offeredCapabilities(declared: JsonObject): JsonObject {
  return Object.fromEntries(Object.values(inputCapabilities).flatMap((name) => (isObject(declared[name]) ? [[name, declared[name]]] : [])));
}
