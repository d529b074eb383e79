/**
 * One `subscriptions/listen` (2026-07-28 basic/utilities/subscriptions): a stream of the requested notifications and nothing else, each message with the
 * request's id, the acknowledgement first. The acknowledgement names the subscriptions that servers have accepted, so it is sent when each
 * server has answered, or the time of the request is over.
 */
import { subjects } from '@omnibus/bus';
import type { View } from '@omnibus/catalog';
import {
  changeNotifications,
  declaredBy,
  isObject,
  notificationText,
  readOwnLimit,
  type Caller,
  type ChangeKind,
  type Declared,
  type GatewayFault,
  type JsonObject,
  type ServerName,
  type SessionKey,
  type WorkerId,
} from '@omnibus/protocol';
import { modernDialect } from '../dialect/modern/dialect.ts';
import { Exchange } from '../call/exchange.ts';
import { Orders } from '../call/in-order.ts';
import type { Subscription } from '../call/kept-at-servers.ts';
import { SubscriptionHolders } from '../call/subscription-holders.ts';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import { subscriptionEnd } from '../dialect/modern/encode.ts';
import type { ListenedResources } from './listened-resources.ts';
import { answerResult, send, subscriptionId, type PendingReply } from './pending-reply.ts';
import type { Place } from '../views/place.ts';
import type { StatelessHost } from './stateless-host.ts';

const flags: Readonly<Record<ChangeKind, string>> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
};
/** Bound on messages that wait for the acknowledgement; further ones are dropped, since nothing before the acknowledgement is promised. */
const maxEarly = 1_000;

export class Listener {
  readonly waiter: PendingReply;
  readonly place: Place;
  /** The part of the client's capabilities on which offers depend. */
  readonly declared: Declared;
  /** Of what servers say beside the URIs of changed resources. */
  readonly orders = new Orders<ServerName>();
  readonly #host: StatelessHost;
  readonly #kinds: ReadonlySet<ChangeKind>;
  readonly #contacted = new Set<ServerName>();
  /** Accepted resource subscriptions, by server and the server's own URI. */
  readonly #taken: Subscription[] = [];
  readonly #holders = new SubscriptionHolders();
  /** Messages that came before the acknowledgement; undefined after it. */
  #early: (() => void)[] | undefined = [];
  /** Subscriptions that servers have not answered yet. */
  readonly #running = new Map<Exchange, ServerName>();
  #isEnded = false;

  constructor(host: StatelessHost, waiter: PendingReply, asked: JsonObject, { uris, routes }: ListenedResources) {
    this.#host = host;
    this.waiter = waiter;
    this.place = host.placeOf(waiter.command.caller);
    this.declared = declaredBy(waiter.command.context.capabilities, false, waiter.command.caller.principal);
    // From now on it hears changes of its own view.
    host.view(waiter.command.caller, this.declared);
    this.#kinds = new Set((Object.keys(flags) as ChangeKind[]).filter((kind) => asked[flags[kind]] === true));
    if (uris === undefined || uris.length === 0) this.#acknowledge(uris);
    else this.#subscribe(uris, routes);
  }

