import type { View } from '@omnibus/catalog';
import { extensionsOf, inputCapabilities, isObject, version, type JsonObject } from '@omnibus/protocol';

const nothing: JsonObject = {};

/** What the gateway says of itself to clients. */
export const serverInfo = { name: 'omnibus', title: 'Omnibus MCP gateway', version } as const;

/**
 * The capabilities of a client that are declared to servers: kinds of questions, its extensions with their settings, and `experimental`,
 * with methods that pass unchanged. Others (tasks of its own) are left out, since their methods would not reach the client.
 * @param withheld extensions in which the gateway stands for such a client.
 */
export function offeredCapabilities(declared: JsonObject, withheld: readonly string[] = []): JsonObject {
  if (Object.keys(declared).length === 0) return nothing;
  const { experimental } = declared;
  const carried = Object.entries(extensionsOf(declared)).filter(([name]) => !withheld.includes(name));
  return {
    ...Object.fromEntries(
      Object.values(inputCapabilities).flatMap((name) => (isObject(declared[name]) ? [[name, declared[name]]] : [])),
    ),
    ...(carried.length === 0 ? {} : { extensions: Object.fromEntries(carried) as JsonObject }),
    ...(isObject(experimental) && Object.keys(experimental).length > 0 ? { experimental } : {}),
  };
}

/**
 * The capabilities of an endpoint that clients of all revisions get: those that one of its servers has according to its last record. `tools` is always
 * offered, since there may be some at any time.
 * @param hasCompletions whether the client's revision has a capability for completions.
 * @param extensions with their settings.
 */
export function endpointCapabilities(view: View, hasCompletions: boolean, extensions: JsonObject): JsonObject {
  return {
    tools: { listChanged: true },
    ...(view.offers('prompts') ? { prompts: { listChanged: true } } : {}),
    ...(view.offers('resources')
      ? { resources: { listChanged: true, ...(view.offers('resources.subscribe') ? { subscribe: true } : {}) } }
      : {}),
    ...(hasCompletions && view.offers('completions') ? { completions: {} } : {}),
    ...(view.offers('logging') ? { logging: {} } : {}),
    ...offeredExperiments(view),
    ...(Object.keys(extensions).length === 0 ? {} : { extensions }),
  };
}

/**
 * The experimental capabilities of an endpoint: those of its only server. With several servers it would be unknown which one a message is for, so none
 * are offered.
 */
function offeredExperiments(view: View): { readonly experimental?: JsonObject } {
  const [record, ...others] = view.records;
  const experimental = record?.capabilities['experimental'];
  return others.length === 0 &&
    view.definition.servers.length === 1 &&
    carriesCustom(view) &&
    view.definition.servers.every((server) => view.mayEverythingOf(server)) &&
    isObject(experimental)
    ? { experimental }
    : {};
}

/** Whether an endpoint forwards methods that no revision defines: not if it offers only a part of its servers' tools, or pins arguments, since nothing else must be reachable there. */
export function carriesCustom({ definition: { tools, pin } }: View): boolean {
  return tools === undefined && pin.size === 0;
}
