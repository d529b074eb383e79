/** URIs that results linked to, which a client may read next although no list has them. The oldest are forgotten. */
import type { JsonObject, ServerName } from '@omnibus/protocol';
import { linkedUris } from '../../public-ids/resource-uris.ts';

/** A client reads what it was just given; what a thousand links before that were is on a list, or asked for anew. */
const maxRemembered = 1_000;
/** No link that somebody follows is longer; remembered ones take memory. */
const maxUriLength = 2_048;

export class LinkedResources {
  readonly #servers = new Map<string, readonly ServerName[]>();
  readonly #grown: ((length: number) => void) | undefined;
  #isForgotten = false;

  /** @param grown hears how many characters of URIs are remembered more than before. */
  constructor(grown?: (length: number) => void) {
    this.#grown = grown;
  }

  remember(server: ServerName, result: JsonObject): void {
    for (const uri of linkedUris(result)) if (uri.length <= maxUriLength) this.#remember(server, uri);
  }

  /** The servers whose results linked to it. */
  find(uri: string): readonly ServerName[] {
    return this.#servers.get(uri) ?? [];
  }

  /** Nobody looks here any more: calls that still run add nothing. */
  forget(): void {
    this.#isForgotten = true;
    let length = 0;
    for (const uri of this.#servers.keys()) length += uri.length;
    this.#servers.clear();
    this.#grown?.(-length);
  }

  #remember(server: ServerName, uri: string): void {
    if (this.#isForgotten) return;
    const known = this.#servers.get(uri);
    this.#servers.delete(uri);
    this.#servers.set(uri, known === undefined ? [server] : known.includes(server) ? known : [...known, server]);
    if (known === undefined) this.#grown?.(uri.length);
    if (this.#servers.size <= maxRemembered) return;
    const oldest = this.#servers.keys().next().value as string;
    this.#servers.delete(oldest);
    this.#grown?.(-oldest.length);
  }
}
