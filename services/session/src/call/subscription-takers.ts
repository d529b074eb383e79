import type { ServerName, WorkerId } from '@omnibus/protocol';

/** Which worker's adapter took each subscription of one client, as far as that is known: another one could not tell of what changed before. */
export class SubscriptionTakers {
  readonly #takers = new Map<string, WorkerId>();

  /**
   * An adapter has taken a subscription.
   * @param uri the server's own.
   * @param taker undefined where that is not known.
   * @returns whether it may be another adapter than before, which could not tell of what changed meanwhile.
   */
  note(server: ServerName, uri: string, taker: WorkerId | undefined): boolean {
    const key = keyOf(server, uri);
    const isSame = taker !== undefined && this.#takers.get(key) === taker;
    if (taker === undefined) this.#takers.delete(key);
    else this.#takers.set(key, taker);
    return !isSame;
  }

  forget(server: ServerName, uri: string): void {
    this.#takers.delete(keyOf(server, uri));
  }
}

function keyOf(server: ServerName, uri: string): string {
  return `${server} ${uri}`;
}
