/** The methods of the legacy revisions a client may send, and what their parameters must have. */
import type { ExchangeMethod } from './exchange.ts';
import { isObject, type JsonObject } from './json-rpc.ts';

export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return typeof value === 'string' && (logLevels as readonly string[]).includes(value);
}

/** What a server may ask of a client. */
const inputMethods = ['sampling/createMessage', 'elicitation/create', 'roots/list'] as const;
export type InputMethod = (typeof inputMethods)[number];

export function isInputMethod(method: unknown): method is InputMethod {
  return (inputMethods as readonly unknown[]).includes(method);
}

/** The client capability each needs. */
export const inputCapabilities = { 'sampling/createMessage': 'sampling', 'elicitation/create': 'elicitation', 'roots/list': 'roots' } as const;

/** The four lists of a catalogue, by the last word of their method. */
export const listKinds = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const;
export type ListKind = (typeof listKinds)[number];

export const listMethods: Record<ListKind, string> = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
};

const kindsByMethod: ReadonlyMap<string, ListKind> = new Map(listKinds.map((kind) => [listMethods[kind], kind]));

export function listKindOf(method: string): ListKind | undefined {
  return kindsByMethod.get(method);
}

/** Which notification says that a list changed. Templates have none of their own (resources, List Changed Notification). */
export const changeNotifications = {
  tools: 'notifications/tools/list_changed',
  prompts: 'notifications/prompts/list_changed',
  resources: 'notifications/resources/list_changed',
} as const;
export type ChangeKind = keyof typeof changeNotifications;
export const changeKinds = Object.keys(changeNotifications) as ChangeKind[];

/** Says what is wrong with the parameters of a request that goes to an upstream, or undefined when they fit. */
export function paramsProblem(method: ExchangeMethod, params: JsonObject | undefined): string | undefined {
  // It is added to, and a text of megabytes would become as many members.
  if (params?.['_meta'] !== undefined && !isObject(params['_meta'])) return 'params._meta must be an object';
  switch (method) {
    case 'tools/call':
    case 'prompts/get':
      if (typeof params?.['name'] !== 'string') return 'params.name must be a string';
      // Several SDKs write `null` for none.
      if ((params['arguments'] ?? undefined) !== undefined && !isObject(params['arguments'])) return 'params.arguments must be an object';
      if (method === 'tools/call' && params['task'] !== undefined && !isObject(params['task'])) return 'params.task must be an object';
      return undefined;
    case 'resources/read':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
    case 'skills/get':
    case 'resources/directory/read':
      return typeof params?.['uri'] === 'string' ? undefined : 'params.uri must be a string';
    case 'tasks/get':
    case 'tasks/result':
    case 'tasks/cancel':
    case 'tasks/update':
      return typeof params?.['taskId'] === 'string' ? undefined : 'params.taskId must be a string';
    case 'tasks/list':
    case 'skills/list':
      return undefined;
    case 'completion/complete': {
      const ref = params?.['ref'];
      const argument = params?.['argument'];
      if (!isObject(ref) || (ref['type'] !== 'ref/prompt' && ref['type'] !== 'ref/resource')) {
        return 'params.ref.type must be "ref/prompt" or "ref/resource"';
      }
      if (ref['type'] === 'ref/prompt' && typeof ref['name'] !== 'string') return 'params.ref.name must be a string';
      if (ref['type'] === 'ref/resource' && typeof ref['uri'] !== 'string') return 'params.ref.uri must be a string';
      if (!isObject(argument) || typeof argument['name'] !== 'string' || typeof argument['value'] !== 'string') {
        return 'params.argument must have a string "name" and a string "value"';
      }
      return undefined;
    }
    default:
      return undefined; // Its server knows.
  }
}

/** What can be asked a second time without doing more than once would have, whoever lost the first answer. */
export const repeatableMethods: ReadonlySet<string> = new Set([
  'ping', 'server/discover', 'subscriptions/listen', 'tools/list', 'prompts/list', 'prompts/get', 'resources/list', 'resources/templates/list', 'resources/read', 'resources/subscribe',
  'resources/unsubscribe', 'completion/complete', 'logging/setLevel', 'tasks/get', 'tasks/list', 'tasks/result', 'skills/list', 'skills/get', 'resources/directory/read',
]);

/** URL elicitation required (2025-11-25 client/elicitation). */
export const urlElicitationRequired = -32_042;
