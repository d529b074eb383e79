/**
 * Methods that no revision defines. The protocol leaves room for them (basic, JSON-RPC messages; `experimental` capabilities), so the gateway forwards
 * them where the receiver is certain.
 */
import { requestMethods } from './method-table.ts';

declare const custom: unique symbol;
export type CustomMethod = string & { readonly [custom]: true };

/**
 * A key under `_meta` of a client's request or notification that names the server it is for, where an endpoint has several. It is for the gateway, and is
 * not passed on.
 */
export const serverKey = 'dev.omnibus/server';

/** Bound on the length of a method's name, which appears in logs. */
const maxLength = 200;

/** Notifications of every revision and of the supported extensions (schemas 2024-11-05 to 2026-07-28). */
const knownNotifications: ReadonlySet<string> = new Set(
  [
    'initialized',
    'cancelled',
    'progress',
    'message',
    'resources/updated',
    'resources/list_changed',
    'tools/list_changed',
    'prompts/list_changed',
    'roots/list_changed',
    'tasks/status',
    'tasks',
    'elicitation/complete',
    'subscriptions/acknowledged',
  ].map((name) => `notifications/${name}`),
);

/**
 * Whether a request with this method is forwarded unchanged. Methods with `rpc.` are reserved by JSON-RPC (section 4.1), and methods of notifications are
 * no requests.
 */
export function isCustomMethod(method: string): method is CustomMethod {
  return (
    method.length <= maxLength &&
    !requestMethods.has(method) &&
    !method.startsWith('notifications/') &&
    !method.startsWith('rpc.')
  );
}

export function isCustomNotification(method: string): method is CustomMethod {
  return (
    method.length <= maxLength &&
    !requestMethods.has(method) &&
    !knownNotifications.has(method) &&
    !method.startsWith('rpc.')
  );
}
