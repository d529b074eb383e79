/** The answer to `initialize` (lifecycle, Initialization and Capability Negotiation). */
import type { View } from '@omnibus/catalog';
import { featuresOf, isObject, tasksExtension, type JsonObject, type Revision } from '@omnibus/protocol';
import { endpointCapabilities, serverInfo } from '../capabilities.ts';

/** @param named the name under which the client knows the revision. */
export function initializeResult(revision: Revision, view: View, named: string = revision): JsonObject {
  const instructions = view.instructions();
  return {
    protocolVersion: named,
    capabilities: capabilities(view, revision),
    serverInfo,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

function capabilities(view: View, revision: Revision): JsonObject {
  // The gateway polls tasks of the extension for such clients.
  const { [tasksExtension]: _polled, ...extensions } = view.extensions;
  const { completionCapability, tasks } = featuresOf(revision);
  return {
    ...endpointCapabilities(view, completionCapability, extensions),
    ...(tasks && view.runsTasks ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } } : {}),
  };
}

/** Missing parameters of `initialize` that every revision requires (lifecycle, Initialization; schema, InitializeRequest). */
export function initializeProblem(params: JsonObject | undefined): string | undefined {
  if (typeof params?.['protocolVersion'] !== 'string') return 'params.protocolVersion must be a string';
  for (const member of ['capabilities', 'clientInfo'])
    if (!isObject(params[member])) return `params.${member} must be an object`;
  return undefined;
}
