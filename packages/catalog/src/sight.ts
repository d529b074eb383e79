/** What somebody may see of what servers offer. Whoever asks the rules makes one; a view is made with less in it of it. */
import type { JsonObject, ServerName } from '@omnibus/protocol';

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
