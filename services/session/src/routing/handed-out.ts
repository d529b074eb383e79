/** URIs that results handed out, which a client may read next although no list has them. The oldest are forgotten. */
import type { JsonObject, ServerName } from '@omnibus/protocol';
import { linkedUris } from './resource-uris.ts';

const maxRemembered = 1_000;

export class HandedOut {
  readonly #servers = new Map<string, ServerName>();

  remember(server: ServerName, result: JsonObject): void {
    for (const uri of linkedUris(result)) {
      this.#servers.delete(uri);
      this.#servers.set(uri, server);
      if (this.#servers.size > maxRemembered) this.#servers.delete(this.#servers.keys().next().value as string);
    }
  }

  find(uri: string): ServerName | undefined {
    return this.#servers.get(uri);
  }
}
