/** The subscriptions (`subscriptions/listen`) that are open at this worker: their limits, and the messages for all of them. */
import type { View } from '@omnibus/catalog';
import {
  declaresExtension,
  fault,
  isObject,
  readOwnLimit,
  tasksExtension,
  type GatewayFault,
  type JsonObject,
  type ServerName,
  type ServerNotice,
  type SessionKey,
} from '@omnibus/protocol';
import type { Barrier } from '../call/barrier.ts';
import { maxWaiting } from '../call/in-order.ts';
import { saidBeside, transformOutsideCalls } from '../call/outside-calls.ts';
import type { LinkedResources } from '../call/routes/linked-resources.ts';
import type { Place } from '../views/place.ts';
import { listenedResources } from './listened-resources.ts';
import { Listener } from './listener.ts';
import { servedClientOf, tasksMissing, type PendingReply } from './pending-reply.ts';
import { Shares } from './shares.ts';
import type { ChangesFor, StatelessHost } from './stateless-host.ts';

type ResourceNotice = Extract<ServerNotice, { kind: 'resource-updated' }>;

/** Resource subscriptions of one stream. */
const maxResourceSubscriptions = 1_000;

export class Listeners {
  readonly #host: StatelessHost;
  readonly #open = new Map<SessionKey, Listener>();
  readonly #shares: Shares;

  constructor(host: StatelessHost) {
    this.#host = host;
    const { maxListenersPerClient, maxListeners } = host.limits;
    this.#shares = new Shares('listen.limit', {
      share: { name: 'maxListenersPerClient', value: maxListenersPerClient },
      total: { name: 'maxListeners', value: maxListeners },
    });
  }

  get size(): number {
    return this.#shares.taken;
  }

  /** The places of the open subscriptions. */
  get places(): readonly Place[] {
    return [...this.#open.values()].map(({ place }) => place);
  }

  has(key: SessionKey): boolean {
    return this.#open.has(key);
  }

  /** @returns why it is refused; undefined when it is open. */
  listen(waiter: PendingReply, view: View, linkedResources: LinkedResources): GatewayFault | undefined {
    const {
      request: { params = {} },
      context,
      caller,
      key,
    } = waiter.command;
    const asked = params['notifications'];
    if (!isObject(asked)) return fault('params.invalid', 'params.notifications must be an object');
    const { resourceSubscriptions } = asked;
    if (
      resourceSubscriptions !== undefined &&
      (!Array.isArray(resourceSubscriptions) || resourceSubscriptions.length > maxResourceSubscriptions)
    ) {
      return fault(
        'params.invalid',
        `params.notifications.resourceSubscriptions must be a list of at most ${maxResourceSubscriptions} URIs`,
      );
    }
    if (asked['taskIds'] !== undefined && !declaresExtension(context.capabilities, tasksExtension))
      return tasksMissing('taskIds need');
    const limitMs = readOwnLimit(params);
    if (typeof limitMs === 'object') return fault('params.invalid', limitMs.problem);
    const resources = listenedResources(asked, view, linkedResources, this.#host.access.on?.of(caller));
    if ('fault' in resources) return resources.fault;
    const full = this.#shares.take(caller);
    if (full !== undefined) return full;
    this.#open.set(key, new Listener(this.#host, waiter, asked, resources));
    return undefined;
  }

  /** Ends a disconnected client's subscription. @returns false if there is none. */
  close(key: SessionKey): boolean {
    return this.#end(key, false);
  }

  /** Ends subscriptions of callers that are refused now, and waits for servers that they may not reach now. */
  barred(barrier: Barrier): void {
    for (const [key, listener] of [...this.#open]) {
      if (barrier.callerProblem(this.#host.factsOf(listener.asking)) !== undefined) this.#end(key, true);
      else listener.barred();
    }
  }

  /** Ends all subscriptions with a result, because the gateway stops. */
  endAll(): void {
    for (const key of [...this.#open.keys()]) this.#end(key, true);
  }

  listsChanged(place: Place, changesFor: ChangesFor): void {
    for (const listener of this.#open.values())
      if (listener.place === place) listener.listsChanged(changesFor(listener.declared, listener.asking));
  }

  get all(): readonly Listener[] {
    return [...this.#open.values()];
  }

  adaptersChanged(server: ServerName, hasGap: boolean): void {
    for (const listener of this.#open.values())
      listener.adaptersChanged(server, hasGap, (uri) =>
        this.hear({ kind: 'resource-updated', server, uri, sessions: [listener.key] }),
      );
  }

  hear(notice: ServerNotice): void {
    if (notice.kind !== 'resource-updated') return;
    for (const key of notice.sessions) {
      const listener = this.#open.get(key);
      if (listener !== undefined) this.#hear(listener, notice);
    }
  }

  #hear(listener: Listener, notice: ResourceNotice): void {
    const { server, more } = notice;
    if (this.#uriFor(listener, notice) === undefined) return;
    const tell = (shown: JsonObject): void => {
      // The client's rights may be others by now.
      const uri = this.#uriFor(listener, notice);
      if (uri !== undefined) listener.resourceUpdated({ ...shown, uri });
    };
    if (more === undefined) {
      // Its URI alone says nothing.
      tell({});
      return;
    }
    const isHeard = listener.orders.run(
      server,
      (done) => {
        const transform = transformOutsideCalls(this.#host, servedClientOf(listener.waiter, this.#host), notice);
        saidBeside(transform, 'notifications/resources/updated', more, tell);
        transform.after(done);
      },
      maxWaiting,
    );
    if (isHeard) return;
    this.#host.metrics.dropped('queue_full');
    tell({});
  }

  /** The client's URI of the resource; undefined if the client may not hear of it. */
  #uriFor(listener: Listener, { server, uri }: ResourceNotice): string | undefined {
    const view = this.#host.view(listener.waiter.command.caller);
    return view?.mayHave(server, uri) === true && listener.barrierTo(server) === undefined
      ? view.resources.publicUri(server, uri)
      : undefined;
  }

  #end(key: SessionKey, isGraceful: boolean): boolean {
    const listener = this.#open.get(key);
    if (listener === undefined) return false;
    this.#open.delete(key);
    this.#shares.give(listener.waiter.command.caller);
    listener.end(isGraceful);
    return true;
  }
}
