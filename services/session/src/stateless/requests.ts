/** Serves requests of clients without sessions. Each is independent of others, except one that continues a parked call. */
import { subjects, type Subscription } from '@omnibus/bus';
import type { View } from '@omnibus/catalog';
import { Drain } from '@omnibus/lifecycle';
import {
  declaredBy,
  declaresExtension,
  fault,
  isCustomMethod,
  isExtensionTaskMethod,
  laterLabels,
  listKindOf,
  methodRow,
  ownServer,
  modernMethods,
  repeatKey,
  tasksExtension,
  whoOf,
  type ErrorReason,
  type ExchangeMethod,
  type ExtensionTaskMethod,
  type GatewayFault,
  type HeldRequests,
  type JsonObject,
  type ListKind,
  type ListMethod,
  type ModernControl,
  type SessionKey,
  type WorkerId,
} from '@omnibus/protocol';
import type { TaskPermission } from '../call/access.ts';
import type { Barrier } from '../call/barrier.ts';
import type { Meant } from '../call/own-tools.ts';
import { missingCapability } from '../call/routes/needed-capability.ts';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import { cursorOf, ownLimitOf } from '../call/routes/list-page.ts';
import type { OfferRequest } from '../views/offers.ts';
import { discovery, modernList, modernResult } from '../dialect/modern/encode.ts';
import { modernDialect } from '../dialect/modern/dialect.ts';
import { serverFeatures } from '../dialect/servers.ts';
import { fetchWithin } from './fetched-results.ts';
import { StatelessCalls } from './calls.ts';
import { LegacyTasks } from './legacy-tasks.ts';
import { answerOwnTask } from './own-task-answer.ts';
import { LinkedResourcesOfClients } from './linked-resources-of-clients.ts';
import { isUnrouted } from '../call/routes/unrouted.ts';
import { Listeners } from './listeners.ts';
import {
  answer,
  answerResult,
  draining,
  refuse,
  requestedIn,
  requesterOf,
  tasksMissing,
  type PendingReply,
} from './pending-reply.ts';
import { RecentClients, type RecentClient } from './recent-clients.ts';
import { Places } from './places.ts';
import { doubtOf } from './wanted.ts';
import { KeptCalls } from './kept-calls.ts';
import type { StatelessHost } from './stateless-host.ts';

/** Requests that arrive here after their client's disconnection, which happens only when messages overtake each other on the bus. */
const maxGone = 1_000;
/** Milliseconds for last answers, after clients with open questions have used up the time to drain. */
const graceMs = 500;
/** Capabilities that a client was offered before its request: none, since there is no session. */
const nothing: ReadonlySet<string> = new Set();

export class StatelessRequests {
  readonly #host: StatelessHost;
  readonly #worker: WorkerId;
  readonly #drain: Drain;
  readonly #places: Places;
  readonly #calls: StatelessCalls;
  readonly #tasks: LegacyTasks;
  /** The open subscriptions. */
  readonly listeners: Listeners;
  readonly #linkedResources = new LinkedResourcesOfClients();
  readonly #clients = new RecentClients();
  readonly #gone = new Set<SessionKey>();
  /** Requests that wait for the servers' lists for their clients, with the interruptions of the bus as in `doubtOf`. */
  readonly #waiting = new Map<SessionKey, number>();
  #subscriptions: Subscription[] = [];
  #isStopping = false;

  /** @param humanMs milliseconds a client must come back with an answer. */
  constructor(host: StatelessHost, worker: WorkerId, humanMs: () => number) {
    this.#drain = new Drain(host.wheel);
    const keptCalls = new KeptCalls(host.limits, this.#drain);
    this.#host = host;
    this.#worker = worker;
    this.#places = new Places(host.limits, keptCalls, this.#drain);
    this.#calls = new StatelessCalls({
      host,
      worker,
      humanMs,
      places: this.#places,
      linkedResources: this.#linkedResources,
    });
    this.#tasks = new LegacyTasks(host, worker, keptCalls);
    this.listeners = new Listeners(host);
    host.metrics.beforeScrape(() => {
      host.metrics.requestsWithoutSession.set(this.#places.taken);
      host.metrics.keptCalls.set(keptCalls.size);
      host.metrics.keptBytes.set(keptCalls.bytes);
      host.metrics.listeners.set(this.listeners.size);
    });
  }

