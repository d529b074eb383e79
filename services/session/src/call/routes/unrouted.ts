/**
 * Whether what a request names is in no list that is known yet. Then it waits until it is known what servers offer to its client: a client may name what it has
 * kept from before, and what a server offers to one user alone is read when he comes.
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
