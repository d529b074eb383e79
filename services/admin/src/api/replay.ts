/** The inputs to repeat a call, at its server or at another one: the tool's name at an endpoint, and its arguments. Nothing is called here. */
import { sentArguments, type CallPage, type Catalogue, type CatalogueEntry, type Replay } from '@omnibus/admin-api';
import { ApiProblem } from './api-problem.ts';

/** Reads a page of the catalogue of an endpoint; it is searched in names, titles and descriptions. @throws {ApiProblem} where there is no such endpoint. */
type ReadCatalogue = (asked: {
  readonly endpoint: string;
  readonly q: string;
  readonly kind: 'tool';
  readonly server?: string | undefined;
  readonly cursor?: string | undefined;
}) => Promise<Catalogue>;

/** Pages of the catalogue in which the tool is searched: a tool that so many others name in their descriptions is not found. */
const maxPages = 20;
/** Servers that are named in advice. */
const maxNamed = 8;

/**
 * @param server name of another server; undefined for the one that the call went to.
 * @throws {ApiProblem} when the other server offers no tool of this name, and for other requests than calls of a tool.
 */
export async function replayOf(
  { call, events }: Pick<CallPage, 'call' | 'events'>,
  server: string | undefined,
  catalogue: ReadCatalogue,
): Promise<Replay> {
  const { method, name, endpoint = '' } = call;
  // Of a call that ran before it was watched, only the server's own name of the tool is known.
  if (method !== 'tools/call')
    throw new ApiProblem('conflict', `only calls of tools are made again, and this is ${method}`);
  const sent = sentArguments(events);
  const given = sent === undefined ? {} : { arguments: sent };
  // A call that was refused has no server: it is repeated under the called name.
  if (call.server === undefined || call.tool === undefined) {
    if (server !== undefined)
      throw new ApiProblem(
        'conflict',
        'this call went to no server, so it is not known which tool of another one is meant',
        'make it again without a server',
      );
    if (name === undefined) throw new ApiProblem('conflict', 'it is not known which tool was called');
    return { name, endpoint, ...given };
  }
  const { tool } = call;
  const wanted = server ?? call.server;
  // The endpoint of the call may lack the other server, which the endpoint of all servers may have, or its own.
  for (const at of new Set([endpoint, '', wanted])) {
    const entry = await find(catalogue, at, wanted, tool);
    if (entry !== undefined)
      return {
        name: entry.name,
        endpoint: at,
        server: wanted,
        tool,
        ...(entry.annotations === undefined ? {} : { annotations: entry.annotations }),
        ...given,
      };
  }
  const others = await serversWith(catalogue, tool);
  throw new ApiProblem(
    'unknown',
    `server ${JSON.stringify(wanted)} offers no tool ${JSON.stringify(tool)}`,
    others.length === 0
      ? 'no server offers a tool of this name now'
      : `these do: ${others.slice(0, maxNamed).join(', ')}${others.length > maxNamed ? ' and others' : ''}`,
  );
}

async function find(
  catalogue: ReadCatalogue,
  endpoint: string,
  server: string,
  tool: string,
): Promise<CatalogueEntry | undefined> {
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    let found: Catalogue;
    try {
      found = await catalogue({ endpoint, q: tool.slice(0, 200), kind: 'tool', server, cursor });
    } catch (error) {
      // Not every server has an endpoint of its own.
      if (error instanceof ApiProblem && error.reason === 'unknown') return undefined;
      throw error;
    }
    const entry = found.entries.find(({ ownName }) => ownName === tool);
    if (entry !== undefined || found.next === undefined) return entry;
    cursor = found.next;
  }
  return undefined;
}

/** The servers of all that offer a tool of this name, as far as the first page shows them. */
async function serversWith(catalogue: ReadCatalogue, tool: string): Promise<readonly string[]> {
  const { entries } = await catalogue({ endpoint: '', q: tool.slice(0, 200), kind: 'tool' });
  return [...new Set(entries.filter(({ ownName }) => ownName === tool).map(({ server }) => server))];
}
