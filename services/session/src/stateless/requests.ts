/**
 * Serves requests of clients without sessions: each stands alone, except one that continues a call which waits for its
 * answers. Such a call is held by one worker; the others say which.
 */
import { subjects, type Subscription } from '@omnibus/bus';
import type { View } from '@omnibus/catalog';
import {
  anonymous, declaresExtension, fault, isCustomMethod, isModernRevision, isObject, listKindOf, readOwnLimit, tasksExtension, urlElicitationRequired, withoutHopMeta, carriedExtensions, declaredBy,
  type Caller, type ChangeKind, type EndpointName, type ErrorReason, type ExchangeMethod, type HeldRequests, type JsonObject, type ModernCommand, type ModernControl, type ServerName, type ServerNotice, type Declared,
  type SessionKey, type WorkerId,
} from '@omnibus/protocol';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import { discovery, inputRequired, modernList } from '../dialect/modern/encode.ts';
import { parameterHeaderProblem } from '../dialect/modern/parameter-headers.ts';
import type { SessionHost } from '../host.ts';
import { LinkedResources } from '../call/routes/linked-resources.ts';
import { customRoute } from '../call/routes/custom-route.ts';
import { missingCapability } from '../call/routes/needed-capability.ts';
import { resourceRoute } from '../call/routes/resource-route.ts';
import { TaskIds, type TaskAddress } from '../public-ids/task-ids.ts';
import { StatelessCall } from './call.ts';
import { digestOf, RequestStates, type SealedState } from './request-state.ts';
import { holderOf, Shelf } from './shelf.ts';
import { Shares } from './shares.ts';
import { LegacyTasks } from './legacy-tasks.ts';
import { Listener, maxResourceSubscriptions } from './listener.ts';
import { answer, answerResult, draining, refuse, type PendingReply } from './pending-reply.ts';

const needsTasks = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } };
/** Requests whose client has gone before they were here: their number is bounded by what overtakes what on the bus, in one moment. */
const maxGone = 1_000;
/** Clients whose results are remembered for what they link to; those that had none for longest are forgotten. */
const maxLinkedResources = 1_000;
/** A request was told of nothing before: it stands alone. */
const nothing: ReadonlySet<string> = new Set();
/** How often a server may want URLs visited before one call. */
const maxUrlRounds = 8;

export class StatelessRequests {
  readonly #host: SessionHost;
  readonly #worker: WorkerId;
  readonly #humanMs: () => number;
  readonly #tasks: LegacyTasks;
  readonly #calls = new Map<string, StatelessCall>();
  /** Calls that continue, by the request that continues them. */
  readonly #joined = new Map<SessionKey, StatelessCall>();
  readonly #running: Shares;
  readonly #listening: Shares;
  readonly #shelf: Shelf;
  readonly #states: RequestStates;
  readonly #listeners = new Map<SessionKey, Listener>();
  readonly #linkedResources = new Map<string, LinkedResources>();
  readonly #gone = new Set<SessionKey>();
  #subscriptions: Subscription[] = [];
  #isStopping = false;
  #onIdle: (() => void) | undefined;

