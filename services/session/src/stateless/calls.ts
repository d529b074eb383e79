/**
 * The calls of clients without sessions that are open at this worker: begun by one request, and continued by further requests with the
 * `requestState` of the answer. One worker holds a waiting call; other workers name it to the edge.
 */
import { signInRoute, type View } from '@omnibus/catalog';
import { KeyedRing } from '@omnibus/collections';
import {
  anonymous,
  errorResult,
  fault,
  isCustomMethod,
  keyedRequest,
  textResult,
  withoutModernMeta,
  type ExchangeMethod,
  type GatewayFault,
  type JsonObject,
  type JsonRpcErrorObject,
  type ModernCommand,
  type ServerName,
  type SessionKey,
  type WorkerId,
} from '@omnibus/protocol';
import type { Barrier } from '../call/barrier.ts';
import type { OwnRun } from '../call/own-tools.ts';
import { customRoute } from '../call/routes/custom-route.ts';
import { resourceRoute } from '../call/routes/resource-route.ts';
import { inputRequired } from '../dialect/modern/encode.ts';
import { parameterHeaderProblem } from '../dialect/modern/parameter-headers.ts';
import { areVisited, urlVisits } from '../dialect/modern/url-visits.ts';
import { serverFeatures } from '../dialect/servers.ts';
import { TaskIds, type TaskAddress } from '../public-ids/task-ids.ts';
import { StatelessCall, type Back, type BegunCall, type CallTable } from './call.ts';
import type { SettledCall } from './settled-call.ts';
import type { LinkedResourcesOfClients } from './linked-resources-of-clients.ts';
import { answerResult, refuse, requestedIn, requesterOf, type PendingReply } from './pending-reply.ts';
import type { Places } from './places.ts';
import { EndedCalls } from './ended-calls.ts';
import { digestOf, RequestStates, type ParkedState, type SealedState } from './request-state.ts';
import type { StatelessHost } from './stateless-host.ts';

/** The round of a request that brings no answers: a call that waits for its client asks again. */
const noRound = -1;

export interface StatelessCallsOptions {
  readonly host: StatelessHost;
  readonly worker: WorkerId;
  /** Milliseconds a client has to come back with an answer. */
  readonly humanMs: () => number;
  readonly places: Places;
  readonly linkedResources: LinkedResourcesOfClients;
}

export class StatelessCalls implements CallTable {
  readonly host: StatelessHost;
  readonly places: Places;
  readonly linkedResources: LinkedResourcesOfClients;
  readonly humanMs: () => number;
  readonly #worker: WorkerId;
  readonly #states: RequestStates;
  readonly #open = new KeyedRing<StatelessCall | SettledCall>();
  readonly #ended = new EndedCalls();
  /** Continued calls, by the request that continues them. */
  readonly #joined = new Map<SessionKey, StatelessCall | SettledCall>();
  /** Keys of the calls of requests that may be repeated: each is a digest of all arguments. */
  readonly #keys = new WeakMap<ModernCommand, SessionKey>();

  constructor({ host, worker, humanMs, places, linkedResources }: StatelessCallsOptions) {
    this.host = host;
    this.places = places;
    this.linkedResources = linkedResources;
    this.humanMs = humanMs;
    this.#worker = worker;
    this.#states = new RequestStates(host.sealer, humanMs);
  }

  /** Calls between two requests of their clients. */
  get parked(): number {
    return this.#open.toArray().filter(({ isParked }) => isParked).length;
  }

  /** Number of open calls and of requests that wait for them. */
  get size(): number {
    return this.#open.size + this.#joined.size;
  }

  /** Whether a request waits for the answer of a call. */
  waits(key: SessionKey): boolean {
    return this.#callOf(key)?.waits(key) === true;
  }

  /** Whether a request waits for a call that no server has. */
  hasNotBegun(key: SessionKey): boolean {
    return this.#callOf(key)?.hasNotBegun === true;
  }

  /** A client has disconnected. @returns false when its request waited for none of these calls. */
  closed(key: SessionKey, reason: string, isGivenAway: boolean): boolean {
    const call = this.#callOf(key);
    this.#joined.delete(key);
    return call?.closed(key, reason, isGivenAway) === true;
  }

