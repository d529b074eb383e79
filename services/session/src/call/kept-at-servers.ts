/** The state that servers and their adapters may keep for one client: connections, subscriptions, log levels. It is sent again to adapters that come later. */
import type { ExchangeMethod, ExchangeOutcome, ServerName, WorkerId } from '@omnibus/protocol';
import { SubscriptionHolders } from './subscription-holders.ts';

/** Subscriptions of one client; beyond that the oldest are forgotten. */
const maxSubscriptions = 1_000;

export type Subscription = readonly [server: ServerName, uri: string];

export class KeptAtServers {
  /** Servers that requests were sent to, and which may keep state for the client. */
  readonly contacted = new Set<ServerName>();
  /** Resources that the client is subscribed to, by server and the server's own URI. */
  subscriptions: readonly Subscription[] = [];
  #holders: SubscriptionHolders | undefined;
  /** By server, the worker that the last request was sent to. */
  readonly chosen = new Map<ServerName, WorkerId>();
  /** By server, the worker of the adapter that keeps state; undefined if none does. */
  affinities: Map<ServerName, WorkerId> | undefined;
  readonly #changed: () => void;
  /** Tells all adapters of the server that the client has unsubscribed: the one that got the request may not be the one with the subscription. */
  readonly endSubscription: (server: ServerName, uri: string) => void;

  /** @param changed called when there is more or less state than before. */
  constructor(changed: () => void, endSubscription: (server: ServerName, uri: string) => void) {
    this.#changed = changed;
    this.endSubscription = endSubscription;
  }

  /** Notes that the first request is sent to a server. */
  contact(server: ServerName): void {
    this.contacted.add(server);
    this.#changed();
  }

  get holders(): SubscriptionHolders {
    this.#holders ??= new SubscriptionHolders();
    return this.#holders;
  }

  /** @param worker undefined when its adapter is gone. */
  noteAffinity(server: ServerName, worker: WorkerId | undefined): void {
    if (worker === undefined) this.affinities?.delete(server);
    else (this.affinities ??= new Map()).set(server, worker);
    this.#changed();
  }

  /** Restores the state that another worker had noted. */
  restore(
    contacted: readonly ServerName[],
    subscriptions: readonly Subscription[],
    affinities: readonly (readonly [server: ServerName, worker: WorkerId])[],
  ): void {
    this.subscriptions = subscriptions;
    for (const server of contacted) this.contacted.add(server);
    if (affinities.length > 0) this.affinities = new Map(affinities);
  }

  /** @param holder the worker of the adapter that answered, if known. */
  noteSubscription(
    method: ExchangeMethod,
    server: ServerName,
    uri: string,
    outcome: ExchangeOutcome,
    holder: WorkerId | undefined,
  ): void {
    if (outcome.kind !== 'result') return;
    if (method === 'resources/unsubscribe') {
      this.subscriptions = this.#without(server, uri);
      this.holders.forget(server, uri);
      this.endSubscription(server, uri);
    } else if (method === 'resources/subscribe') {
      const kept = this.#without(server, uri);
      for (const [of, oldest] of kept.slice(0, Math.max(0, kept.length + 1 - maxSubscriptions)))
        this.holders.forget(of, oldest);
      this.subscriptions = [...kept.slice(1 - maxSubscriptions), [server, uri]];
      this.holders.note(server, uri, holder);
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
