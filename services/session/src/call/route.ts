/**
 * Decides which servers a request goes to, and in which form. Pure: from the request and the view of its endpoint it makes a plan, as data,
 * which `forward.ts` executes.
 */
import { signInRoute, unlistedSignIn, type Route, type View } from '@omnibus/catalog';
import {
  fault,
  insteadOfKey,
  listKindOf,
  methodRow,
  printable,
  skillsExtension,
  type ExchangeMethod,
  type GatewayFault,
  type JsonObject,
} from '@omnibus/protocol';
import type { ClientDialect, TaskMode } from '../dialect/dialect.ts';
import type { TaskIds } from '../public-ids/task-ids.ts';
import type { Plan } from './plan.ts';
import { toolParams, withoutOwnMeta } from './request-params.ts';
import { customRoute } from './routes/custom-route.ts';
import type { LinkedResources } from './routes/linked-resources.ts';
import { ambiguous, resourceRoute, uriFault } from './routes/resource-route.ts';
import { heldBack, leftOut, severalPages, unknownEntry, unknownResource } from './routes/unknown-entry.ts';

/** What routing needs to know of a client. */
export interface RoutedClient {
  readonly tasks: Pick<TaskIds, 'open'>;
  readonly port: {
    readonly linkedResources: Pick<LinkedResources, 'find' | 'ofPages'>;
    readonly dialect: Pick<ClientDialect, 'unknownMethod'>;
    taskMode(): TaskMode;
  };
}

/** @param given parameters that were checked by `paramsProblem`. */
// oxlint-disable-next-line complexity -- a table: one case for each method
export function route(
  { method, view }: { readonly method: ExchangeMethod; readonly view: View },
  given: JsonObject,
  client: RoutedClient,
): Plan {
  const params = '_meta' in given ? withoutOwnMeta(given) : given;
  switch (method) {
    case 'tools/call':
      return toolPlan(view, params, client);
    case 'prompts/get': {
      const name = params['name'] as string;
      const found = view.promptRoute(name) ?? view.unlisted('prompts', name);
      if (found === undefined) return refuse(unknownEntry(view, 'prompts', name));
      if (found.isHeld === true) return refuse(heldBack('prompt', name, found));
      if (found.unfit !== undefined) return refuse(leftOut('prompts', name, found));
      return {
        kind: 'send',
        server: found.server,
        params: { ...params, name: found.original },
        subject: ['prompt', name],
      };
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
      const problem = uriFault(view, client.port.linkedResources, uri);
      if (problem !== undefined) return refuse(problem);
      const servers = view.serversWithExtension(skillsExtension).filter((server) => view.mayHave(server, uri));
      const found = resourceRoute(view, client.port.linkedResources, uri);
      const owner =
        found === undefined || 'rivals' in found || !servers.includes(found.server) ? undefined : found.server;
      return { kind: 'search', servers: owner === undefined ? servers : [owner], uri, params };
    }
    default: {
      const about = methodRow(method)?.about;
      if (about === 'resource') return resourcePlan(view, params, client);
      if (about === 'task') return taskPlan(view, params, client);
      if (listKindOf(method) !== undefined && view.open !== undefined)
        return { kind: 'send', server: view.open, params, subject: ['request', method] };
      const found = customRoute(view, method, given, client.port.dialect.unknownMethod);
      return 'refused' in found
        ? refuse(found.refused)
        : { kind: 'send', server: found.server, params, subject: ['request', method] };
    }
  }
}

function resourcePlan(view: View, params: JsonObject, { port: { linkedResources } }: RoutedClient): Plan {
  const uri = params['uri'] as string;
  const problem = uriFault(view, linkedResources, uri);
  if (problem !== undefined) return refuse(problem);
  const found = resourceRoute(view, linkedResources, uri);
  if (found === undefined)
    return {
      kind: 'search',
      servers:
        view.open === undefined
          ? view.serversWith('resources').filter((server) => view.mayHave(server, uri))
          : [view.open],
      uri,
      params,
    };
  if ('rivals' in found) return refuse(ambiguous(uri, found.rivals));
  return { kind: 'send', server: found.server, params: { ...params, uri: found.original }, subject: ['resource', uri] };
}

function taskPlan(view: View, params: JsonObject, { tasks }: RoutedClient): Plan {
  const id = params['taskId'] as string;
  const task = tasks.open(id);
  if (task === undefined || !view.definition.servers.includes(task.server)) return refuse(fault('task.unknown'));
  return { kind: 'send', server: task.server, params: { ...params, taskId: task.id }, subject: ['task', id], task };
}

