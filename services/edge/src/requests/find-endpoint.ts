import { isToken, rootEndpoint, type EndpointName } from '@omnibus/protocol';

const root = '/mcp';

/** The endpoint of a path `/mcp` or `/mcp/<name>`; undefined for any other path. `Endpoints` knows whether one of that name exists. */
export function findEndpoint(url: string): EndpointName | undefined {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  if (path === root || path === `${root}/`) return rootEndpoint;
  if (!path.startsWith(`${root}/`)) return undefined;
  const name = path.slice(root.length + 1).replace(/\/$/, '');
  return isToken(name) ? (name as EndpointName) : undefined;
}
