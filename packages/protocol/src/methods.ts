/** Properties of single methods: log levels, lists, notifications of changes, and required parameters. The list of methods is in `method-table.ts`. */
import type { CustomMethod } from './custom-methods.ts';
import { isObject, type JsonObject } from './json-rpc.ts';
import { methodRow, type CarriedMethod, type methodTable } from './method-table.ts';

export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return typeof value === 'string' && (logLevels as readonly string[]).includes(value);
}

/** The four lists of a catalogue, named by the last part of their method. */
export const listKinds = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const;
export type ListKind = (typeof listKinds)[number];

export const listMethods = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
} as const satisfies Record<ListKind, keyof typeof methodTable>;
export type ListMethod = (typeof listMethods)[ListKind];

/** Methods that are forwarded to one server. All others are answered by the gateway, lists too, except where only the server can answer (`View.isUnreadHere`). */
export type ExchangeMethod = CarriedMethod | CustomMethod | ListMethod;

const kindsByMethod: ReadonlyMap<string, ListKind> = new Map(listKinds.map((kind) => [listMethods[kind], kind]));

export function listKindOf(method: string): ListKind | undefined {
  return kindsByMethod.get(method);
}

/** The notification of a changed list, by list. Templates have none of their own (resources, List Changed Notification). */
export const changeNotifications = {
  tools: 'notifications/tools/list_changed',
  prompts: 'notifications/prompts/list_changed',
  resources: 'notifications/resources/list_changed',
} as const;
export type ChangeKind = keyof typeof changeNotifications;
export const changeKinds = Object.keys(changeNotifications) as ChangeKind[];

const noArguments: JsonObject = {};

/** The problem with the parameters of a request that goes to an upstream server; undefined when there is none. */
export function paramsProblem(method: ExchangeMethod, params: JsonObject | undefined): string | undefined {
  // The gateway adds members to it; spreading a long string would create one member for each character.
  if (params?.['_meta'] !== undefined && !isObject(params['_meta'])) return 'params._meta must be an object';
  const names = methodRow(method)?.names;
  if (names !== undefined && typeof params?.[names] !== 'string') return `params.${names} must be a string`;
  switch (method) {
    case 'tools/call':
    case 'prompts/get':
      // Several SDKs send `null` for no arguments.
      if (!isObject(params?.['arguments'] ?? noArguments)) return 'params.arguments must be an object';
      if (method === 'tools/call' && params?.['task'] !== undefined && !isObject(params['task']))
        return 'params.task must be an object';
      return undefined;
    case 'completion/complete':
      return completionProblem(params ?? {});
    default:
      return undefined; // The server checks the parameters.
  }
}

function completionProblem({ ref, argument }: JsonObject): string | undefined {
  if (!isObject(ref) || (ref['type'] !== 'ref/prompt' && ref['type'] !== 'ref/resource'))
    return 'params.ref.type must be "ref/prompt" or "ref/resource"';
  if (ref['type'] === 'ref/prompt' && typeof ref['name'] !== 'string') return 'params.ref.name must be a string';
  if (ref['type'] === 'ref/resource' && typeof ref['uri'] !== 'string') return 'params.ref.uri must be a string';
  return isObject(argument) && typeof argument['name'] === 'string' && typeof argument['value'] === 'string'
    ? undefined
    : 'params.argument must have a string "name" and a string "value"';
}

/** URL elicitation required (2025-11-25 client/elicitation). */
export const urlElicitationRequired = -32_042;
