/**
 * Serves requests of clients without sessions: each stands alone, except one that continues a call which waits for its
 * answers. Such a call is held by one worker; the others say which.
 */
import { createHash } from 'node:crypto';
import { subjects, type Subscription } from '@omnibus/bus';
import type { View } from '@omnibus/catalog';
import {
  declaresExtension, fault, isModernRevision, isObject, listKindOf, tasksExtension, urlElicitationRequired, withoutHopMeta,
  type Caller, type ChangeKind, type EndpointName, type ErrorReason, type ExchangeMethod, type JsonObject, type ModernCommand, type Principal, type ServerName, type ServerNotice,
  type SessionKey, type WorkerId,
} from '@omnibus/protocol';
import { discovery, inputRequired, modernList } from '../dialect/modern/encode.ts';
import { parameterHeaderProblem } from '../dialect/modern/parameter-headers.ts';
import type { SessionHost } from '../host.ts';
import { HandedOut } from '../routing/handed-out.ts';
import { TaskIds } from '../task-ids.ts';
import { ModernCall } from './call.ts';
import { TaskFacade } from './task-facade.ts';
import { Listener, maxResourceSubscriptions } from './listener.ts';
import { answer, answerResult, draining, refuse, type Waiter } from './waiter.ts';

/** What a sealed `requestState` says. */
type CallState =
  /** The call is open at a worker. */
  | { readonly kind: 'parked'; readonly worker: WorkerId; readonly call: string; readonly round: number }
  /** The server wants URLs visited; then it is called again. */
  | { readonly kind: 'again'; readonly round: number };

interface SealedState {
  readonly state: CallState;
  readonly principal: Principal;
  readonly digest: string;
  /** Milliseconds since 1970; of a call that waits somewhere, its worker knows better, whose clock does not jump. */
  readonly expiresAt: number;
}

const needsTasks = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } };
const maxListeners = 1_024;
/** How often a server may want URLs visited before one call. */
const maxUrlRounds = 8;

export class ModernDesk {
  readonly #host: SessionHost;
  readonly #worker: WorkerId;
  readonly #humanMs: () => number;
  readonly #tasks: TaskFacade;
  readonly #calls = new Map<string, ModernCall>();
  readonly #running = new Map<Principal, number>();
  readonly #listeners = new Map<SessionKey, Listener>();
  readonly #handedOut = new Map<Principal, HandedOut>();
  #subscriptions: Subscription[] = [];
  #isStopping = false;
  #onIdle: (() => void) | undefined;

  /** @param humanMs milliseconds a client has to come back with an answer. */
  constructor(host: SessionHost, worker: WorkerId, humanMs: () => number) {
    this.#host = host;
    this.#worker = worker;
    this.#humanMs = humanMs;
    this.#tasks = new TaskFacade(host, worker);
  }

