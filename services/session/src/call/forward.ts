/**
 * What goes to servers: finds the server a request is for, carries it there as an exchange, and brings back what belongs
 * to it. On whose behalf, and in which words the client hears of it, is the party's.
 *
 * Invariants
 *  S1  A message of one request goes to the POST that carried the request, and nothing follows its answer.
 *  S2  Every request is answered exactly once, unless it was cancelled; then never.
 */
import type { View } from '@omnibus/catalog';
import {
  createdTask, fault, isJsonRpcId, isObject, notificationText, paramsProblem, printable, readOwnLimit, skillsExtension, withRelatedTask,
  type Caller, type CustomMethod, type ErrorReason, type ExchangeContext, type ExchangeEvent, type ExchangeMethod, type ExchangeOutcome, type GatewayFault, type InputKey, type JsonObject, type JsonRpcId,
  type LogLevel, type ProgressEvent, type ServerName, type ServerNotice, type SessionKey, type WorkerId,
} from '@omnibus/protocol';
import { Exchange, type Topic, type TimeLimits } from './exchange.ts';
import { OpenRequests, OpenRequest } from './open-requests.ts';
import type { SessionHost } from '../host.ts';
import { publicElicitation, publicElicitations } from '../public-ids/elicitation-ids.ts';
import { errorOf, traceOf } from './call-span.ts';
import { toolParams, withoutNullArguments, withoutOwnMeta } from './request-params.ts';
import { customRoute } from './routes/custom-route.ts';
import { clientOf } from './client-of.ts';
import type { LinkedResources } from './routes/linked-resources.ts';
import { ambiguous, resourceRoute } from './routes/resource-route.ts';
import { neverReached, unknownEntry, unknownResource } from './routes/unknown-entry.ts';
import { mapErrorUri, mapResultUris } from '../public-ids/resource-uris.ts';
import { inContext, placeOf, progressKey, TaskIds, type TaskAddress } from '../public-ids/task-ids.ts';

/** Where what belongs to one request goes. */
export interface CallStream {
  /** The W3C `traceparent` of the request, where somebody traces. */
  readonly trace: string | undefined;
  /** Something that comes before the answer. */
  send(text: string): void;
  /** @param member `"result":…` or `"error":…`, serialised. */
  answerMember(id: JsonRpcId, member: string): void;
  refuse(id: JsonRpcId, gatewayFault: GatewayFault): void;
  leaveUnanswered(): void;
}

/** On whose behalf requests are forwarded. */
export interface ClientPort<Stream extends CallStream> {
  readonly key: SessionKey;
  readonly caller: Caller;
  /** What servers may ask of the client. */
  capabilities(): JsonObject;
  /** The party is one request and no session (2026-07-28). */
  readonly standsAlone: boolean;
  /** The least severe messages it wants. */
  logLevel(): LogLevel | undefined;
  /** The client can make a call a task and fetch its result later. */
  knowsTasks(): boolean;
  /** It takes a task in the extension's way in place of a result. */
  takesTasks(): boolean;
  /** Says something that outlives the request it belongs to. */
  push(text: string): void;
  /** Undefined when the client is not to hear of it. */
  progressText(token: JsonRpcId, event: ProgressEvent): string | undefined;
  /** Undefined when the client does not want that message. */
  logText(params: JsonObject, view: View, server: ServerName): string | undefined;
  /** The server asks something of the client; the answer goes to `asker`. */
  ask(asker: Exchange, call: ForwardedCall<Stream>, server: ServerName, event: Extract<ExchangeEvent, { kind: 'input' }>): void;
  inputWithdrawn(asker: Exchange, input: InputKey, reason: string): void;
  /** Nobody waits for answers to what this exchange asked. */
  askerEnded(asker: Exchange, reason: string): void;
  /** What a server answered as this client has it. @param wrapsOutput older clients see the tool's output inside an object. */
  answerOf(method: ExchangeMethod, answer: ServerAnswer, wrapsOutput: boolean): ServerAnswer;
}

/** The two ways in which a server itself answers. */
export type ServerAnswer = Exclude<ExchangeOutcome, { kind: 'fault' }>;

