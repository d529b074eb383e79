/**
 * The calls of clients without sessions that are open at this worker: begun by one request, and continued by others that bring the state
 * they were answered with. A call that waits is held by one worker; the others say which.
 */
import type { Blocks } from '@omnibus/bus';
import type { View } from '@omnibus/catalog';
import {
  anonymous, fault, isCustomMethod, isObject, withoutHopMeta,
  type ExchangeMethod, type GatewayFault, type JsonObject, type ModernCommand, type ServerName, type SessionKey, type WorkerId,
} from '@omnibus/protocol';
import { customRoute } from '../call/routes/custom-route.ts';
import { resourceRoute } from '../call/routes/resource-route.ts';
import { inputRequired } from '../dialect/modern/encode.ts';
import { parameterHeaderProblem } from '../dialect/modern/parameter-headers.ts';
import { areVisited, urlVisits } from '../dialect/modern/url-visits.ts';
import { serverFeatures } from '../dialect/servers.ts';
import { TaskIds, type TaskAddress } from '../public-ids/task-ids.ts';
import { StatelessCall } from './call.ts';
import type { LinkedResourcesOfClients } from './linked-resources-of-clients.ts';
import { answerResult, refuse, requestedIn, requesterOf, type PendingReply } from './pending-reply.ts';
import { Place } from './place.ts';
import { digestOf, RequestStates, type SealedState } from './request-state.ts';
import type { Running } from './running.ts';
import type { Shelf } from './shelf.ts';
import type { StatelessHost } from './stateless-host.ts';

export interface StatelessCallsOptions {
  readonly host: StatelessHost;
  readonly worker: WorkerId;
  /** Milliseconds a client has to come back with an answer. */
  readonly humanMs: () => number;
  readonly running: Running;
  /** Where calls have their place that wait for their clients. */
  readonly shelf: Shelf;
  readonly linkedResources: LinkedResourcesOfClients;
}

export class StatelessCalls {
  readonly #options: StatelessCallsOptions;
  readonly #states: RequestStates;
  readonly #open = new Map<string, StatelessCall>();
  /** Calls that continue, by the request that continues them. */
  readonly #joined = new Map<SessionKey, StatelessCall>();

  constructor(options: StatelessCallsOptions) {
    this.#options = options;
    this.#states = new RequestStates(options.host.sealer, options.humanMs);
  }

