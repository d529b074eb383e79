/** What somebody may see of what servers offer. Whoever asks the rules makes one; a view is made with less in it of it. */
import { listKinds, type CatalogRecord, type JsonObject, type ServerName } from '@omnibus/protocol';

export interface Sight {
  /** The same for all who may see the same. */
  readonly name: string;
  /**
   * @param name the server's own, of a tool or prompt; or a URI, or the template of one.
   * @param entry the tool as its server describes it.
   */
  sees(kind: 'tool' | 'prompt' | 'resource', server: ServerName, name: string, entry?: JsonObject): boolean;
  /** Whether somebody may know that there is a server of which no entry is known. */
  seesServer(server: ServerName): boolean;
  /** Whether anything at all may be asked of it, also what nobody has a name for. */
  mayEverythingOf(server: ServerName): boolean;
}

/** Whether somebody who sees no tool and no prompt of a server may know of it. @param record undefined when the server was never reached. */
export function isInSight(sight: Sight, server: ServerName, record: CatalogRecord | undefined): boolean {
  if (record === undefined) return sight.seesServer(server);
  const { capabilities, lists } = record;
  if (lists.resources.some(({ uri }) => sight.sees('resource', server, uri)) || lists.resourceTemplates.some(({ uriTemplate }) => sight.sees('resource', server, uriTemplate))) return true;
  // Where nothing is listed, or more can be read than is, the rules alone tell.
  return ('resources' in capabilities || listKinds.every((kind) => lists[kind].length === 0)) && sight.seesServer(server);
}
