/** What the client of one session sees: by what an edge said of it with its latest request, and by the rules as they are now. */
import type { View } from '@omnibus/catalog';
import type { Caller, ChangeKind } from '@omnibus/protocol';
import { isUnheard } from '../call/access.ts';
import type { SessionClient } from './session-client.ts';
import type { SessionHost } from './session-host.ts';

export class SessionSight {
  readonly #host: Pick<SessionHost, 'view'>;
  readonly #client: SessionClient;

  constructor(host: Pick<SessionHost, 'view'>, client: SessionClient) {
    this.#host = host;
    this.#client = client;
  }

  /** Undefined when the endpoint has left the configuration. */
  get view(): View | undefined {
    return this.#host.view(this.#client.asking, this.#client.declared);
  }

  /** The caller, with what an edge said of it last. */
  get asking(): Caller {
    return this.#client.asking;
  }

  /** Serves, before it returns, a request that had to wait: with what an edge said of the caller when it came, whatever was said since. */
  as(caller: Caller, serve: () => void): void {
    const latest = this.#client.asking;
    this.#client.asking = caller;
    try {
      serve();
    } finally {
      this.#client.asking = latest;
    }
  }

  /** Who asks may be known by a fresh token, which may say something else of him. @returns the lists that read differently for him now. */
  asks(caller: Caller): readonly ChangeKind[] {
    const before = this.#client.access();
    const seen = before?.sight === undefined ? undefined : this.view;
    this.#client.asking = caller;
    if (before === undefined || seen === undefined || before.sight === this.#client.access()?.sight || isUnheard(before)) return [];
    return this.view?.changesSince(seen) ?? [];
  }
}
