/** The resources that a `subscriptions/listen` names (2026-07-28 basic/utilities/subscriptions), as far as its caller may have them. */
import type { Route, View } from '@omnibus/catalog';
import type { GatewayFault, JsonObject } from '@omnibus/protocol';
import { withoutScopes, type Access } from '../call/access.ts';
import type { LinkedResources } from '../call/routes/linked-resources.ts';
import { resourceRoute, uriFault } from '../call/routes/resource-route.ts';

export interface ListenedResources {
  /** As the client named them, for its acknowledgement; undefined where it named none. */
  readonly uris: readonly string[] | undefined;
  /** Where those that can be subscribed to are. Others are left out of the acknowledgement, as are those that no server has. */
  readonly routes: ReadonlyMap<string, Route>;
}

/**
 * Finds the resources.
 * @param asked `params.notifications` of the request.
 * @param access undefined where there are no rules, and nothing is limited by credentials.
 * @returns a fault where the caller's token lacks a scope for one of them: all scopes that the request needs, since a client asks for exactly these
 * (2026-07-28 basic/authorization, Scope Challenge Handling).
 */
export function listenedResources(
  { resourceSubscriptions: named }: JsonObject,
  view: View,
  linkedResources: LinkedResources,
  access: Access | undefined,
): ListenedResources | { readonly fault: GatewayFault } {
  const uris = Array.isArray(named) ? named.filter((uri): uri is string => typeof uri === 'string') : undefined;
  const routes = new Map<string, Route>();
  const scopes = new Set<string>();
  for (const uri of new Set(uris)) {
    if (uriFault(view, linkedResources, uri) !== undefined) continue;
    const route = resourceRoute(view, linkedResources, uri);
    if (route === undefined || 'rivals' in route) continue;
    const decided = access?.decide({
      kind: 'resource',
      server: route.server,
      name: route.original,
      method: 'resources/subscribe',
    });
    const permission = decided?.permission;
    for (const scope of permission?.missingScopes ?? []) scopes.add(scope);
    if (permission === undefined || permission.effect === 'allow' || permission.isRecorded) routes.set(uri, route);
  }
  return scopes.size === 0 ? { uris, routes } : { fault: withoutScopes([...scopes]) };
}
