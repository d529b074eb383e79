/** Which sessions subscribe to which resource of one server. The server gets one subscription, however many sessions subscribe. */
import type { SessionKey } from '@omnibus/protocol';

export class SharedSubscriptions {
  readonly #sessions = new Map<string, Set<SessionKey>>();

  get isEmpty(): boolean {
    return this.#sessions.size === 0;
  }

  has(uri: string): boolean {
    return this.#sessions.has(uri);
  }

  get uris(): IterableIterator<string> {
    return this.#sessions.keys();
  }

  get allSessions(): SessionKey[] {
    return [...this.#sessions.values()].flatMap((sessions) => [...sessions]);
  }

  /** @returns true if the server needs a request. */
  add(uri: string, session: SessionKey): boolean {
    const sessions = this.#sessions.get(uri);
    if (sessions === undefined) {
      this.#sessions.set(uri, new Set([session]));
      return true;
    }
    sessions.add(session);
    return false;
  }

  /** @returns true if the server needs a request. */
  remove(uri: string, session: SessionKey): boolean {
    const sessions = this.#sessions.get(uri);
    if (sessions === undefined || !sessions.delete(session) || sessions.size > 0) return false;
    this.#sessions.delete(uri);
    return true;
  }

  /** @returns the URIs that no session subscribes to any more. */
  removeSession(session: SessionKey): string[] {
    return [...this.#sessions.keys()].filter((uri) => this.remove(uri, session));
  }

  /** The sessions that get an update. A server may name a sub-resource of a subscribed one (resources, Subscriptions). */
  listeners(uri: string): SessionKey[] {
    const listeners = new Set<SessionKey>();
    for (const [subscribed, sessions] of this.#sessions) {
      if (uri === subscribed || uri.startsWith(subscribed.endsWith('/') ? subscribed : `${subscribed}/`)) {
        for (const session of sessions) listeners.add(session);
      }
    }
    return [...listeners];
  }
}