  async start(): Promise<void> {
    const { bus } = this.#host;
    const sayWhatIsHeld = ({ keys }: HeldRequests, reply: (held: HeldRequests) => void): void =>
      reply({ keys: keys.filter((key) => this.#holds(key)), ...this.#notBegun(keys) });
    this.#subscriptions = [
      await bus.subscribe(subjects.modern(undefined), (command, reply) => this.#receive({ command, reply }), {
        queue: 'session',
      }),
      await bus.subscribe(subjects.modern(this.#worker), (command, reply) => this.#receive({ command, reply })),
      await bus.subscribe(subjects.modernHolds(this.#worker), sayWhatIsHeld),
      await bus.subscribe(subjects.modernControl, (control) => {
        if (control.kind !== 'closed') this.#host.metrics.dropped('bus_unknown'); // A kind that only newer edges send.
        else if (control.worker === undefined || control.worker === this.#worker) this.#closed(control);
      }),
    ];
  }

  /** Ends subscriptions in order and waits for running calls, and for clients with open questions, up to the limit. */
  async stop(limitMs: number): Promise<void> {
    this.#isStopping = true;
    const [anybodys, ours] = this.#subscriptions;
    await anybodys?.drain();
    this.listeners.endAll();
    const { isShared } = this.#host.bus;
    const endsAt = performance.now() + limitMs;
    // Where edges are other processes, they serve on and lead clients back to calls that are parked here.
    await this.#drain.until(() => this.#places.taken === 0 && (!isShared || this.parked === 0), limitMs);
    await ours?.drain();
    // What came to the last has a moment to be answered, however long clients took before.
    await this.#drain.until(() => this.#places.taken === 0, Math.max(graceMs, endsAt - performance.now()));
    // Where edges are other processes, they have the calls that still run continued at the next worker.
    this.#calls.stop(isShared);
    this.#tasks.stop('the gateway stops');
    this.#subscriptions.at(-1)?.close();
  }

  /** Calls between two requests of their clients. */
  get parked(): number {
    return this.#calls.parked;
  }

  /** Number of open calls and of requests that wait for them. */
  get remembered(): number {
    return this.#calls.size;
  }

  /** Clients that asked something a short while ago. */
  get clients(): readonly RecentClient[] {
    return this.#clients.list(performance.now());
  }

  /** Ends what callers may not reach any more. */
  barred(barrier: Barrier): void {
    this.#calls.barred(barrier);
    this.#tasks.barred(barrier);
    this.listeners.barred(barrier);
  }

  #holds(key: SessionKey): boolean {
    if (this.#waiting.has(key)) this.#waiting.set(key, this.#host.bus.reconnects);
    return this.#waiting.has(key) || this.listeners.has(key) || this.#calls.waits(key) || this.#tasks.waits(key);
  }

  #notBegun(keys: readonly SessionKey[]): Pick<HeldRequests, 'notBegun'> {
    const notBegun = keys.filter((key) => this.#calls.hasNotBegun(key));
    return notBegun.length === 0 ? {} : { notBegun };
  }

  #closed({ key, reason, worker }: ModernControl): void {
    if (
      this.#waiting.delete(key) ||
      this.listeners.close(key) ||
      // With a worker's name, the edge has given the request to another one, which continues the call.
      this.#calls.closed(key, reason, worker !== undefined) ||
      this.#tasks.closed(key, reason) ||
      worker !== undefined
    )
      return;
    // It may still be in transit: later messages overtake a large request.
    this.#gone.add(key);
    if (this.#gone.size > maxGone) this.#gone.delete(this.#gone.values().next().value as SessionKey);
  }

  #refuse(waiter: PendingReply, reason: ErrorReason, message?: string): void {
    this.#deny(waiter, fault(reason, message));
  }

  #deny(waiter: PendingReply, gatewayFault: GatewayFault): void {
    refuse(waiter, gatewayFault);
    this.#host.watchers.refused(requesterOf(waiter), requestedIn(waiter), gatewayFault);
  }

  #receive(waiter: PendingReply): void {
    if ((waiter.command.kind as string) !== 'request') {
      this.#refuse(waiter, 'method.unknown'); // A kind that only newer edges send.
      return;
    }
    if (this.#gone.delete(waiter.command.key)) return; // Its client has disconnected, so it is not executed.
    const { request, caller, context } = waiter.command;
    const unproven = this.#host.callerProblem(caller);
    if (unproven !== undefined) {
      this.#deny(waiter, unproven);
      return;
    }
    if (this.#host.listFilter.on !== undefined && this.#waitsForDecisions(waiter)) return;
    const view = this.#host.viewAlone(caller, context.capabilities);
    if (view === undefined) {
      this.#refuse(waiter, 'http.path_unknown');
      return;
    }
    const params: JsonObject = request.params ?? {};
    const isKeyed = (params['_meta'] as JsonObject | undefined)?.[repeatKey] !== undefined;
    if (isKeyed && this.#calls.repeat(waiter, view)) return;
    // What continues a call that is open here is let in to the last.
    if (this.#isStopping && typeof params['requestState'] !== 'string') {
      refuse(waiter, draining);
      return;
    }
    if (this.#clients.note(waiter.command, performance.now())) this.#host.used(caller);
    const row = methodRow(request.method);
    const lacking = row?.needs === undefined ? undefined : missingCapability(request, view, nothing);
    if (lacking !== undefined) this.#refuse(waiter, 'method.removed', lacking);
    else if (row?.isCarried === true && row.about !== 'task') this.#serveCarried(waiter, view);
    else this.#serve(waiter, view);
  }

  /** Receives a request again once it is decided what its caller sees. @returns false when that is decided already. */
  #waitsForDecisions(waiter: PendingReply): boolean {
    const { caller, context } = waiter.command;
    const undecided = this.#host.undecided(caller, undefined, context.capabilities);
    if (undecided !== undefined) this.#receiveAfter(waiter, undecided);
    return undecided !== undefined;
  }

  /** Serves a request that is for a server, and not about a task. */
  #serveCarried(waiter: PendingReply, view: View): void {
    const { caller, request } = waiter.command;
    const { method, params = {} } = request;
    const meant =
      method === 'tools/call' && view.hasOwnTools ? this.#host.ownTools.meant(view, params, true) : undefined;
    if (meant !== undefined) {
      this.#serveMeant(waiter, view, meant);
      return;
    }
    if (
      isUnrouted(method, params, view, () => this.#linkedResources.of(caller)) &&
      this.#receiveLater(waiter, { isNamed: true })
    )
      return;
    if (modernMethods.has(method)) this.#calls.call(waiter, view, method as ExchangeMethod, params);
    else this.#refuseUnknown(waiter, method);
  }

  /** Serves a call of one of the gateway's own tools. */
  #serveMeant(waiter: PendingReply, view: View, meant: Meant): void {
    const { command } = waiter;
    if (meant.kind === 'call') {
      // Headers that repeat arguments are those of the own tool, which has none.
      const inner = { ...command, parameterHeaders: undefined, request: { ...command.request, params: meant.params } };
      this.#calls.standsFor(command, inner);
      this.#serveCarried({ ...waiter, command: inner }, view);
      return;
    }
    if (meant.kind === 'run') {
      const { params = {} } = command.request;
      const isNew = typeof params['requestState'] !== 'string';
      if (isNew && this.#receiveLater(waiter, { ownMs: ownLimitOf(params) })) return;
      // Another worker may have run a part of it, which must not happen twice.
      if (command.begun === undefined) this.#calls.call(waiter, view, 'tools/call', params, meant);
      else this.#refuse(waiter, 'code.lost');
      return;
    }
    // The answer has the contents of a list, so it waits for the same.
    if (this.#receiveLater(waiter, { ownMs: ownLimitOf(command.request.params) })) return;
    const ready = meant.ready();
    if (ready !== undefined) {
      this.#receiveAfter(waiter, ready);
      return;
    }
    const text = JSON.stringify(modernResult('tools/call', meant.result()));
    answer(waiter, `"result":${text}`);
    this.#host.watchers.listed(requesterOf(waiter), requestedIn(waiter), text.length);
  }

  #refuseUnknown(waiter: PendingReply, method: string): void {
    this.#refuse(waiter, 'method.removed', `${method}: nothing behind this endpoint serves it`);
  }

  #serve(waiter: PendingReply, view: View): void {
    const { method, params = {} } = waiter.command.request;
    const kind = listKindOf(method);
    if (kind !== undefined) {
      if (this.#receiveLater(waiter, { ownMs: ownLimitOf(params) })) return;
      if (view.isUnreadHere(kind)) this.#calls.call(waiter, view, method as ListMethod, params);
      else this.#list(waiter, view, kind, params);
      return;
    }
    switch (method) {
      case 'server/discover':
        answerResult(waiter, discovery(view));
        return;
      case 'subscriptions/listen': {
        const linked = this.#linkedResources.of(waiter.command.caller);
        if (isUnrouted(method, params, view, () => linked) && this.#receiveLater(waiter, { isNamed: true })) return;
        const refusal = this.listeners.listen(waiter, view, linked);
        if (refusal !== undefined) this.#deny(waiter, refusal);
        return;
      }
      default:
        if (isExtensionTaskMethod(method)) {
          if (declaresExtension(waiter.command.context.capabilities, tasksExtension))
            this.#serveTask(waiter, view, method, params);
          else this.#deny(waiter, tasksMissing(`${method} needs`));
        } else if (isCustomMethod(method)) this.#calls.call(waiter, view, method, params);
        else this.#refuseUnknown(waiter, method);
    }
  }

  #list(waiter: PendingReply, view: View, kind: ListKind, params: JsonObject): void {
    const cursor = cursorOf(params);
    const json = cursor === undefined || typeof cursor === 'string' ? view.modernList(kind, cursor) : undefined;
    if (json === undefined) this.#refuse(waiter, 'cursor.invalid');
    else {
      const {
        caller,
        context: { capabilities },
      } = waiter.command;
      const declared = declaredBy(offeredCapabilities(capabilities), false, caller.principal);
      const reading = this.#host.offers.reading({ place: this.#host.placeOf(caller), declared });
      const text = modernList(json, view, kind, typeof cursor !== 'string', reading);
      answer(waiter, `"result":${text}`);
      this.#host.watchers.listed(requesterOf(waiter), requestedIn(waiter), text.length);
    }
  }

  /** Serves a request once the servers' offers to its client are known. @returns false when they are known already, and the request is not served here. */
  #receiveLater(waiter: PendingReply, how: Pick<OfferRequest, 'isNamed' | 'ownMs'>): boolean {
    const {
      key,
      caller,
      context: { capabilities: declared },
    } = waiter.command;
    const capabilities = offeredCapabilities(declared);
    const declaredHere = declaredBy(capabilities, false, caller.principal);
    const settling = this.#host.offers.settling({
      place: this.#host.placeOf(caller),
      declared: declaredHere,
      ...how,
      caller: { ...modernDialect.asker(caller.principal, key), ...whoOf(this.#host.factsOf(caller)), capabilities },
    });
    if (settling === undefined) return false;
    this.#receiveAfter(waiter, settling);
    return true;
  }

  /** Receives a request again when something is known, if its caller has a place for it. */
  #receiveAfter(waiter: PendingReply, until: Promise<void>): void {
    const full = this.#places.take(waiter.command.caller);
    if (full === undefined) this.#wait(waiter, until);
    else this.#deny(waiter, full);
  }

  /** Receives a request again when something is known, unless its client has disconnected, or its edge may have given it up. */
  #wait(waiter: PendingReply, until: Promise<void>): void {
    const {
      command: { key, caller },
    } = waiter;
    const { bus } = this.#host;
    this.#waiting.set(key, bus.reconnects);
    const goOn = (failure?: GatewayFault): void => {
      this.#places.give(caller);
      const wantedAt = this.#waiting.get(key);
      if (wantedAt === undefined) return;
      this.#waiting.delete(key);
      const doubt = failure ?? doubtOf(bus, wantedAt);
      if (doubt === undefined) this.#guard(waiter, () => this.#receive(waiter));
      else refuse(waiter, doubt);
    };
    void until.then(
      () => goOn(),
      (error: unknown) => {
        this.#host.log.error({ err: error }, 'the wait of a request failed');
        goOn(fault('internal.error'));
      },
    );
  }

  /** Runs work that follows a wait: what throws ends this request alone. */
  #guard(waiter: PendingReply, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#host.log.error({ err: error }, 'a request that had waited could not be served');
      refuse(waiter, fault('internal.error'));
    }
  }

  #serveTask(waiter: PendingReply, view: View, method: ExtensionTaskMethod, params: JsonObject): void {
    const { caller } = waiter.command;
    const task = this.#calls.taskOf(waiter.command, params);
    if (task?.server === ownServer)
      answerOwnTask(this.#host, { waiter, view, method, task }, (problem) => this.#deny(waiter, problem));
    else if (task === undefined || !view.definition.servers.includes(task.server)) this.#refuse(waiter, 'task.unknown');
    else if (serverFeatures(view, task.server).hasExtensionTasks) this.#calls.start(waiter, view, method);
    else {
      const {
        screen,
        refusal = this.#host.barrier.problemOf(this.#host.factsOf(caller), task.server, task.tool, true),
      }: TaskPermission = this.#host.access.on?.of(caller)?.ofTask(task, { method, view, labels: laterLabels }) ?? {};
      if (refusal !== undefined) {
        this.#deny(waiter, refusal);
        return;
      }
      fetchWithin(this.#host, waiter, method, task, {
        serve: (counted) => {
          const full = this.#places.take(caller);
          if (full === undefined) this.#tasks.serve(counted, method, task, screen, () => this.#places.give(caller));
          else this.#deny(counted, full);
        },
        refuse: (refused) => this.#deny(waiter, refused),
      });
    }
  }
}