  /** Calls between two requests of their clients. */
  get parked(): number {
    return [...this.#open.values()].filter(({ isParked }) => isParked).length;
  }

  /** Calls and those who wait for them; what nobody can come back to is not among them. */
  get size(): number {
    return this.#open.size + this.#joined.size;
  }

  /** Whether a request waits for what a call is answered with. */
  waits(key: SessionKey): boolean {
    return this.#callOf(key)?.waits(key) === true;
  }

  /** A client has gone. @returns false when it waited for none of these calls. */
  closed(key: SessionKey, reason: string): boolean {
    const call = this.#callOf(key);
    this.#joined.delete(key);
    return call?.closed(key, reason) === true;
  }

  /** Somebody or something is blocked from now on. */
  blocked(blocks: Blocks): void {
    for (const call of [...this.#open.values()]) call.blocked(blocks);
  }

  /** The gateway stops: whoever comes back finds nobody. */
  abandonAll(reason: string): void {
    for (const call of this.#open.values()) call.abandon(reason);
  }

  /** Begins a call, or continues the one whose state the request brings. */
  call(waiter: PendingReply, view: View, method: ExchangeMethod, params: JsonObject): void {
    const { parameterHeaders, caller } = waiter.command;
    if (method === 'tools/call' && parameterHeaders !== undefined && typeof params['name'] === 'string') {
      const problem = parameterHeaderProblem(view.tool(params['name'])?.['inputSchema'], params['arguments'], parameterHeaders);
      if (problem !== undefined) {
        this.#refuse(waiter, fault('header.mismatch', problem));
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
      if (caller.principal !== anonymous || !this.#keepsOwnState(method, params, view, waiter.command)) {
        this.#refuse(waiter, fault('state.invalid'));
        return;
      }
    }
    this.start(waiter, view, method);
  }

  /** @param urlRound how often the client was asked to visit addresses before this. */
  start(waiter: PendingReply, view: View, method: ExchangeMethod, urlRound = 0): void {
    const { host, worker, running, shelf, linkedResources, humanMs } = this.#options;
    const { request: { params = {} }, caller, key } = waiter.command;
    const { principal } = caller;
    const full = running.take(caller);
    if (full !== undefined) {
      this.#refuse(waiter, fault('request.limit', full));
      return;
    }
    const keepsOwnState = this.#keepsOwnState(method, params, view, waiter.command);
    const { inputResponses: _responses, requestState: _state, ...plain } = params;
    const place = new Place(caller, running, shelf);
    const call = new StatelessCall({
      host, view, linkedResources: linkedResources.of(caller), first: waiter, method, place,
      params: keepToken(params, withoutHopMeta(keepsOwnState ? params : plain)),
      humanMs: humanMs(),
      seal: (round) => this.#states.seal({ kind: 'parked', worker, call: key, round }, principal, digestOf(method, params)),
      bindState: (text) => (principal === anonymous ? text : this.#states.seal({ kind: 'server', text }, principal, digestOf(method, params))),
      urlsRequired: (error) => this.#urlsRequired(error, waiter.command, method, urlRound),
      ended: (ended) => {
        if (this.#open.delete(key)) place.leave(ended);
      },
    });
    this.#open.set(key, call);
    call.start();
  }

  #refuse(waiter: PendingReply, gatewayFault: GatewayFault): void {
    refuse(waiter, gatewayFault);
    this.#options.host.records?.refused(requesterOf(waiter), requestedIn(waiter), gatewayFault);
  }

  // --- calls that wait for answers ---------------------------------------------------------------------------------------------

  #comeBack(waiter: PendingReply, view: View, method: ExchangeMethod, { state, principal, digest, expiresAt }: SealedState): void {
    const { command } = waiter;
    const { caller, request: { params = {} } } = command;
    if (principal !== caller.principal || digest !== digestOf(method, params) || (state.kind === 'again' && expiresAt < Date.now())) {
      this.#refuse(waiter, fault('state.invalid'));
      return;
    }
    switch (state.kind) {
      case 'again':
        this.#callAgain(waiter, view, method, state.round);
        return;
      case 'server':
        this.start({ ...waiter, command: { ...command, request: { ...command.request, params: { ...params, requestState: state.text } } } }, view, method);
        return;
      case 'parked':
        if (state.worker === this.#options.worker) this.#resume(waiter, state.call, state.round, view);
        else waiter.reply({ kind: 'elsewhere', worker: state.worker });
        return;
      default:
        this.#refuse(waiter, fault('state.invalid')); // Sealed by a newer version, for something that this one does not know.
    }
  }

  #resume({ command, reply }: PendingReply, id: string, round: number, view: View): void {
    const call = this.#open.get(id);
    if (call === undefined || call.isOverdue) {
      reply({ kind: 'refused', fault: fault(call === undefined ? 'state.lost' : 'state.invalid') });
      return;
    }
    const { key } = command;
    this.#joined.set(key, call);
    call.resume({
      command,
      reply: (frame) => {
        if (frame.kind !== 'message' || frame.last) this.#joined.delete(key);
        reply(frame);
      },
    }, round, view);
  }

  /** The user has been to the addresses a server wanted visited: nothing is open at the server, so it is called anew. */
  #callAgain(waiter: PendingReply, view: View, method: ExchangeMethod, round: number): void {
    if (areVisited(waiter.command.request.params?.['inputResponses'])) {
      this.start(waiter, view, method, round);
    } else if (method === 'tools/call') {
      answerResult(waiter, { resultType: 'complete', content: [{ type: 'text', text: 'the user did not open the address the server needs visited first' }], isError: true });
    } else {
      this.#refuse(waiter, fault('params.invalid', 'the address the server needs visited first was not opened'));
    }
  }

  #urlsRequired(error: JsonObject, { context, caller, request: { params = {} } }: ModernCommand, method: string, round: number): JsonObject | undefined {
    const requests = urlVisits(error, context.capabilities, round);
    return requests === undefined ? undefined : inputRequired(requests, this.#states.seal({ kind: 'again', round: round + 1 }, caller.principal, digestOf(method, params)));
  }

  // --- which server ------------------------------------------------------------------------------------------------------------

  /** A task that the request names by an id that its caller was given. */
  taskOf({ caller: { principal }, key }: ModernCommand, { taskId }: JsonObject): TaskAddress | undefined {
    return typeof taskId === 'string' ? new TaskIds(this.#options.host.sealer, principal, { owner: key, place: undefined, tool: undefined }).open(taskId) : undefined;
  }

  /** The server has its own state brought back: that passes through the gateway, bound to its caller where that one is known. */
  #keepsOwnState(method: ExchangeMethod, params: JsonObject, view: View, command: ModernCommand): boolean {
    const server = this.#serverOf(method, params, view, command);
    return server !== undefined && serverFeatures(view, server).hasRounds;
  }

  #serverOf(method: ExchangeMethod, params: JsonObject, view: View, command: ModernCommand): ServerName | undefined {
    const { uri, name } = params;
    if (method === 'tools/call') return typeof name === 'string' ? view.toolRoute(name)?.server : undefined;
    if (method.startsWith('tasks/')) return this.taskOf(command, params)?.server;
    if (method === 'prompts/get') return typeof name === 'string' ? view.promptRoute(name)?.server : undefined;
    if (isCustomMethod(method)) {
      const route = customRoute(view, method, params, 'method.removed');
      return 'server' in route ? route.server : undefined;
    }
    const route = typeof uri === 'string' ? resourceRoute(view, this.#options.linkedResources.of(command.caller), uri) : undefined;
    return route === undefined || 'rivals' in route ? undefined : route.server;
  }

  /** A call has the key of the request it began with. */
  #callOf(key: SessionKey): StatelessCall | undefined {
    return this.#joined.get(key) ?? this.#open.get(key);
  }
}

/** The progress token stays with the parameters: forwarding looks there for whether progress is wanted. */
function keepToken(given: JsonObject, params: JsonObject): JsonObject {
  const meta = given['_meta'];
  if (!isObject(meta) || !('progressToken' in meta)) return params;
  return { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), progressToken: meta['progressToken'] } };
}
