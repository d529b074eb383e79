/**
 * Which servers a request goes to, and as what. Pure: it is given what the client asks and what its endpoint offers, and says as data what
 * is to be done. `forward.ts` does it.
 */
import type { View } from '@omnibus/catalog';
import { fault, methodRow, printable, skillsExtension, type ExchangeMethod, type GatewayFault, type JsonObject, type ServerName } from '@omnibus/protocol';
import type { ClientDialect, TaskMode } from '../dialect/dialect.ts';
import type { TaskAddress, TaskIds } from '../public-ids/task-ids.ts';
import type { Topic } from './exchange-request.ts';
import type { Access, Permission } from './access.ts';
import { permitted } from './permission.ts';
import { toolParams, withoutOwnMeta } from './request-params.ts';
import { customRoute } from './routes/custom-route.ts';
import type { LinkedResources } from './routes/linked-resources.ts';
import { ambiguous, resourceRoute } from './routes/resource-route.ts';
import { heldBack, unknownEntry, unknownResource } from './routes/unknown-entry.ts';

/** One server a request goes to, and as what. */
export interface Destination {
  readonly server: ServerName;
  /** Names, URIs and task ids are the server's own. */
  readonly params: JsonObject;
  readonly subject: Topic;
  /** The tool's own name, for its time limits. */
  readonly tool?: string;
  /** Its server says that calling it twice does no more than calling it once. */
  readonly isRepeatable?: boolean;
  /** The list shows the tool's output inside an object to clients of older revisions. */
  readonly wrapsOutput?: boolean;
  /** The task it is about. */
  readonly task?: TaskAddress;
}

/** A URI that nothing tells of, and the servers that are asked for it, one after the other. */
export interface Search {
  readonly servers: readonly ServerName[];
  readonly uri: string;
  readonly params: JsonObject;
  /** What rules say of those of whose answers something is taken out; left out where of none. */
  readonly redacting?: ReadonlyMap<ServerName, Permission>;
}

/** Servers whose lists are shown one after the other. */
export interface Lists {
  readonly servers: readonly ServerName[];
  /** The member of a result that has the entries. */
  readonly entries: string;
  readonly params: JsonObject;
}

/**
 * `send`: to one server. `start-task`: the same, and the client hears of the task's progress after it was answered. `await-task`: the tool
 * runs as a task only, and its client knows none; the gateway waits for the result in its place.
 */
export type Plan = (
  | (Destination & { readonly kind: 'send' | 'start-task' | 'await-task' })
  | (Search & { readonly kind: 'search' })
  | (Lists & { readonly kind: 'list' })
  /** Nobody need be asked. */
  | { readonly kind: 'answer'; readonly server: ServerName; readonly result: JsonObject }
  | { readonly kind: 'refuse'; readonly fault: GatewayFault }
) & { /** What rules say of it, where there are any. */ readonly permission?: Permission };

/** What of a client tells where its requests go. */
export interface RoutedClient {
  readonly tasks: Pick<TaskIds, 'open'>;
  readonly linkedResources: Pick<LinkedResources, 'find'>;
  readonly port: { readonly dialect: Pick<ClientDialect, 'unknownMethod'>; taskMode(): TaskMode; access(): Access | undefined };
}

/**
 * @param given parameters that have the form the method wants (`paramsProblem`).
 * @param access what the client may, where it is not the one of whom that is asked usually.
 */
export function route(request: { readonly method: ExchangeMethod; readonly view: View }, given: JsonObject, client: RoutedClient, access = client.port.access()): Plan {
  const plan = planOf(request, given, client);
  return access === undefined ? plan : permitted(plan, request, given, access);
}

