import type { SessionKey } from '@omnibus/protocol';

/** The session that alone has used a connection: whatever the server says of no request can concern nobody else. */
export class SoleUser {
  /** Null when several have used it. */
  #session: SessionKey | null | undefined;

  /** @param session undefined for a request of the gateway's own. */
  use(session: SessionKey | undefined): void {
    if (session !== undefined && session !== this.#session) this.#session = this.#session === undefined ? session : null;
  }

  /** The server is another one, and knows of nobody. */
  forget(): void {
    this.#session = undefined;
  }

  get session(): SessionKey | undefined {
    return this.#session ?? undefined;
  }
}
