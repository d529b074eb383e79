import { isToken, rootEndpoint, type EndpointName } from '@omnibus/protocol';

/** First parts of the paths at which clients come in. */
type Front = '/mcp' | '/sse' | '/messages' | '/ws';

/**
 * The endpoint of a path such as `/mcp` or `/mcp/<name>`; undefined for any other path. The path is read as it was sent, since a name has no characters that
 * are ever encoded. `Endpoints` knows whether one of that name exists.
 */
export function findEndpoint(url: string, front: Front = '/mcp'): EndpointName | undefined {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  if (path === front || path === `${front}/`) return rootEndpoint;
  if (!path.startsWith(`${front}/`)) return undefined;
  const name = path.slice(front.length + 1).replace(/\/$/, '');
  return isToken(name) ? (name as EndpointName) : undefined;
}
