/**
 * Links in results for a client: URIs that it may read next although no list has them, of which the oldest are forgotten, and servers with pages that it may
 * show.
 */
import type { ServerName } from '@omnibus/protocol';

/** Bound on stored URIs of one client, which usually reads a link soon; for an older one the gateway asks all servers. */
const maxRemembered = 1_000;
/** Characters of a URI; longer ones are not remembered, since they take memory. */
const maxUriLength = 2_048;

export class LinkedResources {
  readonly #servers = new Map<string, readonly ServerName[]>();
  readonly #pages = new Set<ServerName>();
  readonly #knowsAll: boolean;
  readonly #grown: ((length: number) => void) | undefined;
  #isForgotten = false;

  /**
   * @param grown called with the change in the number of stored characters; negative when they become fewer. It is set for clients without
   * sessions; other workers answer some of their requests.
   */
  constructor(grown?: (length: number) => void) {
    this.#knowsAll = grown === undefined;
    this.#grown = grown;
  }

  /** @param uris that a result of the server links to. */
  remember(server: ServerName, uris: readonly string[]): void {
    for (const uri of uris) if (uri.length <= maxUriLength) this.#remember(server, uri);
  }

  /** The servers with results that linked to it. */
  find(uri: string): readonly ServerName[] {
    return this.#servers.get(uri) ?? [];
  }

  /** The client got a page of a server, or a result for one. */
  showPage(server: ServerName): void {
    this.#pages.add(server);
  }

  /** Of routes to tools, those of servers with pages that the client may show. */
  ofPages<To extends { readonly server: ServerName }>(routes: readonly To[]): readonly To[] {
    const known = routes.filter(({ server }) => this.#pages.has(server));
    return known.length > 0 || this.#knowsAll ? known : routes;
  }

  /** Forgets all URIs for good: calls that still run add none. */
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
