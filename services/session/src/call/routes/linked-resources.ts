/** URIs that results handed out, which a client may read next although no list has them. The oldest are forgotten. */
import type { JsonObject, ServerName } from '@omnibus/protocol';
import { linkedUris } from '../../public-ids/resource-uris.ts';

/** A client reads what it was just given; what a thousand links before that were is on a list, or asked for anew. */
const maxRemembered = 1_000;
/** No link that somebody follows is longer; remembered ones take memory. */
const maxUriLength = 2_048;

export class LinkedResources {
  readonly #servers = new Map<string, readonly ServerName[]>();

  remember(server: ServerName, result: JsonObject): void {
    for (const uri of linkedUris(result)) {
      if (uri.length > maxUriLength) continue;
      const known = this.#servers.get(uri) ?? [];
      this.#servers.delete(uri);
      this.#servers.set(uri, known.includes(server) ? known : [...known, server]);
      if (this.#servers.size > maxRemembered) this.#servers.delete(this.#servers.keys().next().value as string);
    }
  }

  /** The servers that handed it out. */
  find(uri: string): readonly ServerName[] {
    return this.#servers.get(uri) ?? [];
  }
}