  async start(): Promise<void> {
    const { bus } = this.#host;
    this.#subscriptions = [
      await bus.subscribe(subjects.modern(undefined), (command, reply) => this.#receive({ command, reply }), { queue: 'session' }),
      await bus.subscribe(subjects.modern(this.#worker), (command, reply) => this.#receive({ command, reply })),
      await bus.subscribe(subjects.modernHolds, ({ keys }, reply) => reply({ keys: keys.filter((key) => this.#holds(key)) })),
      await bus.subscribe(subjects.modernControl, ({ key, reason }) => this.#closed(key, reason)),
    ];
  }

  /** Ends subscriptions in order and waits for running calls, up to the limit. */
  async stop(limitMs: number): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#subscriptions.slice(0, 2).map((subscription) => subscription.drain()));
    for (const listener of this.#listeners.values()) listener.end(true);
    this.#listeners.clear();
    if ([...this.#calls.values()].some(({ isRunning }) => isRunning)) {
      await new Promise<void>((resolve) => {
        const limit = this.#host.wheel.schedule(limitMs, resolve);
        this.#onIdle = () => {
          limit.cancel();
          resolve();
        };
      });
    }
    for (const call of this.#calls.values()) call.abandon('the gateway stops');
    this.#subscriptions.at(-1)?.close();
  }

  /** Calls between two requests of their clients. */
  get parked(): number {
    return [...this.#calls.values()].filter(({ isParked }) => isParked).length;
  }

  listsChanged(endpoint: EndpointName, kinds: readonly ChangeKind[]): void {
    for (const listener of this.#listeners.values()) if (listener.waiter.command.caller.endpoint === endpoint) listener.listsChanged(kinds);
  }

  adaptersChanged(server: ServerName): void {
    for (const listener of this.#listeners.values()) listener.adaptersChanged(server);
  }

  hear(notice: ServerNotice): void {
    if (notice.kind !== 'resource-updated') return;
    for (const key of notice.sessions) {
      const listener = this.#listeners.get(key);
      const view = listener === undefined ? undefined : this.#host.view(listener.waiter.command.caller);
      if (view !== undefined) listener?.resourceUpdated(view.resources.publicUri(notice.server, notice.uri));
    }
  }

  #refuse(waiter: Waiter, reason: ErrorReason, message?: string, data?: Readonly<Record<string, unknown>>): void {
    refuse(waiter, fault(reason, message, data));
  }

  #holds(key: SessionKey): boolean {
    return this.#listeners.has(key) || [...this.#calls.values()].some((call) => call.waits(key)) || this.#tasks.waits(key);
  }

  #closed(key: SessionKey, reason: string): void {
    const listener = this.#listeners.get(key);
    if (listener !== undefined) {
      this.#listeners.delete(key);
      listener.end(false);
      return;
    }
    for (const call of this.#calls.values()) if (call.closed(key, reason)) return;
  }

  #receive(waiter: Waiter): void {
    const { request, caller } = waiter.command;
    const view = this.#host.view(caller);
    // What continues a call that is open here is let in to the last.
    if (this.#isStopping && typeof request.params?.['requestState'] !== 'string') {
      refuse(waiter, draining);
      return;
    }
    if (view === undefined) {
      this.#refuse(waiter, 'http.path_unknown');
      return;
    }
    const { method, params = {} } = request;
    const kind = listKindOf(method);
    if (kind !== undefined) {
      const { cursor } = params;
      const json = cursor === undefined || cursor === null || typeof cursor === 'string' ? view.modernList(kind, cursor ?? undefined) : undefined;
      if (json === undefined) this.#refuse(waiter, 'cursor.invalid');
      else answer(waiter, `"result":${modernList(json, view)}`);
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
        this.#refuse(waiter, 'method.removed', `${method}: nothing behind this endpoint serves it`);
    }
  }

  #serveTask(waiter: Waiter, view: View, method: 'tasks/get' | 'tasks/update' | 'tasks/cancel', params: JsonObject): void {
    const opened = new TaskIds(this.#host.sealer, waiter.command.caller.principal).open(String(params['taskId']));
    if (opened === undefined || !view.definition.servers.includes(opened.server)) this.#refuse(waiter, 'task.unknown');
    else if (isModernRevision(view.record(opened.server)?.revision)) this.#start(waiter, view, method, 0);
    else this.#tasks.serve(waiter, method, opened.server, opened.id);
  }

  // --- subscriptions ---------------------------------------------------------------------------------------------------------

  #listen(waiter: Waiter, view: View, asked: unknown): void {
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
    if (this.#listeners.size >= maxListeners) {
      this.#refuse(waiter, 'listen.limit');
      return;
    }
    this.#listeners.set(waiter.command.key, new Listener(this.#host, waiter, asked, view, this.#handedOutTo(waiter.command.caller)));
  }

  // --- calls -----------------------------------------------------------------------------------------------------------------

  #call(waiter: Waiter, view: View, method: ExchangeMethod, params: JsonObject): void {
    const { parameterHeaders, caller } = waiter.command;
    if (method === 'tools/call' && parameterHeaders !== undefined && typeof params['name'] === 'string') {
      const problem = parameterHeaderProblem(view.tool(params['name'])?.['inputSchema'], params['arguments'], parameterHeaders);
      if (problem !== undefined) {
        this.#refuse(waiter, 'header.mismatch', problem);
        return;
      }
    }
    const { requestState } = params;
    if (typeof requestState === 'string') {
      const sealed = this.#open(requestState);
      if (sealed !== undefined) {
        this.#comeBack(waiter, view, method, sealed);
        return;
      }
      if (!this.#isModernServer(method, params, view, caller)) {
        this.#refuse(waiter, 'state.invalid');
        return;
      }
    }
    this.#start(waiter, view, method, 0);
  }

  /** A server of this revision keeps its own state: it comes and goes through us untouched. */
  #isModernServer(method: ExchangeMethod, params: JsonObject, view: View, caller: Caller): boolean {
    const server = this.#serverOf(method, params, view, caller);
    return server !== undefined && isModernRevision(view.record(server)?.revision);
  }

  #serverOf(method: ExchangeMethod, params: JsonObject, view: View, caller: Caller): ServerName | undefined {
    const uri = params['uri'];
    if (method === 'tools/call') return view.toolRoute(String(params['name']))?.server;
    if (method.startsWith('tasks/')) return new TaskIds(this.#host.sealer, caller.principal).open(String(params['taskId']))?.server;
    if (method === 'prompts/get') return view.promptRoute(String(params['name']))?.server;
    return typeof uri === 'string' ? (view.resourceRoute(uri)?.server ?? this.#handedOutTo(caller).find(uri)) : undefined;
  }

  #start(waiter: Waiter, view: View, method: ExchangeMethod, urlRound: number): void {
    const { request: { params = {} }, caller } = waiter.command;
    const { principal } = caller;
    const running = this.#running.get(principal) ?? 0;
    if (running >= this.#host.limits.maxInFlightPerSession) {
      this.#refuse(waiter, 'session.busy');
      return;
    }
    this.#running.set(principal, running + 1);
    const id = waiter.command.key;
    const digest = digestOf(method, params);
    const isModern = this.#isModernServer(method, params, view, caller);
    const { inputResponses: _responses, requestState: _state, ...plain } = params;
    const call = new ModernCall({
      host: this.#host, view, handedOut: this.#handedOutTo(caller), first: waiter, method,
      params: keepToken(params, withoutHopMeta(isModern ? params : plain)),
      humanMs: this.#humanMs(),
      seal: (round) => this.#seal({ kind: 'parked', worker: this.#worker, call: id, round }, principal, digest),
      urlsRequired: (error) => this.#urlsRequired(error, waiter.command, digest, urlRound),
      ended: () => {
        this.#calls.delete(id);
        const left = (this.#running.get(principal) ?? 1) - 1;
        if (left === 0) this.#running.delete(principal);
        else this.#running.set(principal, left);
        if (![...this.#calls.values()].some(({ isRunning }) => isRunning)) this.#onIdle?.();
      },
    });
    this.#calls.set(id, call);
    call.start();
  }

  #handedOutTo({ principal }: Caller): HandedOut {
    const known = this.#handedOut.get(principal);
    if (known !== undefined) return known;
    const made = new HandedOut();
    this.#handedOut.set(principal, made);
    return made;
  }

  // --- calls that wait for answers ---------------------------------------------------------------------------------------------

  #seal(state: CallState, principal: Principal, digest: string): string {
    const sealed: SealedState = { state, principal, digest, expiresAt: Date.now() + this.#humanMs() };
    return this.#host.sealer.seal('request-state', JSON.stringify(sealed));
  }

  #open(requestState: string): SealedState | undefined {
    const text = this.#host.sealer.open('request-state', requestState);
    return text === undefined ? undefined : (JSON.parse(text) as SealedState);
  }

  #comeBack(waiter: Waiter, view: View, method: ExchangeMethod, { state, principal, digest, expiresAt }: SealedState): void {
    const { caller, request: { params = {} } } = waiter.command;
    if (principal !== caller.principal || digest !== digestOf(method, params)) {
      this.#refuse(waiter, 'state.invalid');
      return;
    }
    if (state.kind === 'again') {
      if (expiresAt < Date.now()) this.#refuse(waiter, 'state.invalid');
      else this.#callAgain(waiter, view, method, state.round);
    } else if (state.worker === this.#worker) {
      this.#resume(waiter, state.call, state.round);
    } else {
      waiter.reply({ kind: 'elsewhere', worker: state.worker });
    }
  }

  #resume(waiter: Waiter, id: string, round: number): void {
    const call = this.#calls.get(id);
    if (call === undefined) this.#refuse(waiter, 'state.lost');
    else if (call.isOverdue) this.#refuse(waiter, 'state.invalid');
    else call.resume(waiter, round);
  }

  /** The user has been to the URLs a server wanted visited: nothing is open at the server, so it is called anew. */
  #callAgain(waiter: Waiter, view: View, method: ExchangeMethod, round: number): void {
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
  #urlsRequired(error: JsonObject, { context, caller }: ModernCommand, digest: string, round: number): JsonObject | undefined {
    const data = error['data'];
    if (error['code'] !== urlElicitationRequired || !isObject(data) || !Array.isArray(data['elicitations'])) return undefined;
    const { elicitation } = context.capabilities;
    if (!isObject(elicitation) || !isObject(elicitation['url']) || round >= maxUrlRounds) return undefined;
    const requests = data['elicitations'].filter(isObject).map(({ message, url }, index) => [`url_${index + 1}`, { method: 'elicitation/create', params: { mode: 'url', message, url } }]);
    return inputRequired(Object.fromEntries(requests), this.#seal({ kind: 'again', round: round + 1 }, caller.principal, digest));
  }
}

/** The progress token stays with the parameters: forwarding looks there for whether progress is wanted. */
function keepToken(given: JsonObject, params: JsonObject): JsonObject {
  const meta = given['_meta'];
  if (!isObject(meta) || !('progressToken' in meta)) return params;
  return { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), progressToken: meta['progressToken'] } };
}

/** What makes a request the same when it comes back: everything but its id, metadata and what it brings. */
function digestOf(method: string, { _meta, inputResponses: _responses, requestState: _state, ...params }: JsonObject): string {
  return createHash('sha256').update(canonical([method, params])).digest('base64url');
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
}