/** A request of the client on its way, whichever servers it goes to. */
export interface ForwardedCall<Stream extends CallStream> {
  readonly stream: Stream;
  readonly id: JsonRpcId;
  readonly method: ExchangeMethod;
  readonly view: View;
  readonly progressToken: JsonRpcId | undefined;
  /** How long its client waits. */
  readonly own: OwnLimit | undefined;
  readonly wrapsOutput?: boolean;
  /** The task it is about. */
  readonly task?: TaskAddress;
}

/** A time limit of the client's own, for all that its request takes. */
interface OwnLimit {
  readonly limitMs: number;
  readonly beganAt: number;
}

/** One server such a request goes to, and as what. */
interface Destination {
  readonly server: ServerName;
  readonly params: JsonObject;
  readonly subject: Topic;
  /** The tool's own name, for its time limits. */
  readonly tool?: string;
  /** Its server says that calling it twice does no more than calling it once. */
  readonly isRepeatable?: boolean;
}

/** A URI that nothing tells of, and the servers that are asked for it. */
interface Probe {
  readonly servers: readonly ServerName[];
  readonly uri: string;
  readonly params: JsonObject;
  readonly subject: Topic;
  /** When no further one is asked. */
  readonly endsAt?: number;
  /** One that could not be asked. */
  readonly failed?: ExchangeOutcome;
}

/** Servers that are asked for a URI that none of them ever named: one request of a client becomes no more than so many. */
const maxProbed = 16;

/** Resources a party can be subscribed to before those are forgotten that it asked for first. */
const maxSubscriptions = 1_000;

export interface ForwardingHooks {
  /** Nothing is on its way any more. */
  idle(): void;
  /** A server was reached for the first time. */
  touched(): void;
}

type Settled = (outcome: ExchangeOutcome) => void;

/** Tasks whose progress is passed on; the oldest are forgotten. */
const maxTaskProgress = 100;

export class Forwarding<Stream extends CallStream> {
  readonly #host: SessionHost;
  readonly #party: ClientPort<Stream>;
  readonly #open = new OpenRequests();
  readonly #tasks: TaskIds;
  readonly #linkedResources: LinkedResources;
  /** Who hears of progress that comes after the call was answered with a task; by `progressKey`. */
  readonly #taskProgress = new Map<string, (event: ProgressEvent) => void>();
  /** Servers that were reached, and may keep something for the party: a connection, a subscription, a log level. */
  readonly touched = new Set<ServerName>();
  /** Resources the party is told of, by server and the server's own URI. */
  subscriptions: readonly (readonly [server: ServerName, uri: string])[] = [];
  readonly #hooks: ForwardingHooks;
  /** Notifications that no adapter has taken yet. */
  #notified = 0;
  /** Adapters that keep something for the party. */
  readonly #bound = new Map<ServerName, WorkerId>();

  constructor(host: SessionHost, party: ClientPort<Stream>, linkedResources: LinkedResources, hooks: ForwardingHooks) {
    this.#host = host;
    this.#party = party;
    this.#linkedResources = linkedResources;
    this.#hooks = hooks;
    this.#tasks = new TaskIds(host.sealer, party.caller.principal, { owner: party.key, place: undefined });
  }

  get size(): number {
    return this.#open.size;
  }

