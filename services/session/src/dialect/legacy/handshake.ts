/** What a legacy client is told when it initializes (lifecycle, Initialization and Capability Negotiation). */
import type { View } from '@omnibus/catalog';
import { featuresOf, isObject, sessionExtensions, version, type JsonObject, type Revision } from '@omnibus/protocol';

const serverInfo = { name: 'omnibus', title: 'Omnibus MCP gateway', version } as const;

export function initializeResult(revision: Revision, view: View): JsonObject {
  const instructions = view.instructions();
  return { protocolVersion: revision, capabilities: capabilities(view, revision), serverInfo, ...(instructions === undefined ? {} : { instructions }) };
}

/**
 * A capability is offered when a server behind the endpoint has it, or may yet turn out to: servers come and go during a
 * session, capabilities cannot.
 */
function capabilities(view: View, revision: Revision): JsonObject {
  const hasUnknownServer = view.definition.servers.some((server) => view.record(server)?.revision === undefined);
  const offers = (capability: string): boolean => hasUnknownServer || view.serversWith(capability).length > 0;
  const extensions = sessionExtensions.filter((name) => view.offersExtension(name)).map((name) => [name, {}]);
  return {
    ...(offers('tools') ? { tools: { listChanged: true } } : {}),
    ...(offers('prompts') ? { prompts: { listChanged: true } } : {}),
    ...(offers('resources') ? { resources: { listChanged: true, subscribe: true } } : {}),
    ...(featuresOf(revision).completionCapability && (hasUnknownServer || view.definition.servers.some((server) => view.canComplete(server))) ? { completions: {} } : {}),
    ...(offers('logging') ? { logging: {} } : {}),
    ...(extensions.length === 0 ? {} : { extensions: Object.fromEntries(extensions) as JsonObject }),
    ...(featuresOf(revision).tasks && view.taskServers().length > 0 ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } } : {}),
  };
}

/** What an `initialize` lacks of what every revision wants in it (lifecycle, Initialization; schema, InitializeRequest). */
export function initializeProblem(params: JsonObject | undefined): string | undefined {
  if (typeof params?.['protocolVersion'] !== 'string') return 'params.protocolVersion must be a string';
  for (const member of ['capabilities', 'clientInfo']) if (!isObject(params[member])) return `params.${member} must be an object`;
  return undefined;
}
