/**
 * Methods that only requests have, of every revision and of the extensions that are carried (schemas 2024-11-05 to 2026-07-28). Whoever
 * sends one without an id waits for an answer all the same, and is told so instead of being taken for a notification.
 */
export const requestMethods: ReadonlySet<string> = new Set([
  'initialize', 'ping', 'server/discover', 'subscriptions/listen', 'tools/list', 'tools/call', 'prompts/list', 'prompts/get', 'resources/list', 'resources/templates/list',
  'resources/read', 'resources/subscribe', 'resources/unsubscribe', 'resources/directory/read', 'completion/complete', 'logging/setLevel', 'tasks/get', 'tasks/list',
  'tasks/result', 'tasks/cancel', 'tasks/update', 'skills/list', 'skills/get', 'sampling/createMessage', 'elicitation/create', 'roots/list',
]);