  get bound(): readonly (readonly [server: ServerName, worker: WorkerId])[] {
    return [...this.#bound];
  }

  bind(server: ServerName, worker: WorkerId): void {
    this.#bound.set(server, worker);
  }

  cancel(clientId: JsonRpcId, reason: string): 'cancelled' | 'unknown' | 'ambiguous' {
    return this.#open.cancel(clientId, reason);
  }

  /** Ends everything that is on its way with an answer of the gateway's own. */
  failAll(gatewayFault: GatewayFault): void {
    this.#open.failAll(gatewayFault);
  }

  cancelAll(reason: string): void {
    this.#open.cancelAll(reason);
  }

  /** Progress of a task whose call was answered already. */
  taskProgressed({ server, taskId, place, progress }: Extract<ServerNotice, { kind: 'task-progress' }>): void {
    this.#taskProgress.get(progressKey(server, taskId, place))?.(this.#publicProgress(server, progress, { place }));
  }

  #publicProgress(server: ServerName, event: ProgressEvent, about: Partial<TaskAddress> | undefined): ProgressEvent {
    return event.more === undefined ? event : { ...event, more: this.#tasks.of(about).publicMention(server, event.more) };
  }

  /** A task of a server as the client knows it. */
  publicTask({ server, task, place }: Extract<ServerNotice, { kind: 'task-status' }>): JsonObject {
    return this.#tasks.of({ place }).publicTask(server, task);
  }

  /** What a server says, with the task it mentions as the client knows it. */
  publicMention(server: ServerName, params: JsonObject): JsonObject {
    return this.#tasks.publicMention(server, params);
  }

  /** What a server asks, with the ids in it as the client may see them. @param about what is known of the task it is about. */
  publicQuestion(server: ServerName, params: JsonObject, about?: Pick<TaskAddress, 'place'> & Partial<TaskAddress>): JsonObject {
    return publicElicitation(server, this.#tasks.of(about).publicMention(server, params));
  }

  /** A client's answer to a question, with the task it mentions under the server's own id. */
  originalMention(value: JsonObject): JsonObject {
    return this.#tasks.originalMention(value);
  }

  forward(stream: Stream, id: JsonRpcId, method: ExchangeMethod, params: JsonObject | undefined, view: View): void {
    const problem = paramsProblem(method, params);
    if (problem !== undefined) {
      this.#refuse(stream, id, 'params.invalid', problem);
      return;
    }
    if (this.#open.size >= this.#host.limits.maxInFlightPerSession) {
      this.#refuse(stream, id, 'session.busy');
      return;
    }
    const given = withoutNullArguments(params ?? {});
    const limitMs = readOwnLimit(given);
    if (typeof limitMs === 'object') {
      this.#refuse(stream, id, 'params.invalid', limitMs.problem);
      return;
    }
    const progressToken = isObject(given['_meta']) ? given['_meta']['progressToken'] : undefined;
    const call: ForwardedCall<Stream> = {
      stream, id, method, view,
      progressToken: isJsonRpcId(progressToken) ? progressToken : undefined,
      own: limitMs === undefined ? undefined : { limitMs, beganAt: performance.now() },
    };
    const sent = withoutOwnMeta(given);
    switch (method) {
      case 'tools/call':
        this.#callTool(call, sent);
        return;
      case 'prompts/get': {
        const name = sent['name'] as string;
        const route = view.promptRoute(name);
        if (route === undefined) this.#answerFault(stream, id, unknownEntry(view, 'prompts', name));
        else this.#start(call, { server: route.server, params: { ...sent, name: route.original }, subject: ['prompt', name] });
        return;
      }
      case 'resources/read':
      case 'resources/subscribe':
      case 'resources/unsubscribe': {
        const uri = sent['uri'] as string;
        const subject: Topic = ['resource', uri];
        const route = resourceRoute(view, this.#linkedResources, uri);
        if (route === undefined) this.#probe(call, { servers: view.serversWith('resources'), uri, params: sent, subject });
        else if ('rivals' in route) this.#answerFault(stream, id, ambiguous(uri, route.rivals));
        else this.#start(call, { server: route.server, params: { ...sent, uri: route.original }, subject });
        return;
      }
      case 'completion/complete':
        this.#complete(call, sent);
        return;
      case 'tasks/get':
      case 'tasks/result':
      case 'tasks/cancel':
      case 'tasks/update': {
        const opened = this.#tasks.open(sent['taskId'] as string);
        if (opened === undefined || !view.definition.servers.includes(opened.server)) this.#refuse(stream, id, 'task.unknown');
        else this.#start({ ...call, task: opened }, { server: opened.server, params: { ...sent, taskId: opened.id }, subject: ['task', sent['taskId'] as string] });
        return;
      }
      case 'tasks/list':
        this.#listInTurn(call, sent, view.taskServers(), 'tasks');
        return;
      case 'skills/list':
        this.#listInTurn(call, sent, view.serversWithExtension(skillsExtension), 'skills');
        return;
      case 'skills/get':
      case 'resources/directory/read': {
        const uri = sent['uri'] as string;
        const servers = view.serversWithExtension(skillsExtension);
        const route = resourceRoute(view, this.#linkedResources, uri);
        const owner = route === undefined || 'rivals' in route || !servers.includes(route.server) ? undefined : route.server;
        this.#probe(call, { servers: owner === undefined ? servers : [owner], uri, params: sent, subject: ['resource', uri] });
        return;
      }
      default: {
        const route = customRoute(view, method, given, this.#party.standsAlone ? 'method.removed' : 'method.unknown');
        if ('refused' in route) this.#answerFault(stream, id, route.refused);
        else this.#start(call, { server: route.server, params: sent, subject: ['request', method] });
      }
    }
  }

  /** Tells a server what no revision knows; whether it hears it concerns nobody. */
  notify(method: CustomMethod, params: JsonObject | undefined, view: View | undefined): void {
    const route = view === undefined ? undefined : customRoute(view, method, params, 'method.unknown');
    if (route === undefined || 'refused' in route || this.#notified >= this.#host.limits.maxInFlightPerSession) {
      this.#host.metrics.dropped('notification_unknown');
      return;
    }
    const { server } = route;
    this.#notified += 1;
    Exchange.start(this.#host, {
      exchange: this.#host.nextExchangeId(), server, method, params: withoutOwnMeta(params ?? {}), subject: ['notification', method], limits: this.#host.timeLimits(server, undefined), context: this.#context(false),
      bound: this.#bound.get(server), isNotification: true,
    }, (outcome) => {
      this.#notified -= 1;
      if (outcome.kind !== 'result') this.#host.metrics.dropped('notification_unknown');
    });
  }

  #refuse(stream: Stream, id: JsonRpcId, reason: ErrorReason, message?: string, data?: Readonly<Record<string, unknown>>): void {
    this.#answerFault(stream, id, fault(reason, message, data));
  }

  #answerFault(stream: Stream, id: JsonRpcId, gatewayFault: GatewayFault): void {
    this.#host.metrics.refused(gatewayFault.reason);
    stream.refuse(id, gatewayFault);
  }

  // --- tools -----------------------------------------------------------------------------------------------------------

  #callTool(given: ForwardedCall<Stream>, params: JsonObject): void {
    const { stream, id, view } = given;
    const name = params['name'] as string;
    const route = view.toolRoute(name);
    if (route === undefined) {
      this.#answerFault(stream, id, unknownEntry(view, 'tools', name));
      return;
    }
    const call = route.wrapsOutput === true ? { ...given, wrapsOutput: true } : given;
    const { task, ...plain } = toolParams(params, route);
    const destination: Destination = { server: route.server, params: plain, subject: ['tool', name], tool: route.original, isRepeatable: route.isRepeatable === true };
    const knowsTasks = this.#party.knowsTasks();
    if (knowsTasks && task !== undefined && view.taskServers().length > 0) {
      // Without the capability the wish for a task is ignored; with it, a tool that has none says so.
      if (route.taskSupport === 'forbidden') this.#refuse(stream, id, 'task.unsupported', `tool ${JSON.stringify(printable(name, 100))} does not run as a task`);
      else this.#startTask(call, { ...destination, params: { ...plain, task } });
    } else if (route.taskSupport === 'required' && !knowsTasks) {
      if (this.#party.takesTasks()) this.#start(call, { ...destination, params: { ...plain, task: {} } });
      else this.#driveTask(call, destination);
    } else {
      this.#start(call, destination);
    }
  }

  #startTask(call: ForwardedCall<Stream>, destination: Destination): void {
    const { progressToken } = call;
    const { server } = destination;
    this.#exchange(call, destination, (outcome) => {
      const task = outcome.kind === 'result' ? createdTask(outcome.result) : undefined;
      if (task !== undefined && progressToken !== undefined) {
        this.#followTask(progressKey(server, task.taskId, placeOf(outcome)), (event) => this.#tellProgress(progressToken, event, { send: (text) => this.#party.push(text) }));
      }
      this.#answer(call, server, outcome);
    });
  }

  /** A tool that runs as a task only, for a client that knows none: the gateway waits for the task's result in its place. */
  #driveTask(call: ForwardedCall<Stream>, destination: Destination): void {
    const { server, subject, params } = destination;
    this.#exchange(call, { ...destination, params: { ...params, task: {} } }, (created) => {
      const task = created.kind === 'result' ? createdTask(created.result) : undefined;
      if (task === undefined) {
        this.#answer(call, server, created);
        return;
      }
      const { progressToken, stream } = call;
      const address: TaskAddress = { server, id: task.taskId, owner: this.#party.key, place: placeOf(created) };
      const key = progressKey(server, task.taskId, address.place);
      if (progressToken !== undefined) this.#followTask(key, (event) => this.#tellProgress(progressToken, event, stream));
      this.#exchange({ ...call, method: 'tasks/result', task: address }, { server, subject, params: { taskId: task.taskId } }, (outcome) => {
        this.#taskProgress.delete(key);
        this.#answer(call, server, outcome.kind === 'result' ? { ...outcome, result: withRelatedTask(outcome.result, () => undefined) } : outcome);
      }, () => this.#cancelTask(address));
    });
  }

  #tellProgress(token: JsonRpcId, event: ProgressEvent, to: { send(text: string): void }): void {
    const text = this.#party.progressText(token, event);
    if (text !== undefined) to.send(text);
  }

  #followTask(key: string, hear: (event: ProgressEvent) => void): void {
    this.#taskProgress.set(key, hear);
    if (this.#taskProgress.size > maxTaskProgress) this.#taskProgress.delete(this.#taskProgress.keys().next().value as string);
  }

  /** Stops work whose result nobody will fetch; whether it worked concerns nobody. */
  #cancelTask(address: TaskAddress): void {
    const { server, id } = address;
    Exchange.start(this.#host, {
      exchange: this.#host.nextExchangeId(), server, method: 'tasks/cancel', params: { taskId: id }, subject: ['task', id], limits: this.#host.timeLimits(server, undefined),
      context: { ...this.#context(false), ...inContext(address) }, bound: this.#bound.get(server),
    });
  }

  /** One page of one server at a time; each server's own cursor travels inside ours. */
  #listInTurn(call: ForwardedCall<Stream>, { cursor: sealed, ...params }: JsonObject, servers: readonly ServerName[], entries: string): void {
    const { stream, id } = call;
    const [first] = servers;
    const page = typeof sealed === 'string' ? this.#tasks.openCursor(sealed) : first === undefined ? undefined : { server: first, cursor: undefined };
    const index = page === undefined ? -1 : servers.indexOf(page.server);
    if (sealed === undefined && first === undefined) {
      const empty = this.#party.answerOf(call.method, { kind: 'result', result: { [entries]: [] } }, false);
      if (empty.kind === 'result') stream.answerMember(id, `"result":${JSON.stringify(empty.result)}`);
      return;
    }
    if (page === undefined || index === -1) {
      this.#refuse(stream, id, 'cursor.invalid');
      return;
    }
    const { server, cursor } = page;
    this.#exchange(call, { server, params: cursor === undefined ? params : { ...params, cursor }, subject: ['list of', entries] }, (outcome) => {
      // A server that cannot list, or not now, has nothing on the list; the others have.
      const { nextCursor: own, ...listed } = outcome.kind === 'result' ? outcome.result : { [entries]: [] };
      const following = servers[index + 1];
      const next = typeof own === 'string' ? { server, cursor: own } : following === undefined ? undefined : { server: following, cursor: undefined };
      this.#answer(call, server, { ...outcome, kind: 'result', result: listed }, next === undefined ? undefined : { nextCursor: this.#tasks.publishCursor(next) });
    });
  }

  // --- resources and completion ------------------------------------------------------------------------------------------

  #complete(call: ForwardedCall<Stream>, params: JsonObject): void {
    const { stream, id, view } = call;
    const ref = params['ref'] as JsonObject;
    const isPrompt = ref['type'] === 'ref/prompt';
    const named = (isPrompt ? ref['name'] : ref['uri']) as string;
    const route = isPrompt ? view.promptRoute(named) : resourceRoute(view, this.#linkedResources, named);
    if (route !== undefined && 'rivals' in route) {
      this.#answerFault(stream, id, ambiguous(named, route.rivals));
    } else if (route === undefined) {
      this.#answerFault(stream, id, isPrompt ? unknownEntry(view, 'prompts', named) : unknownResource(view, named));
    } else if (view.canComplete(route.server)) {
      const original = isPrompt ? { ...ref, name: route.original } : { ...ref, uri: route.original };
      this.#start(call, { server: route.server, params: { ...params, ref: original }, subject: ['completion of', named] });
    } else {
      this.#answer(call, route.server, { kind: 'result', result: { completion: { values: [] } } });
    }
  }

  /**
   * Asks servers one after the other for a URI that no list, link or template names; the first that knows it answers. It ends with
   * the time one call has, whatever each of them takes.
   */
  #probe(call: ForwardedCall<Stream>, probe: Probe): void {
    const { servers, uri, params, subject } = probe;
    const [server, ...others] = servers.slice(0, maxProbed);
    if (server === undefined) {
      this.#answerFault(call.stream, call.id, unknownResource(call.view, uri));
      return;
    }
    const endsAt = probe.endsAt ?? performance.now() + this.#host.timeLimits(server, undefined).callMs;
    this.#exchange(call, { server, params, subject }, (outcome) => {
      // Of several, one that could not be asked leaves it open whether it has it; one that does not know it says nothing of the others.
      const failed = probe.failed ?? (outcome.kind === 'fault' ? outcome : undefined);
      if (outcome.kind === 'result') this.#answer(call, server, outcome);
      else if (others.length > 0 && performance.now() < endsAt) this.#probe(call, { ...probe, servers: others, endsAt, ...(failed === undefined ? {} : { failed }) });
      else if (failed === undefined && outcome.kind === 'error' && neverReached(call.view).length > 0) this.#answerFault(call.stream, call.id, unknownResource(call.view, uri));
      else this.#answer(call, server, failed ?? outcome);
    });
  }

  // --- exchanges -----------------------------------------------------------------------------------------------------------

  #start(call: ForwardedCall<Stream>, destination: Destination): void {
    this.#exchange(call, destination, (outcome) => this.#answer(call, destination.server, outcome));
  }

  #context(wantsProgress: boolean): Omit<ExchangeContext, 'maxTimeMs'> {
    const { caller, key, standsAlone } = this.#party;
    return { principal: caller.principal, session: key, standsAlone, ...(standsAlone ? clientOf(caller) : {}), capabilities: this.#party.capabilities(), logLevel: this.#party.logLevel(), wantsProgress };
  }

  #exchange(call: ForwardedCall<Stream>, { server, params, subject, tool, isRepeatable }: Destination, settled: Settled, cancelled?: () => void): void {
    const { stream, progressToken, view, task } = call;
    const { nextExchangeId, tracing } = this.#host;
    if (!this.touched.has(server)) {
      this.touched.add(server);
      this.#hooks.touched();
    }
    const { method } = call;
    const span = tracing?.start('internal', { method, params: method === 'tools/call' ? { name: subject[1] } : params, attributes: { 'mcp.session.id': this.#party.key, 'omnibus.server': server } }, stream.trace);
    const stop = (reason: string): void => {
      span?.end('cancelled');
      running.cancel(reason);
      this.#party.askerEnded(running, reason);
      cancelled?.();
    };
    const open = new OpenRequest(call.id, (reason) => {
      stop(reason);
      stream.leaveUnanswered(); // S2
    }, (gatewayFault) => {
      stop(gatewayFault.message);
      this.#answerFault(stream, call.id, gatewayFault); // S2
    });
    const running = new Exchange(this.#host, {
      exchange: nextExchangeId(), server, method: call.method, params, subject, limits: this.#limits(call, server, tool), context: { ...this.#context(progressToken !== undefined), ...inContext(task), ...traceOf(span?.traceparent ?? stream.trace) },
      bound: this.#bound.get(server), ...(isRepeatable === undefined ? {} : { isRepeatable }),
    }, {
      progress: (event) => {
        if (progressToken !== undefined) this.#tellProgress(progressToken, this.#publicProgress(server, event, task), stream); // S1
      },
      lost: (outcome) => this.#host.metrics.lost(server, outcome),
      bound: (worker) => {
        if (worker === undefined) this.#bound.delete(server);
        else this.bind(server, worker);
        this.#hooks.touched();
      },
      log: (entry) => {
        const text = this.#party.logText(this.#tasks.of(task).publicMention(server, entry), view, server);
        if (text !== undefined) stream.send(text);
      },
      notification: (method, said) => stream.send(notificationText(method, said === undefined ? undefined : this.#tasks.of(task).publicMention(server, said))),
      input: (event) => this.#party.ask(running, call, server, { ...event, params: this.publicQuestion(server, event.params, task) }),
      inputWithdrawn: (input, reason) => this.#party.inputWithdrawn(running, input, reason),
      settled: (outcome) => {
        this.#party.askerEnded(running, 'the call has ended');
        this.#open.remove(open);
        this.#noteSubscription(call.method, server, params, outcome);
        if (outcome.kind === 'fault' && outcome.fault.reason === 'upstream.timeout') this.#host.metrics.timedOut(server);
        span?.end(errorOf(outcome));
        settled(outcome);
        if (this.#open.size === 0) this.#hooks.idle();
      },
    });
    this.#open.add(open);
  }

  #noteSubscription(method: ExchangeMethod, server: ServerName, { uri }: JsonObject, outcome: ExchangeOutcome): void {
    if (outcome.kind !== 'result' || typeof uri !== 'string') return;
    if (method === 'resources/unsubscribe') {
      this.subscriptions = this.subscriptions.filter((subscription) => subscription[0] !== server || subscription[1] !== uri);
    } else if (method === 'resources/subscribe') {
      this.subscriptions = [...this.subscriptions.filter((subscription) => subscription[0] !== server || subscription[1] !== uri).slice(1 - maxSubscriptions), [server, uri]];
      this.#hooks.touched();
    }
  }

  /** An adapter that was not there before knows of no subscription. */
  subscribeAgain(server: ServerName): void {
    for (const [of, uri] of this.subscriptions) if (of === server) this.ask(server, 'resources/subscribe', { uri }, ['resource', uri]);
  }

  /** Asks a server something that belongs to no call of the client. */
  ask(server: ServerName, method: ExchangeMethod, params: JsonObject, subject: Topic, settled?: Settled): void {
    this.touched.add(server);
    Exchange.start(this.#host, { exchange: this.#host.nextExchangeId(), server, method, params, subject, limits: this.#host.timeLimits(server, undefined), context: this.#context(false), bound: this.#bound.get(server) }, settled);
  }

  /** Fetching a task's result takes as long as the task. */
  #limits({ method, own }: ForwardedCall<Stream>, server: ServerName, tool: string | undefined): TimeLimits {
    const usual = this.#host.timeLimits(server, tool);
    const limits = method === 'tasks/result' ? { ...usual, callMs: usual.taskMs, maxMs: usual.taskMs } : usual;
    return own === undefined ? limits : { ...limits, own: { limitMs: own.limitMs, leftMs: Math.max(1, own.beganAt + own.limitMs - performance.now()) } };
  }

  #answer({ stream, id, method, view, task, wrapsOutput = false }: ForwardedCall<Stream>, server: ServerName, outcome: ExchangeOutcome, more?: JsonObject): void {
    const mapUri = view.resources.hasAliases(server) ? (uri: string): string => view.resources.publicUri(server, uri) : undefined;
    if (outcome.kind === 'fault') {
      this.#answerFault(stream, id, outcome.fault);
      return;
    }
    const answer = this.#party.answerOf(method, outcome.kind === 'result' ? { kind: 'result', result: this.#publicResult(this.#tasks.of(task ?? outcome), method, server, outcome.result, mapUri) }
      : { kind: 'error', error: publicElicitations(server, mapUri === undefined ? outcome.error : mapErrorUri(outcome.error, mapUri)) }, wrapsOutput);
    if (answer.kind === 'result') stream.answerMember(id, `"result":${JSON.stringify(more === undefined ? answer.result : { ...answer.result, ...more })}`);
    else stream.answerMember(id, `"error":${JSON.stringify(answer.error)}`);
  }

  #publicResult(tasks: TaskIds, method: ExchangeMethod, server: ServerName, result: JsonObject, mapUri: ((uri: string) => string) | undefined): JsonObject {
    if (method === 'tools/call' || method === 'tasks/result') this.#linkedResources.remember(server, result);
    const published = tasks.publicResult(method, server, result);
    return mapUri === undefined ? published : mapResultUris(method, published, mapUri);
  }
}
