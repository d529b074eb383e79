/** What servers and their adapters may keep for one client: connections, subscriptions, log levels. Said again to adapters that come later. */
import type { ExchangeMethod, ExchangeOutcome, JsonObject, ServerName, WorkerId } from '@omnibus/protocol';
import { SubscriptionTakers } from './subscription-takers.ts';

/** Resources a client can be subscribed to before those are forgotten that it asked for first. */
const maxSubscriptions = 1_000;

export type Subscription = readonly [server: ServerName, uri: string];

export class KeptAtServers {
  /** Servers that were reached, and may keep something for the client. */
  readonly contacted = new Set<ServerName>();
  /** Resources the client is told of, by server and the server's own URI. */
  subscriptions: readonly Subscription[] = [];
  readonly takers = new SubscriptionTakers();
  readonly #affinities = new Map<ServerName, WorkerId>();
  readonly #changed: () => void;
  /** Tells all adapters of the server that the client is not told of the resource any more: the one that took the request may not be the one that listens. */
  readonly endSubscription: (server: ServerName, uri: string) => void;

  /** @param changed hears that there is something that was not there before, or is not there any more. */
  constructor(changed: () => void, endSubscription: (server: ServerName, uri: string) => void) {
    this.#changed = changed;
    this.endSubscription = endSubscription;
  }

  /** A server is reached. */
  contact(server: ServerName): void {
    if (this.contacted.has(server)) return;
    this.contacted.add(server);
    this.#changed();
  }

  /** By server, the worker of the adapter that keeps something. */
  get affinities(): readonly (readonly [server: ServerName, worker: WorkerId])[] {
    return [...this.#affinities];
  }

  affinityTo(server: ServerName): WorkerId | undefined {
    return this.#affinities.get(server);
  }

  /** @param worker undefined when its adapter is gone. */
  noteAffinity(server: ServerName, worker: WorkerId | undefined): void {
    if (worker === undefined) this.#affinities.delete(server);
    else this.#affinities.set(server, worker);
    this.#changed();
  }

  /** Goes on where another worker left off. */
  restore(contacted: readonly ServerName[], subscriptions: readonly Subscription[], affinities: readonly (readonly [server: ServerName, worker: WorkerId])[]): void {
    this.subscriptions = subscriptions;
    for (const server of contacted) this.contacted.add(server);
    for (const [server, worker] of affinities) this.#affinities.set(server, worker);
  }

  /** @param taker the worker whose adapter answered, where that is known. */
  noteSubscription(method: ExchangeMethod, server: ServerName, { uri }: JsonObject, outcome: ExchangeOutcome, taker: WorkerId | undefined): void {
    if (outcome.kind !== 'result' || typeof uri !== 'string') return;
    if (method === 'resources/unsubscribe') {
      this.subscriptions = this.#without(server, uri);
      this.takers.forget(server, uri);
      this.endSubscription(server, uri);
    } else if (method === 'resources/subscribe') {
      const kept = this.#without(server, uri);
      for (const [of, oldest] of kept.slice(0, Math.max(0, kept.length + 1 - maxSubscriptions))) this.takers.forget(of, oldest);
      this.subscriptions = [...kept.slice(1 - maxSubscriptions), [server, uri]];
      this.takers.note(server, uri, taker);
      this.#changed();
    }
  }

  isSubscribed(server: ServerName, uri: string): boolean {
    return this.subscriptions.some((subscription) => subscription[0] === server && subscription[1] === uri);
  }

  #without(server: ServerName, uri: string): readonly Subscription[] {
    return this.subscriptions.filter((subscription) => subscription[0] !== server || subscription[1] !== uri);
  }
}
