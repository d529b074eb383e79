/** What belongs to single methods: levels of logs, lists, announcements, and what parameters must have. Which methods there are stands in `method-table.ts`. */
import type { ExchangeMethod } from './exchange.ts';
import { isObject, type JsonObject } from './json-rpc.ts';
import { methodRow, type methodTable } from './method-table.ts';

export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return typeof value === 'string' && (logLevels as readonly string[]).includes(value);
}

/** The four lists of a catalogue, by the last word of their method. */
export const listKinds = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const;
export type ListKind = (typeof listKinds)[number];

export const listMethods: Record<ListKind, keyof typeof methodTable> = {
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
  const names = methodRow(method)?.names;
  if (names !== undefined && typeof params?.[names] !== 'string') return `params.${names} must be a string`;
  switch (method) {
    case 'tools/call':
    case 'prompts/get':
      // Several SDKs write `null` for none.
      if ((params?.['arguments'] ?? undefined) !== undefined && !isObject(params?.['arguments'])) return 'params.arguments must be an object';
      if (method === 'tools/call' && params?.['task'] !== undefined && !isObject(params['task'])) return 'params.task must be an object';
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

/** URL elicitation required (2025-11-25 client/elicitation). */
export const urlElicitationRequired = -32_042;
