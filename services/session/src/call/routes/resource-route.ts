/**
 * The server for a URI: the one that lists it; else the one with a result that linked to it for this client; else the one with the
 * most specific matching template. If several match equally, none gets the request: the client could not tell that a different server than the
 * one it means has answered.
 */
import { mayBeAlias, type Route, type View } from '@omnibus/catalog';
import { fault, printable, uriProblem, type GatewayFault, type ServerName } from '@omnibus/protocol';
import type { LinkedResources } from './linked-resources.ts';

/** @returns undefined when no list, link or template names such a URI; `rivals` when several match equally. */
export function resourceRoute(
  view: View,
  linkedResources: Pick<LinkedResources, 'find'>,
  uri: string,
): Route | { readonly rivals: readonly ServerName[] } | undefined {
  // A URI with this prefix names its server.
  if (mayBeAlias(uri)) {
    const route = view.resourceRoute(uri);
    if (route !== undefined) return route;
  }
  const matches = view.resources.matches(uri);
  const [likeliest, next] = matches;
  if (likeliest?.specificity === Infinity) return { server: likeliest.server, original: uri };
  const [giver, ...others] = linkedResources
    .find(uri)
    .filter((server) => view.definition.servers.includes(server) && view.mayHave(server, uri));
  if (giver !== undefined)
    return others.length === 0 ? { server: giver, original: uri } : { rivals: [giver, ...others] };
  if (likeliest === undefined) return undefined;
  if (next?.specificity !== likeliest.specificity) return { server: likeliest.server, original: uri };
  return {
    rivals: matches.filter(({ specificity }) => specificity === likeliest.specificity).map(({ server }) => server),
  };
}

/**
 * The refusal of a URI that servers read otherwise than it is written (WHATWG URL, section 4.4). Some servers list and hand out URIs with blanks all the same:
 * a client may use such a URI as its server writes it.
 */
export function uriFault(
  view: View,
  linkedResources: Pick<LinkedResources, 'find'>,
  uri: string,
): GatewayFault | undefined {
  const found = uriProblem(uri);
  if (found === undefined) return undefined;
  const named = view.resourceRoute(uri)?.original ?? uri;
  const isKnown = view.resources.matches(named)[0]?.specificity === Infinity || linkedResources.find(uri).length > 0;
  return isKnown && !found.isControl ? undefined : fault('params.invalid', found.problem);
}

/** The refusal of an ambiguous URI, which says how the client can name the server. */
export function ambiguous(uri: string, rivals: readonly ServerName[]): GatewayFault {
  const names = rivals.map((server) => `"${server}"`).join(', ');
  return fault(
    'resource.ambiguous',
    `no server lists ${JSON.stringify(printable(uri, 200))}, and ${names} could have it alike; put omnibus://SERVER/ in front of it, with the one that is meant`,
    { uri, servers: rivals },
  );
}