  listsChanged(kinds: readonly ChangeKind[]): void {
    for (const kind of kinds) if (this.#kinds.has(kind)) this.#tell(changeNotifications[kind], {});
  }

  resourceUpdated(params: JsonObject): void {
    this.#tell('notifications/resources/updated', params);
  }

  get asking(): Caller {
    return this.waiter.command.caller;
  }

  /** The view of its caller. */
  get view(): View | undefined {
    return this.#host.view(this.asking, this.declared);
  }

  get key(): SessionKey {
    return this.waiter.command.key;
  }

  /**
   * An adapter came or went: subscriptions are sent again, since the present adapters may not know them.
   * @param missed called, once the subscription is in place again, with each resource that may have changed while it was not.
   */
  adaptersChanged(server: ServerName, hasGap: boolean, missed: (uri: string) => void): void {
    if (this.barrierTo(server) !== undefined) return;
    for (const [taken, uri] of this.#taken) {
      if (taken !== server) continue;
      this.#subscribeOne(server, uri, (isTaken, by) => {
        if (isTaken && (this.#holders.note(server, uri, by) || hasGap)) missed(uri);
      });
    }
  }

  /** Why it gets no messages of a server now; undefined where it does. @param isBegun false for a new subscription, which a paused server is not sent. */
  barrierTo(server: ServerName, isBegun = true): GatewayFault | undefined {
    return this.#host.barrier.problemOf(this.#host.factsOf(this.asking), server, undefined, isBegun);
  }

  /** Stops waiting for subscriptions at servers that its caller may not reach now. */
  barred(): void {
    for (const [exchange, server] of [...this.#running]) {
      const problem = this.barrierTo(server);
      if (problem !== undefined) exchange.end(problem);
    }
  }

  /** Ends the stream. @param isGraceful whether it ends with a result, because the gateway stops. */
  end(isGraceful: boolean): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#early = undefined;
    for (const exchange of this.#running.keys()) exchange.cancel('nobody listens any more');
    this.#running.clear();
    for (const server of this.#contacted)
      this.#host.bus.publish(subjects.backendControl(server), { kind: 'session-ended', session: this.key });
    if (isGraceful) answerResult(this.waiter, subscriptionEnd(this.#id));
  }

  get #id() {
    return this.waiter.command.request.id;
  }

  #acknowledge(uris: readonly string[] | undefined): void {
    const early = this.#early;
    if (early === undefined || this.#isEnded) return;
    const notifications = {
      ...Object.fromEntries([...this.#kinds].map((kind) => [flags[kind], true])),
      ...(uris === undefined ? {} : { resourceSubscriptions: uris }),
    };
    this.#early = undefined;
    this.#tell('notifications/subscriptions/acknowledged', { notifications });
    for (const happened of early) happened();
  }

  #tell(method: string, params: JsonObject): void {
    if (this.#isEnded) return;
    const tell = (): void =>
      send(
        this.waiter,
        notificationText(method, {
          ...params,
          _meta: { ...(isObject(params['_meta']) ? params['_meta'] : {}), [subscriptionId]: this.#id },
        }),
      );
    if (this.#early === undefined) tell();
    else if (this.#early.length < maxEarly) this.#early.push(tell);
  }

  /** Subscribes to each resource at its server, and acknowledges those that were accepted. */
  #subscribe(uris: readonly string[], routes: ListenedResources['routes']): void {
    const taken = new Set<string>();
    const open = [...routes].filter(([, { server }]) => this.barrierTo(server, false) === undefined);
    let waiting = open.length;
    const acknowledge = (): void => this.#acknowledge(uris.filter((uri) => taken.has(uri)));
    for (const [uri, { server, original }] of open) {
      this.#contacted.add(server);
      this.#subscribeOne(server, original, (isTaken, by) => {
        if (isTaken) {
          taken.add(uri);
          this.#taken.push([server, original]);
          this.#holders.note(server, original, by);
        }
        waiting -= 1;
        if (waiting === 0) acknowledge();
      });
    }
    if (waiting === 0) acknowledge();
  }

  #subscribeOne(server: ServerName, uri: string, settled: (isTaken: boolean, by: WorkerId | undefined) => void): void {
    const { nextExchangeId, timeLimits, whoFor } = this.#host;
    const { key, caller, context, request } = this.waiter.command;
    const limitMs = readOwnLimit(request.params ?? {});
    const exchange = Exchange.start(
      this.#host,
      {
        exchange: nextExchangeId(),
        server,
        method: 'resources/subscribe',
        params: { uri },
        subject: ['resource', uri],
        limits: {
          ...timeLimits(server, undefined),
          ...(typeof limitMs === 'number' ? { own: { limitMs, leftMs: limitMs } } : {}),
        },
        context: {
          ...modernDialect.contextOf(caller, key),
          ...whoFor(server, caller),
          logLevel: context.logLevel,
          capabilities: offeredCapabilities(context.capabilities),
          wantsProgress: false,
        },
      },
      (outcome) => {
        this.#running.delete(exchange);
        settled(outcome.kind === 'result', exchange.sentTo);
      },
    );
    this.#running.set(exchange, server);
  }
}