  /** @param humanMs milliseconds a client has to come back with an answer. */
  constructor(host: SessionHost, worker: WorkerId, humanMs: () => number) {
    this.#host = host;
    this.#worker = worker;
    this.#humanMs = humanMs;
    const { limits } = host;
    const limit = <Name extends keyof typeof limits>(name: Name): { readonly name: Name; readonly value: number } => ({ name, value: limits[name] });
    this.#running = new Shares({ share: limit('maxInFlightPerSession'), total: limit('maxInFlightWithoutSession') });
    this.#listening = new Shares({ share: limit('maxListenersPerClient'), total: limit('maxListeners') });
    this.#shelf = new Shelf(limits);
    this.#states = new RequestStates(host.sealer, humanMs);
    this.#tasks = new LegacyTasks(host, worker, this.#shelf);
    host.metrics.beforeScrape(() => {
      host.metrics.requestsWithoutSession.set(this.#running.size);
      host.metrics.keptCalls.set(this.#shelf.size);
      host.metrics.keptBytes.set(this.#shelf.bytes);
      host.metrics.listeners.set(this.#listening.size);
    });
  }

  async start(): Promise<void> {
    const { bus } = this.#host;
    const sayWhatIsHeld = ({ keys }: HeldRequests, reply: (held: HeldRequests) => void): void => reply({ keys: keys.filter((key) => this.#holds(key)) });
    this.#subscriptions = [
      await bus.subscribe(subjects.modern(undefined), (command, reply) => this.#receive({ command, reply }), { queue: 'session' }),
      await bus.subscribe(subjects.modern(this.#worker), (command, reply) => this.#receive({ command, reply })),
      await bus.subscribe(subjects.modernHolds(this.#worker), sayWhatIsHeld),
      await bus.subscribe(subjects.modernHolds(undefined), sayWhatIsHeld),
      await bus.subscribe(subjects.modernControl, (control) => {
        if (control.kind !== 'closed') this.#host.metrics.dropped('bus_unknown'); // Of a newer edge.
        else if (control.worker === undefined || control.worker === this.#worker) this.#closed(control);
      }),
    ];
  }

  /** Ends subscriptions in order and waits for running calls, up to the limit. */
  async stop(limitMs: number): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#subscriptions.slice(0, 2).map((subscription) => subscription.drain()));
    for (const listener of [...this.#listeners.values()]) this.#endListener(listener, true);
    if (this.#running.size > 0) {
      await new Promise<void>((resolve) => {
        const limit = this.#host.wheel.schedule(limitMs, resolve);
        this.#onIdle = () => {
          limit.cancel();
          resolve();
        };
      });
    }
    for (const call of this.#calls.values()) call.abandon('the gateway stops');
    this.#tasks.stop('the gateway stops');
    this.#subscriptions.at(-1)?.close();
  }

  /** Calls between two requests of their clients. */
  get parked(): number {
    return [...this.#calls.values()].filter(({ isParked }) => isParked).length;
  }

  /** Calls and those who wait for them; what nobody can come back to is not among them. */
  get remembered(): number {
    return this.#calls.size + this.#joined.size;
  }

  /** Endpoints with subscriptions. */
  get listenedTo(): readonly EndpointName[] {
    return [...this.#listeners.values()].map(({ waiter }) => waiter.command.caller.endpoint);
  }

  listsChanged(endpoint: EndpointName, changesFor: (declared: Declared) => readonly ChangeKind[]): void {
    for (const listener of this.#listeners.values()) if (listener.waiter.command.caller.endpoint === endpoint) listener.listsChanged(changesFor(listener.declared));
  }

  adaptersChanged(server: ServerName): void {
    for (const listener of this.#listeners.values()) listener.adaptersChanged(server);
  }

  hear(notice: ServerNotice): void {
    if (notice.kind !== 'resource-updated') return;
    for (const key of notice.sessions) {
      const listener = this.#listeners.get(key);
      const view = listener === undefined ? undefined : this.#host.view(listener.waiter.command.caller);
      if (view !== undefined) listener?.resourceUpdated({ ...notice.more, uri: view.resources.publicUri(notice.server, notice.uri) });
    }
  }

  #refuse(waiter: PendingReply, reason: ErrorReason, message?: string, data?: Readonly<Record<string, unknown>>): void {
    refuse(waiter, fault(reason, message, data));
  }

  #holds(key: SessionKey): boolean {
    return this.#listeners.has(key) || this.#callOf(key)?.waits(key) === true || this.#tasks.waits(key);
  }

  /** A call has the key of the request it began with. */
  #callOf(key: SessionKey): StatelessCall | undefined {
    return this.#joined.get(key) ?? this.#calls.get(key);
  }

  #closed({ key, reason, worker }: ModernControl): void {
    const listener = this.#listeners.get(key);
    const call = this.#callOf(key);
    this.#joined.delete(key);
    if (listener !== undefined) this.#endListener(listener, false);
    else if (call?.closed(key, reason) !== true && !this.#tasks.closed(key, reason) && worker === undefined) {
      // It may be on its way still: a large request is overtaken by what is said after it.
      this.#gone.add(key);
      if (this.#gone.size > maxGone) this.#gone.delete(this.#gone.values().next().value as SessionKey);
    }
  }

  #endListener(listener: Listener, isGraceful: boolean): void {
    const { key, caller } = listener.waiter.command;
    if (!this.#listeners.delete(key)) return;
    this.#listening.leave(holderOf(caller));
    listener.end(isGraceful);
  }

  #receive(waiter: PendingReply): void {
    if ((waiter.command.kind as string) !== 'request') {
      this.#refuse(waiter, 'method.unknown'); // Of a newer edge.
      return;
    }
    if (this.#gone.delete(waiter.command.key)) return; // Nobody waits for it, and nothing was done.
    const { request, caller, context } = waiter.command;
    const unproven = this.#host.callerProblem(caller);
    if (unproven !== undefined) {
      refuse(waiter, unproven);
      return;
    }
    const view = this.#host.viewAlone(caller, context.capabilities);
    // What continues a call that is open here is let in to the last.
    if (this.#isStopping && typeof request.params?.['requestState'] !== 'string') {
      refuse(waiter, draining);
      return;
    }
    if (view === undefined) {
      this.#refuse(waiter, 'http.path_unknown');
      return;
    }
    this.#host.used(caller.endpoint);
    const { method, params = {} } = request;
    const lacking = missingCapability(request, view, nothing);
    if (lacking !== undefined) {
      this.#refuse(waiter, 'method.removed', lacking);
      return;
    }
    const kind = listKindOf(method);
    if (kind !== undefined) {
      if (this.#receiveLater(waiter)) return;
      const { cursor } = params;
      const json = cursor === undefined || cursor === null || typeof cursor === 'string' ? view.modernList(kind, cursor ?? undefined) : undefined;
      if (json === undefined) this.#refuse(waiter, 'cursor.invalid');
      else answer(waiter, `"result":${modernList(json, view, kind, typeof cursor !== 'string')}`);
      return;
    }
    switch (method) {
      case 'server/discover':
        answerResult(waiter, discovery(view));
        return;
      case 'subscriptions/listen':
        this.#listen(waiter, view, params['notifications']);
        return;
      case 'tools/call':
        if (typeof params['name'] === 'string' && view.toolRoute(params['name']) === undefined && this.#receiveLater(waiter)) return;
        this.#call(waiter, view, method, params);
        return;
      case 'prompts/get':
      case 'resources/read':
      case 'completion/complete':
      case 'skills/list':
      case 'skills/get':
      case 'resources/directory/read':
        this.#call(waiter, view, method, params);
        return;
      case 'tasks/get':
      case 'tasks/update':
      case 'tasks/cancel':
        if (declaresExtension(waiter.command.context.capabilities, tasksExtension)) this.#serveTask(waiter, view, method, params);
        else this.#refuse(waiter, 'capability.missing', `${method} needs the extension ${tasksExtension}`, needsTasks);
        return;
      default:
        if (isCustomMethod(method)) this.#call(waiter, view, method, params);
        else this.#refuse(waiter, 'method.removed', `${method}: nothing behind this endpoint serves it`);
    }
  }

  /** Serves a request when it is known what its client is offered. @returns false when that is known. */
  #receiveLater(waiter: PendingReply): boolean {
    const { key, caller: { endpoint, principal }, context: { capabilities: declared } } = waiter.command;
    const capabilities = offeredCapabilities(declared, carriedExtensions);
    const settling = this.#host.offers.settling({ endpoint, declared: declaredBy(capabilities, false), caller: { principal, session: key, standsAlone: true, capabilities } });
    if (settling === undefined) return false;
    void settling.then(() => this.#receive(waiter));
    return true;
  }

  #serveTask(waiter: PendingReply, view: View, method: 'tasks/get' | 'tasks/update' | 'tasks/cancel', params: JsonObject): void {
    const { caller } = waiter.command;
    const opened = this.#taskOf(waiter.command, params);
    if (opened === undefined || !view.definition.servers.includes(opened.server)) this.#refuse(waiter, 'task.unknown');
    else if (isModernRevision(view.record(opened.server)?.revision)) this.#start(waiter, view, method, 0);
    else {
      const full = this.#running.take(holderOf(caller));
      if (full === undefined) this.#tasks.serve(waiter, method, opened, () => this.#left(caller));
      else this.#refuse(waiter, 'request.limit', full);
    }
  }

  #taskOf({ caller: { principal }, key }: ModernCommand, { taskId }: JsonObject): TaskAddress | undefined {
    return typeof taskId === 'string' ? new TaskIds(this.#host.sealer, principal, { owner: key, place: undefined }).open(taskId) : undefined;
  }

  /** What ran does not run any more. */
  #left(caller: Caller): void {
    this.#running.leave(holderOf(caller));
    if (this.#running.size === 0) this.#onIdle?.();
  }

  // --- subscriptions ---------------------------------------------------------------------------------------------------------

  #listen(waiter: PendingReply, view: View, asked: unknown): void {
    if (!isObject(asked)) {
      this.#refuse(waiter, 'params.invalid', 'params.notifications must be an object');
      return;
    }
    const { resourceSubscriptions } = asked;
    if (resourceSubscriptions !== undefined && (!Array.isArray(resourceSubscriptions) || resourceSubscriptions.length > maxResourceSubscriptions)) {
      this.#refuse(waiter, 'params.invalid', `params.notifications.resourceSubscriptions must be a list of at most ${maxResourceSubscriptions} URIs`);
      return;
    }
    if (asked['taskIds'] !== undefined && !declaresExtension(waiter.command.context.capabilities, tasksExtension)) {
      this.#refuse(waiter, 'capability.missing', `taskIds need the extension ${tasksExtension}`, needsTasks);
      return;
    }
    const limitMs = readOwnLimit(waiter.command.request.params ?? {});
    if (typeof limitMs === 'object') {
      this.#refuse(waiter, 'params.invalid', limitMs.problem);
      return;
    }
    const full = this.#listening.take(holderOf(waiter.command.caller));
    if (full !== undefined) {
      this.#refuse(waiter, 'listen.limit', full);
      return;
    }
    this.#listeners.set(waiter.command.key, new Listener(this.#host, waiter, asked, view, this.#linkedResourcesOf(waiter.command.caller)));
  }

  // --- calls -----------------------------------------------------------------------------------------------------------------

  #call(waiter: PendingReply, view: View, method: ExchangeMethod, params: JsonObject): void {
    const { parameterHeaders } = waiter.command;
    if (method === 'tools/call' && parameterHeaders !== undefined && typeof params['name'] === 'string') {
      const problem = parameterHeaderProblem(view.tool(params['name'])?.['inputSchema'], params['arguments'], parameterHeaders);
      if (problem !== undefined) {
        this.#refuse(waiter, 'header.mismatch', problem);
        return;
      }
    }
    const { requestState } = params;
    if (typeof requestState === 'string') {
      const sealed = this.#states.open(requestState);
      if (sealed !== undefined) {
        this.#comeBack(waiter, view, method, sealed);
        return;
      }
      // A known caller was never given the state of a server as it is.
      if (waiter.command.caller.principal !== anonymous || !this.#isModernServer(method, params, view, waiter.command)) {
        this.#refuse(waiter, 'state.invalid');
        return;
      }
    }
    this.#start(waiter, view, method, 0);
  }

  /** A server of this revision keeps its own state: it comes and goes through us, bound to its caller where that one is known. */
  #isModernServer(method: ExchangeMethod, params: JsonObject, view: View, command: ModernCommand): boolean {
    const server = this.#serverOf(method, params, view, command);
    return server !== undefined && isModernRevision(view.record(server)?.revision);
  }

  #serverOf(method: ExchangeMethod, params: JsonObject, view: View, command: ModernCommand): ServerName | undefined {
    const { uri, name } = params;
    if (method === 'tools/call') return typeof name === 'string' ? view.toolRoute(name)?.server : undefined;
    if (method.startsWith('tasks/')) return this.#taskOf(command, params)?.server;
    if (method === 'prompts/get') return typeof name === 'string' ? view.promptRoute(name)?.server : undefined;
    if (isCustomMethod(method)) {
      const route = customRoute(view, method, params, 'method.removed');
      return 'server' in route ? route.server : undefined;
    }
    const route = typeof uri === 'string' ? resourceRoute(view, this.#linkedResourcesOf(command.caller), uri) : undefined;
    return route === undefined || 'rivals' in route ? undefined : route.server;
  }

  #start(waiter: PendingReply, view: View, method: ExchangeMethod, urlRound: number): void {
    const { request: { params = {} }, caller } = waiter.command;
    const { principal } = caller;
    const holder = holderOf(caller);
    const full = this.#running.take(holder);
    if (full !== undefined) {
      this.#refuse(waiter, 'request.limit', full);
      return;
    }
    let isRunning = true;
    const id = waiter.command.key;
    const isModern = this.#isModernServer(method, params, view, waiter.command);
    const { inputResponses: _responses, requestState: _state, ...plain } = params;
    const call = new StatelessCall({
      host: this.#host, view, linkedResources: this.#linkedResourcesOf(caller), first: waiter, method,
      params: keepToken(params, withoutHopMeta(isModern ? params : plain)),
      humanMs: this.#humanMs(),
      seal: (round) => this.#states.seal({ kind: 'parked', worker: this.#worker, call: id, round }, principal, digestOf(method, params)),
      bindState: (text) => (principal === anonymous ? text : this.#states.seal({ kind: 'server', text }, principal, digestOf(method, params))),
      urlsRequired: (error) => this.#urlsRequired(error, waiter.command, method, urlRound),
      places: {
        keep: (kept, bytes) => {
          const refusal = this.#shelf.keep(kept, bytes);
          if (refusal === undefined && isRunning) {
            isRunning = false;
            this.#left(caller);
          }
          return refusal;
        },
        run: (kept) => {
          const reached = this.#running.take(holder);
          if (reached !== undefined) return fault('request.limit', reached);
          isRunning = true;
          this.#shelf.remove(kept);
          return undefined;
        },
      },
      ended: (ended) => {
        if (!this.#calls.delete(id)) return;
        this.#shelf.remove(ended);
        if (isRunning) this.#left(caller);
        isRunning = false;
      },
    });
    this.#calls.set(id, call);
    call.start();
  }

  #linkedResourcesOf(caller: Caller): LinkedResources {
    const holder = holderOf(caller);
    const remembered = this.#linkedResources.get(holder) ?? new LinkedResources();
    this.#linkedResources.delete(holder);
    this.#linkedResources.set(holder, remembered);
    if (this.#linkedResources.size > maxLinkedResources) this.#linkedResources.delete(this.#linkedResources.keys().next().value as string);
    return remembered;
  }

  // --- calls that wait for answers ---------------------------------------------------------------------------------------------

  #comeBack(waiter: PendingReply, view: View, method: ExchangeMethod, { state, principal, digest, expiresAt }: SealedState): void {
    const { caller, request: { params = {} } } = waiter.command;
    if (principal !== caller.principal || digest !== digestOf(method, params)) {
      this.#refuse(waiter, 'state.invalid');
      return;
    }
    if (state.kind === 'again') {
      if (expiresAt < Date.now()) this.#refuse(waiter, 'state.invalid');
      else this.#callAgain(waiter, view, method, state.round);
    } else if (state.kind === 'server') {
      const { command } = waiter;
      this.#start({ ...waiter, command: { ...command, request: { ...command.request, params: { ...params, requestState: state.text } } } }, view, method, 0);
    } else if (state.worker === this.#worker) {
      this.#resume(waiter, state.call, state.round);
    } else {
      waiter.reply({ kind: 'elsewhere', worker: state.worker });
    }
  }

  #resume(waiter: PendingReply, id: string, round: number): void {
    const call = this.#calls.get(id);
    if (call === undefined) this.#refuse(waiter, 'state.lost');
    else if (call.isOverdue) this.#refuse(waiter, 'state.invalid');
    else {
      const { command, reply } = waiter;
      const { key } = command;
      this.#joined.set(key, call);
      call.resume({
        command,
        reply: (frame) => {
          if (frame.kind !== 'message' || frame.last) this.#joined.delete(key);
          reply(frame);
        },
      }, round);
    }
  }

  /** The user has been to the URLs a server wanted visited: nothing is open at the server, so it is called anew. */
  #callAgain(waiter: PendingReply, view: View, method: ExchangeMethod, round: number): void {
    const { inputResponses } = waiter.command.request.params ?? {};
    const responses = isObject(inputResponses) ? Object.values(inputResponses) : [];
    if (responses.length > 0 && responses.every((response) => isObject(response) && response['action'] === 'accept')) {
      this.#start(waiter, view, method, round);
    } else if (method === 'tools/call') {
      answerResult(waiter, { resultType: 'complete', content: [{ type: 'text', text: 'the user did not open the address the server needs visited first' }], isError: true });
    } else {
      this.#refuse(waiter, 'params.invalid', 'the address the server needs visited first was not opened');
    }
  }

  /** An older server refuses until URLs are visited; a client of this revision is asked to, and comes back (2025-11-25 client/elicitation). */
  #urlsRequired(error: JsonObject, { context, caller, request: { params = {} } }: ModernCommand, method: string, round: number): JsonObject | undefined {
    const data = error['data'];
    if (error['code'] !== urlElicitationRequired || !isObject(data) || !Array.isArray(data['elicitations'])) return undefined;
    const { elicitation } = context.capabilities;
    if (!isObject(elicitation) || !isObject(elicitation['url']) || round >= maxUrlRounds) return undefined;
    const requests = data['elicitations'].filter(isObject).map(({ message, url }, index) => [`url_${index + 1}`, { method: 'elicitation/create', params: { mode: 'url', message, url } }]);
    return inputRequired(Object.fromEntries(requests), this.#states.seal({ kind: 'again', round: round + 1 }, caller.principal, digestOf(method, params)));
  }
}

/** The progress token stays with the parameters: forwarding looks there for whether progress is wanted. */
function keepToken(given: JsonObject, params: JsonObject): JsonObject {
  const meta = given['_meta'];
  if (!isObject(meta) || !('progressToken' in meta)) return params;
  return { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), progressToken: meta['progressToken'] } };
}
