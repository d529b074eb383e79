/**
 * Whether no known list has a request's target. Then the request waits for the servers' lists for its client: a client may use a name from
 * its cache, and a server's lists for one user alone are read at the user's first request.
 */
import type { View } from '@omnibus/catalog';
import { isObject, type JsonObject } from '@omnibus/protocol';
import type { LinkedResources } from './linked-resources.ts';
import { resourceRoute } from './resource-route.ts';

/** @returns false for methods that name nothing of a server's lists, and for parameters that are invalid. */
export function isUnrouted(
  method: string,
  params: JsonObject,
  view: View,
  linkedResources: () => Pick<LinkedResources, 'find'>,
): boolean {
  // Most URIs are in a list, which is found at once.
  const isNoResource = (uri: unknown): boolean =>
    typeof uri === 'string' &&
    view.resourceRoute(uri) === undefined &&
    resourceRoute(view, linkedResources(), uri) === undefined;
  const isNoPrompt = (name: unknown): boolean => typeof name === 'string' && view.promptRoute(name) === undefined;
  switch (method) {
    case 'tools/call':
      return typeof params['name'] === 'string' && view.toolRoute(params['name']) === undefined;
    case 'prompts/get':
      return isNoPrompt(params['name']);
    case 'resources/read':
    case 'resources/subscribe':
      return isNoResource(params['uri']);
    case 'completion/complete': {
      const { ref } = params;
      return isObject(ref) && (isNoPrompt(ref['name']) || isNoResource(ref['uri']));
    }
    case 'subscriptions/listen': {
      const { notifications } = params;
      const named = isObject(notifications) ? notifications['resourceSubscriptions'] : undefined;
      return Array.isArray(named) && named.some(isNoResource);
    }
    default:
      return false;
  }
}