  /** Applies changed blocks. */
  barred(barrier: Barrier): void {
    for (const call of this.#open.toArray()) call.barred(barrier);
  }

  /** The worker stops. @param isShared other workers continue its calls, except for scripts, which end. */
  stop(isShared: boolean): void {
    for (const call of this.#open.toArray())
      if (isShared) call.leave('its worker stops');
      else call.abandon('the gateway stops');
  }

  /** Begins a call, or continues the one of the request's state. @param own a call of an own tool that itself makes calls. */
  call(waiter: PendingReply, view: View, method: ExchangeMethod, params: JsonObject, own?: OwnRun): void {
    const { parameterHeaders, caller } = waiter.command;
    if (
      method === 'tools/call' &&
      parameterHeaders !== undefined &&
      typeof params['name'] === 'string' &&
      view.toolRoute(params['name'])?.hasParameterHeaders === true
    ) {
      const problem = parameterHeaderProblem(
        view.tool(params['name'])?.['inputSchema'],
        params['arguments'],
        parameterHeaders,
      );
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
    this.start(waiter, view, method, 0, own);
  }

  /** Begins a call. @param urlRound number of earlier requests to visit addresses. */
  start(waiter: PendingReply, view: View, method: ExchangeMethod, urlRound = 0, own?: OwnRun): void {
    const { request, caller } = waiter.command;
    const full = this.places.take(caller);
    if (full !== undefined) {
      this.#refuse(waiter, full);
      return;
    }
    const given = request.params ?? {};
    const isContinued = 'inputResponses' in given || 'requestState' in given;
    const params = withoutModernMeta(isContinued ? this.#withoutOurState(given, method, view, waiter.command) : given);
    const repeated = this.#keys.get(waiter.command);
    const first = repeated === undefined ? waiter : this.#leaving(waiter);
    const call = new StatelessCall(this, { first, view, method, params, urlRound, own, repeated });
    this.#open.add(call);
    if (repeated !== undefined) this.#joined.set(waiter.command.key, call);
    call.start();
  }

  /** Parameters without answers and state of an earlier round, unless the server has rounds of its own. */
  #withoutOurState(params: JsonObject, method: ExchangeMethod, view: View, command: ModernCommand): JsonObject {
    if (this.#keepsOwnState(method, params, view, command)) return params;
    const { inputResponses: _responses, requestState: _state, ...plain } = params;
    return plain;
  }

  seal({ first: { command }, method, repeated, own }: BegunCall, round: number, isAtServer: boolean): string {
    const { key, caller, request } = command;
    // A script is lost with its worker.
    const first = this.host.bus.isShared && own === undefined ? { first: request.id, isAtServer } : {};
    return this.#states.seal(
      { kind: 'parked', worker: this.#worker, call: repeated ?? key, round, ...first },
      caller,
      digestOf(method, request.params ?? {}),
    );
  }

  bindState({ first: { command }, method }: BegunCall, text: string): string {
    const { caller, request } = command;
    return caller.principal === anonymous
      ? text
      : this.#states.seal({ kind: 'server', text }, caller, digestOf(method, request.params ?? {}));
  }

  urlsRequired({ first, method, urlRound }: BegunCall, error: JsonRpcErrorObject): JsonObject | undefined {
    const { context, caller, request } = first.command;
    const requests = urlVisits(error, context.capabilities, urlRound);
    return requests === undefined
      ? undefined
      : inputRequired(
          requests,
          this.#states.seal({ kind: 'again', round: urlRound + 1 }, caller, digestOf(method, request.params ?? {})),
        );
  }

  ended(call: StatelessCall | SettledCall): void {
    if (this.#open.remove(call)) this.places.leave(call);
  }

  settled(left: SettledCall): void {
    this.#open.add(left);
  }

  #refuse(waiter: PendingReply, gatewayFault: GatewayFault): void {
    refuse(waiter, gatewayFault);
    this.host.watchers.refused(requesterOf(waiter), requestedIn(waiter), gatewayFault);
  }

  // --- calls that wait for answers ---------------------------------------------------------------------------------------------

  #comeBack(
    waiter: PendingReply,
    view: View,
    method: ExchangeMethod,
    { state, principal, endpoint, digest, expiresAt }: SealedState,
  ): void {
    const { command } = waiter;
    const {
      caller,
      request: { params = {} },
    } = command;
    // The same name may be of another server at another endpoint, and keys and scopes may be for certain endpoints.
    if (
      principal !== caller.principal ||
      endpoint !== caller.endpoint ||
      digest !== digestOf(method, params) ||
      (state.kind === 'again' && expiresAt < Date.now())
    ) {
      this.#refuse(waiter, fault('state.invalid'));
      return;
    }
    switch (state.kind) {
      case 'again':
        this.#callAgain(waiter, view, method, state.round);
        return;
      case 'server':
        this.start(
          {
            ...waiter,
            command: { ...command, request: { ...command.request, params: { ...params, requestState: state.text } } },
          },
          view,
          method,
        );
        return;
      case 'parked':
        this.#comeBackToParked(waiter, view, method, state, expiresAt);
        return;
      default:
        this.#refuse(waiter, fault('state.invalid')); // Sealed by a newer version, for a kind of state that this one does not know.
    }
  }

  #comeBackToParked(
    waiter: PendingReply,
    view: View,
    method: ExchangeMethod,
    state: ParkedState,
    expiresAt: number,
  ): void {
    const { worker, call, round, first, isAtServer = true } = state;
    // After its time, the call is not gone with a process: it was ended, and its answer was kept for a while.
    if (worker === this.#worker && this.#open.get(call) === undefined && expiresAt < Date.now())
      this.#refuse(waiter, fault('state.invalid'));
    else if (worker === this.#worker || this.#open.get(call) !== undefined) this.#resume(waiter, call, round, view);
    else if (waiter.command.gone === worker && first !== undefined)
      this.#continue(waiter, view, method, { call, first, back: { round, isAtServer } });
    else waiter.reply({ kind: 'elsewhere', worker, ...(first === undefined ? {} : { call }) });
  }

  /** Continues a call of a worker that is gone: it is at a backend worker, which asks its questions again, or has not begun. */
  #continue(
    waiter: PendingReply,
    view: View,
    method: ExchangeMethod,
    {
      call: key,
      first: id,
      back,
    }: Pick<Required<ParkedState>, 'call' | 'first'> & { readonly back: Omit<Back, 'waiter'> },
  ): void {
    const { command, reply } = waiter;
    const { request, caller } = command;
    const full = this.places.take(caller);
    if (full !== undefined) {
      this.#refuse(waiter, full);
      return;
    }
    const params = withoutModernMeta(this.#withoutOurState(request.params ?? {}, method, view, command));
    const first = { command: { ...command, key, request: { ...request, id } }, reply };
    const call = new StatelessCall(this, {
      first,
      view,
      method,
      params,
      urlRound: 0,
      back: { ...back, waiter: this.#leaving(waiter) },
    });
    this.#open.add(call);
    this.#joined.set(command.key, call);
    call.start();
  }

  #resume({ command, reply }: PendingReply, id: string, round: number, view: View): void {
    const call = this.#open.get(id);
    if (call === undefined || call.isOverdue) {
      reply({ kind: 'refused', fault: fault(call === undefined ? 'state.lost' : 'state.invalid') });
      return;
    }
    this.#joined.set(command.key, call);
    call.resume(this.#leaving({ command, reply }), round, view);
  }

  /** A request that no longer counts as waiting for a call once it has its answer. */
  #leaving({ command, reply }: PendingReply): PendingReply {
    return {
      command,
      reply: (frame) => {
        if (frame.kind !== 'message' || frame.last) this.#joined.delete(command.key);
        reply(frame);
      },
    };
  }

  // --- calls that clients repeat ------------------------------------------------------------------------------------------------

  /**
   * Joins a request with a key to its first one, if that came here.
   * @returns false if the request is the first as far as this worker knows.
   */
  repeat(waiter: PendingReply, view: View): boolean {
    const asked = keyedRequest(waiter.command);
    if ('call' in asked) this.#keys.set(waiter.command, asked.call);
    if ('problem' in asked) {
      this.#refuse(waiter, fault('params.invalid', asked.problem));
      return true;
    }
    const call = this.#open.get(asked.call);
    if (call !== undefined) {
      this.#joined.set(waiter.command.key, call);
      call.resume(this.#leaving(waiter), noRound, view);
      return true;
    }
    if (!this.#ended.has(asked.call) && (!asked.repeats || this.#mayBegin(waiter.command))) return false;
    this.#refuse(waiter, fault('gateway.interrupted'));
    return true;
  }

  /** A request is served in the place of another one: a repetition of that one joins its call. */
  standsFor(command: ModernCommand, inner: ModernCommand): void {
    const key = this.#keys.get(command);
    if (key !== undefined) this.#keys.set(inner, key);
  }

  /** Over NATS, the backend workers are asked before it begins. In one process, this worker would know of it. */
  #mayBegin({ begun }: ModernCommand): boolean {
    return this.host.bus.isShared ? begun !== undefined : this.#ended.isComplete;
  }

  remember(key: SessionKey): void {
    this.#ended.add(key);
  }

  /** The user has visited the addresses that the server named. Nothing is open at the server, so it is called again. */
  #callAgain(waiter: PendingReply, view: View, method: ExchangeMethod, round: number): void {
    const { name, inputResponses } = waiter.command.request.params ?? {};
    if (
      areVisited(inputResponses) &&
      method === 'tools/call' &&
      view.toolRoute(String(name)) === undefined &&
      signInRoute(view, 'tools', String(name)) === undefined
    ) {
      // A tool that stands for a sign-in is gone after it.
      answerResult(waiter, {
        resultType: 'complete',
        ...textResult(
          `You have opened the address, and the tool ${JSON.stringify(name)} is not there any more: list the tools again.`,
        ),
        isError: false,
      });
    } else if (areVisited(inputResponses)) {
      this.start(waiter, view, method, round);
    } else if (method === 'tools/call') {
      answerResult(waiter, {
        resultType: 'complete',
        ...errorResult('the user did not open the address the server needs visited first'),
      });
    } else {
      this.#refuse(waiter, fault('params.invalid', 'the address the server needs visited first was not opened'));
    }
  }

  // --- which server ------------------------------------------------------------------------------------------------------------

  /** The task of the request's public id; undefined if that is not this caller's. */
  taskOf({ caller: { principal }, key }: ModernCommand, { taskId }: JsonObject): TaskAddress | undefined {
    return typeof taskId === 'string'
      ? new TaskIds(this.host.sealer, principal, { owner: key, place: undefined, tool: undefined }).open(taskId)
      : undefined;
  }

  /** Whether the server has a `requestState` of its own, which is passed through, bound to the caller if that is known. */
  #keepsOwnState(method: ExchangeMethod, params: JsonObject, view: View, command: ModernCommand): boolean {
    const server = this.#serverOf(method, params, view, command);
    return server !== undefined && serverFeatures(view, server).hasRounds;
  }

  #serverOf(method: ExchangeMethod, params: JsonObject, view: View, command: ModernCommand): ServerName | undefined {
    const { uri, name } = params;
    if (method === 'tools/call')
      return typeof name === 'string' ? (view.toolRoute(name) ?? view.unlisted('tools', name))?.server : undefined;
    if (method.startsWith('tasks/')) return this.taskOf(command, params)?.server;
    if (method === 'prompts/get')
      return typeof name === 'string' ? (view.promptRoute(name) ?? view.unlisted('prompts', name))?.server : undefined;
    if (isCustomMethod(method)) {
      const route = customRoute(view, method, params, 'method.removed');
      return 'server' in route ? route.server : undefined;
    }
    const route =
      typeof uri === 'string' ? resourceRoute(view, this.linkedResources.of(command.caller), uri) : undefined;
    if (route === undefined) return typeof uri === 'string' ? view.open : undefined;
    return 'rivals' in route ? undefined : route.server;
  }

  /** The call of a request, which has begun or continued it. */
  #callOf(key: SessionKey): StatelessCall | SettledCall | undefined {
    return this.#joined.get(key) ?? this.#open.get(key);
  }
}