function toolPlan(view: View, params: JsonObject, client: RoutedClient): Plan {
  const name = params['name'] as string;
  const listed = view.toolRoute(name);
  if (listed !== undefined) return routedPlan(view, params, client, listed, name);
  const asks = signInPlan(view, name, params);
  if (asks !== undefined) return asks;
  const [page, ...others] = client.port.linkedResources.ofPages(view.pageTools(name));
  if (page !== undefined)
    return others.length === 0
      ? routedPlan(view, params, client, page, page.publicName)
      : refuse(severalPages(name, [page, ...others]));
  const unlisted = view.unlisted('tools', name) ?? unlistedSignIn(view, name);
  return unlisted === undefined
    ? refuse(unknownEntry(view, 'tools', name))
    : routedPlan(view, params, client, unlisted, name);
}

/** @param name its public name, which is not that of the request where a page has called the tool. */
function routedPlan(view: View, params: JsonObject, { port }: RoutedClient, found: Route, name: string): Plan {
  if (found.isHeld === true) return refuse(heldBack('tool', name, found));
  if (found.unfit !== undefined) return refuse(leftOut('tools', name, found));
  const named = found.original === params['name'] && found.pinned === undefined ? params : toolParams(params, found);
  const plan = {
    server: found.server,
    subject: ['tool', name],
    tool: found.original,
    isRepeatable: found.isRepeatable === true,
    wrapsOutput: found.wrapsOutput === true,
    ...(found.hasPage === true ? { hasPage: true } : {}),
    ...(name === params['name'] ? {} : { publicName: name }),
  } as const;
  if (!('task' in named) && found.taskSupport !== 'required') return { kind: 'send', params: named, ...plan };
  const { task, ...plain } = named;
  const mode = port.taskMode();
  const isTask = mode === 'requested' && task !== undefined && view.taskServers().length > 0;
  // Where no server offers tasks, the member `task` is ignored; where one does, a tool that does not support tasks is refused.
  if (isTask && found.taskSupport === 'forbidden')
    return refuse(fault('task.unsupported', `tool ${JSON.stringify(printable(name, 100))} does not run as a task`));
  const mustBeTask = !isTask && found.taskSupport === 'required' && mode !== 'requested';
  return {
    kind: isTask ? 'start-task' : mustBeTask && mode === 'none' ? 'await-task' : 'send',
    params: isTask ? { ...plain, task } : mustBeTask ? { ...plain, task: {} } : plain,
    ...plan,
  };
}

/** A tool of a server that lists none before the user's sign-in: the answer requests the sign-in. The arguments go nowhere. */
function signInPlan(view: View, name: string, params: JsonObject): Plan | undefined {
  const asks = signInRoute(view, 'tools', name);
  if (asks === undefined) return undefined;
  const { task: _task, ...plain } = toolParams(
    { ...params, arguments: {}, _meta: { ...(params['_meta'] as JsonObject | undefined), [insteadOfKey]: name } },
    asks.route,
  );
  return {
    kind: 'send',
    server: asks.route.server,
    params: plain,
    subject: ['tool', asks.name],
    tool: asks.route.original,
    isRepeatable: false,
    wrapsOutput: false,
  };
}

function completionPlan(view: View, params: JsonObject, { port: { linkedResources } }: RoutedClient): Plan {
  const ref = params['ref'] as JsonObject;
  const isPrompt = ref['type'] === 'ref/prompt';
  const named = (isPrompt ? ref['name'] : ref['uri']) as string;
  const problem = isPrompt ? undefined : uriFault(view, linkedResources, named);
  if (problem !== undefined) return refuse(problem);
  const found = isPrompt
    ? (view.promptRoute(named) ?? view.unlisted('prompts', named))
    : (resourceRoute(view, linkedResources, named) ??
      (view.open === undefined ? undefined : { server: view.open, original: named }));
  if (found === undefined)
    return refuse(isPrompt ? unknownEntry(view, 'prompts', named) : unknownResource(view, named));
  if ('rivals' in found) return refuse(ambiguous(named, found.rivals));
  if ('isHeld' in found && found.isHeld) return refuse(heldBack('prompt', named, found));
  if ('unfit' in found && found.unfit !== undefined) return refuse(leftOut('prompts', named, found));
  // Other servers of the endpoint complete, so its clients take a server that does not for one without suggestions.
  const isOnly = view.definition.servers.length === 1 || view.canComplete(found.server) || !view.offers('completions');
  const original = isPrompt ? { ...ref, name: found.original } : { ...ref, uri: found.original };
  return {
    kind: 'send',
    server: found.server,
    params: { ...params, ref: original },
    subject: ['completion of', named],
    ...(isOnly ? {} : { orElse: noSuggestions }),
  };
}

const noSuggestions = { completion: { values: [] } };

function refuse(gatewayFault: GatewayFault): Plan {
  return { kind: 'refuse', fault: gatewayFault };
}
