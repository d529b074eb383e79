import type { SessionKey } from '@omnibus/protocol';

/** Remembers whether a single session has used a connection; then messages of the server outside of requests can concern that session only. */
export class SoleUser {
  /** Null when several sessions have used it. */
  #session: SessionKey | null | undefined;

  /** @param session undefined for a request of the gateway's own. */
  use(session: SessionKey | undefined): void {
    if (session !== undefined && session !== this.#session)
      this.#session = this.#session === undefined ? session : null;
  }

  /** The server is a new one, which no session has used. */
  forget(): void {
    this.#session = undefined;
  }

  get session(): SessionKey | undefined {
    return this.#session ?? undefined;
  }
}
