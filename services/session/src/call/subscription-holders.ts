import type { ServerName, WorkerId } from '@omnibus/protocol';

/** Which worker's adapter accepted each subscription of one client, as far as that is known. A different adapter does not know what changed before it subscribed. */
export class SubscriptionHolders {
  readonly #holders = new Map<string, WorkerId>();

  /**
   * Notes that an adapter has accepted a subscription.
   * @param uri the server's own URI.
   * @param holder undefined where that is not known.
   * @returns whether it may be a different adapter than before, so that changes in between may have been missed.
   */
  note(server: ServerName, uri: string, holder: WorkerId | undefined): boolean {
    const key = keyOf(server, uri);
    const isSame = holder !== undefined && this.#holders.get(key) === holder;
    if (holder === undefined) this.#holders.delete(key);
    else this.#holders.set(key, holder);
    return !isSame;
  }

  forget(server: ServerName, uri: string): void {
    this.#holders.delete(keyOf(server, uri));
  }
}

function keyOf(server: ServerName, uri: string): string {
  return `${server} ${uri}`;
}
