/**
 * Methods that no revision knows. The protocol leaves room for them (basic, JSON-RPC messages; `experimental` capabilities), and a gateway that
 * carries messages has no reason to stop them where it is certain whose they are.
 */
import { requestMethods } from './method-table.ts';

declare const custom: unique symbol;
export type CustomMethod = string & { readonly [custom]: true };

/** Under `_meta` of a client's request or notification: the server it is for, where an endpoint has several. Said to the gateway, and not passed on. */
export const serverKey = 'dev.omnibus/server';

/** Names are for people and logs. */
const maxLength = 200;

/** Notifications of every revision and of the extensions that are carried (schemas 2024-11-05 to 2026-07-28). */
const knownNotifications: ReadonlySet<string> = new Set([
  'initialized', 'cancelled', 'progress', 'message', 'resources/updated', 'resources/list_changed', 'tools/list_changed', 'prompts/list_changed', 'roots/list_changed',
  'tasks/status', 'tasks', 'elicitation/complete', 'subscriptions/acknowledged',
].map((name) => `notifications/${name}`));

/** Whether a request is to be carried as it is. What begins with `rpc.` is JSON-RPC's own (section 4.1), and a notification is no request. */
export function isCustomMethod(method: string): method is CustomMethod {
  return method.length <= maxLength && !requestMethods.has(method) && !method.startsWith('notifications/') && !method.startsWith('rpc.');
}

export function isCustomNotification(method: string): method is CustomMethod {
  return method.length <= maxLength && !requestMethods.has(method) && !knownNotifications.has(method) && !method.startsWith('rpc.');
}