function planOf({ method, view }: { readonly method: ExchangeMethod; readonly view: View }, given: JsonObject, client: RoutedClient): Plan {
  const params = withoutOwnMeta(given);
  switch (method) {
    case 'tools/call':
      return toolPlan(view, params, client);
    case 'prompts/get': {
      const name = params['name'] as string;
      const found = view.promptRoute(name);
      if (found === undefined) return refuse(unknownEntry(view, 'prompts', name));
      if (found.isHeld === true) return refuse(heldBack('prompt', name, found.server));
      return { kind: 'send', server: found.server, params: { ...params, name: found.original }, subject: ['prompt', name] };
    }
    case 'completion/complete':
      return completionPlan(view, params, client);
    case 'tasks/list':
      return { kind: 'list', servers: view.taskServers(), entries: 'tasks', params };
    case 'skills/list':
      return { kind: 'list', servers: view.serversWithExtension(skillsExtension), entries: 'skills', params };
    case 'skills/get':
    case 'resources/directory/read': {
      const uri = params['uri'] as string;
      const servers = view.serversWithExtension(skillsExtension).filter((server) => view.mayHave(server, uri));
      const found = resourceRoute(view, client.linkedResources, uri);
      const owner = found === undefined || 'rivals' in found || !servers.includes(found.server) ? undefined : found.server;
      return { kind: 'search', servers: owner === undefined ? servers : [owner], uri, params };
    }
    default: {
      const about = methodRow(method)?.about;
      if (about === 'resource') return resourcePlan(view, params, client);
      if (about === 'task') return taskPlan(view, params, client);
      const found = customRoute(view, method, given, client.port.dialect.unknownMethod);
      return 'refused' in found ? refuse(found.refused) : { kind: 'send', server: found.server, params, subject: ['request', method] };
    }
  }
}

function resourcePlan(view: View, params: JsonObject, { linkedResources }: RoutedClient): Plan {
  const uri = params['uri'] as string;
  const found = resourceRoute(view, linkedResources, uri);
  if (found === undefined) return { kind: 'search', servers: view.serversWith('resources').filter((server) => view.mayHave(server, uri)), uri, params };
  if ('rivals' in found) return refuse(ambiguous(uri, found.rivals));
  return { kind: 'send', server: found.server, params: { ...params, uri: found.original }, subject: ['resource', uri] };
}

function taskPlan(view: View, params: JsonObject, { tasks }: RoutedClient): Plan {
  const id = params['taskId'] as string;
  const task = tasks.open(id);
  if (task === undefined || !view.definition.servers.includes(task.server)) return refuse(fault('task.unknown'));
  return { kind: 'send', server: task.server, params: { ...params, taskId: task.id }, subject: ['task', id], task };
}

function toolPlan(view: View, params: JsonObject, { port }: RoutedClient): Plan {
  const name = params['name'] as string;
  const found = view.toolRoute(name);
  if (found === undefined) return refuse(unknownEntry(view, 'tools', name));
  if (found.isHeld === true) return refuse(heldBack('tool', name, found.server));
  const { task, ...plain } = toolParams(params, found);
  const mode = port.taskMode();
  const isTask = mode === 'requested' && task !== undefined && view.taskServers().length > 0;
  // Without the capability the wish for a task is ignored; with it, a tool that has none says so.
  if (isTask && found.taskSupport === 'forbidden') return refuse(fault('task.unsupported', `tool ${JSON.stringify(printable(name, 100))} does not run as a task`));
  const mustBeTask = !isTask && found.taskSupport === 'required' && mode !== 'requested';
  return {
    kind: isTask ? 'start-task' : mustBeTask && mode === 'none' ? 'await-task' : 'send',
    server: found.server,
    params: isTask ? { ...plain, task } : mustBeTask ? { ...plain, task: {} } : plain,
    subject: ['tool', name], tool: found.original, isRepeatable: found.isRepeatable === true, wrapsOutput: found.wrapsOutput === true,
  };
}

function completionPlan(view: View, params: JsonObject, { linkedResources }: RoutedClient): Plan {
  const ref = params['ref'] as JsonObject;
  const isPrompt = ref['type'] === 'ref/prompt';
  const named = (isPrompt ? ref['name'] : ref['uri']) as string;
  const found = isPrompt ? view.promptRoute(named) : resourceRoute(view, linkedResources, named);
  if (found === undefined) return refuse(isPrompt ? unknownEntry(view, 'prompts', named) : unknownResource(view, named));
  if ('rivals' in found) return refuse(ambiguous(named, found.rivals));
  if ('isHeld' in found && found.isHeld) return refuse(heldBack('prompt', named, found.server));
  if (!view.canComplete(found.server)) return { kind: 'answer', server: found.server, result: { completion: { values: [] } } };
  const original = isPrompt ? { ...ref, name: found.original } : { ...ref, uri: found.original };
  return { kind: 'send', server: found.server, params: { ...params, ref: original }, subject: ['completion of', named] };
}

function refuse(gatewayFault: GatewayFault): Plan {
  return { kind: 'refuse', fault: gatewayFault };
}
