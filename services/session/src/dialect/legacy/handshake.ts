/** The answer to `initialize` (lifecycle, Initialization and Capability Negotiation). */
import type { View } from '@omnibus/catalog';
import { featuresOf, isObject, tasksExtension, version, type JsonObject, type Revision } from '@omnibus/protocol';
import { offeredExperiments } from '../capabilities.ts';

const serverInfo = { name: 'omnibus', title: 'Omnibus MCP gateway', version } as const;

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

/**
 * The capabilities of an endpoint: those that one of its servers has according to its last record. `tools` is always offered, since there may be some
 * at any time.
 */
function capabilities(view: View, revision: Revision): JsonObject {
  // The gateway polls tasks of the extension for such clients.
  const { [tasksExtension]: _polled, ...extensions } = view.extensions;
  return {
    tools: { listChanged: true },
    ...(view.offers('prompts') ? { prompts: { listChanged: true } } : {}),
    ...(view.offers('resources')
      ? { resources: { listChanged: true, ...(view.offers('resources.subscribe') ? { subscribe: true } : {}) } }
      : {}),
    ...(featuresOf(revision).completionCapability && view.offers('completions') ? { completions: {} } : {}),
    ...(view.offers('logging') ? { logging: {} } : {}),
    ...offeredExperiments(view),
    ...(Object.keys(extensions).length === 0 ? {} : { extensions }),
    ...(featuresOf(revision).tasks && view.runsTasks
      ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
      : {}),
  };
}

/** Missing parameters of `initialize` that every revision requires (lifecycle, Initialization; schema, InitializeRequest). */
export function initializeProblem(params: JsonObject | undefined): string | undefined {
  if (typeof params?.['protocolVersion'] !== 'string') return 'params.protocolVersion must be a string';
  for (const member of ['capabilities', 'clientInfo'])
    if (!isObject(params[member])) return `params.${member} must be an object`;
  return undefined;
}
