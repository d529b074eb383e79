/** Which entries of servers a caller may see. Access rules define it, and the caller's view uses it. */
import { listKinds, type CatalogRecord, type JsonObject, type ServerName } from '@omnibus/protocol';

export interface Sight {
  /** Name of the sight; equal for all callers that may see the same. */
  readonly name: string;
  /**
   * @param name the server's own, of a tool or prompt; or a URI, or the template of one.
   * @param entry the tool as its server describes it.
   */
  sees(kind: 'tool' | 'prompt' | 'resource', server: ServerName, name: string, entry?: JsonObject): boolean;
  /** Whether the caller may know of a server without known entries. */
  seesServer(server: ServerName): boolean;
  /** Whether the caller may use everything of a server, including methods that no revision defines. */
  mayEverythingOf(server: ServerName): boolean;
}

/** Whether a caller that sees no tool or prompt of a server may know of it. @param record undefined when the server was never reached. */
export function isInSight(sight: Sight, server: ServerName, record: CatalogRecord | undefined): boolean {
  if (record === undefined) return sight.seesServer(server);
  const { capabilities, lists } = record;
  if (
    lists.resources.some(({ uri }) => sight.sees('resource', server, uri)) ||
    lists.resourceTemplates.some(({ uriTemplate }) => sight.sees('resource', server, uriTemplate))
  )
    return true;
  // Where nothing is listed, or more can be read than is, the rules alone tell.
  return (
    ('resources' in capabilities || listKinds.every((kind) => lists[kind].length === 0)) && sight.seesServer(server)
  );
}
