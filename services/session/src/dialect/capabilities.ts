import type { View } from '@omnibus/catalog';
import { inputCapabilities, isObject, type JsonObject } from '@omnibus/protocol';

/**
 * What servers may be told this client can do: what they may ask of it, the extensions the gateway carries, and what it tries out
 * (`experimental`), whose methods are carried as they are. Everything else a client declares (tasks of its own, other extensions) would
 * promise methods that do not come through.
 * @param carriedHere the extensions that are carried for a client of its era.
 */
export function offeredCapabilities(declared: JsonObject, carriedHere: readonly string[]): JsonObject {
  const { extensions, experimental } = declared;
  const carried = isObject(extensions) ? carriedHere.filter((name) => isObject(extensions[name])).map((name) => [name, extensions[name]]) : [];
  return {
    ...Object.fromEntries(Object.values(inputCapabilities).flatMap((name) => (isObject(declared[name]) ? [[name, declared[name]]] : []))),
    ...(carried.length === 0 ? {} : { extensions: Object.fromEntries(carried) as JsonObject }),
    ...(isObject(experimental) && Object.keys(experimental).length > 0 ? { experimental } : {}),
  };
}

/**
 * What the server of an endpoint tries out. With several servers nothing tells to which of them its messages would go, so nothing is
 * promised.
 */
export function offeredExperiments(view: View): { readonly experimental?: JsonObject } {
  const [record, ...others] = view.records;
  const experimental = record?.capabilities['experimental'];
  return others.length === 0 && view.definition.servers.length === 1 && carriesCustom(view) && view.definition.servers.every((server) => view.mayEverythingOf(server)) && isObject(experimental) ? { experimental } : {};
}

/** An endpoint that shows only a part of its servers' tools, or fixes their arguments, promises that nothing else is reached through it. */
export function carriesCustom({ definition: { tools, pin } }: View): boolean {
  return tools === undefined && pin.size === 0;
}
