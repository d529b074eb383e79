/**
 * Which server a URI is asked of: the one that lists it; else the one whose result handed it out to this client; else the one whose
 * template fits it most closely. Where two could be meant alike, it is asked of none: a URI names one thing, and a server that
 * answers for another's would be believed.
 */
import { aliasPrefix, type Route, type View } from '@omnibus/catalog';
import { fault, printable, type GatewayFault, type ServerName } from '@omnibus/protocol';
import type { LinkedResources } from './linked-resources.ts';

/** @returns undefined when nothing tells of such a URI. */
export function resourceRoute(view: View, linkedResources: Pick<LinkedResources, 'find'>, uri: string): Route | { readonly rivals: readonly ServerName[] } | undefined {
  // It says itself which server is meant.
  if (uri.startsWith(aliasPrefix)) {
    const route = view.resourceRoute(uri);
    if (route !== undefined) return route;
  }
  const matches = view.resources.matches(uri);
  const [likeliest, next] = matches;
  if (likeliest?.specificity === Infinity) return { server: likeliest.server, original: uri };
  const [giver, ...others] = linkedResources.find(uri).filter((server) => view.definition.servers.includes(server) && view.mayHave(server, uri));
  if (giver !== undefined) return others.length === 0 ? { server: giver, original: uri } : { rivals: [giver, ...others] };
  if (likeliest === undefined) return undefined;
  if (next?.specificity !== likeliest.specificity) return { server: likeliest.server, original: uri };
  return { rivals: matches.filter(({ specificity }) => specificity === likeliest.specificity).map(({ server }) => server) };
}

/** Says how to name one of them. */
export function ambiguous(uri: string, rivals: readonly ServerName[]): GatewayFault {
  const names = rivals.map((server) => `"${server}"`).join(', ');
  return fault('resource.ambiguous', `no server lists ${JSON.stringify(printable(uri, 200))}, and ${names} could have it alike; put omnibus://SERVER/ in front of it, with the one that is meant`, { uri, servers: rivals });
}
