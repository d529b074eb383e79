/** The view of one session's client, by the facts of its latest request and the rules in force. */
import type { View } from '@omnibus/catalog';
import type { Caller, ChangeKind } from '@omnibus/protocol';
import type { SessionClient } from './session-client.ts';
import type { SessionHost } from './session-host.ts';

export class SessionSight {
  readonly #host: Pick<SessionHost, 'view' | 'access'>;
  readonly #client: SessionClient;

  constructor(host: Pick<SessionHost, 'view' | 'access'>, client: SessionClient) {
    this.#host = host;
    this.#client = client;
  }

  /** The view of the client; undefined when the endpoint was removed from the configuration. */
  get view(): View | undefined {
    return this.#host.view(this.#client.asking, this.#client.declared);
  }

  /** The caller as of its latest request. */
  get asking(): Caller {
    return this.#client.asking;
  }

  /** Serves a request that had to wait, synchronously, with the facts that came with it instead of later ones. */
  as(caller: Caller, serve: () => void): void {
    const latest = this.#client.asking;
    this.#client.asking = caller;
    try {
      serve();
    } finally {
      this.#client.asking = latest;
    }
  }

  /** Notes the caller of a new request, perhaps with other claims in its token. @returns the lists that differ for the caller now. */
  asks(caller: Caller): readonly ChangeKind[] {
    const { asking } = this.#client;
    // With the same facts and under the same rules it sees the same.
    if (caller === asking) return [];
    const before = this.#host.access.on?.of(this.#client.asking);
    this.#client.asking = caller;
    if (
      before?.sight === undefined ||
      before.sight === this.#host.access.on?.of(this.#client.asking)?.sight ||
      before.lacksFacts === true
    )
      return [];
    const seen = this.#host.view(asking, this.#client.declared);
    return seen === undefined ? [] : (this.view?.changesSince(seen) ?? []);
  }
}
