/**
 * One client session: the shell around `machine.ts` that answers requests from the view and carries the rest to servers.
 *
 * Invariants
 *  S1  A message of one request goes to the POST that carried the request, and nothing follows its answer.
 *  S2  Every request is answered exactly once, unless it was cancelled; then never.
 *  S3  A caller that is not the session's own, or comes by another endpoint, is told that there is no such session.
 */
import { subjects, type Bus } from '@omnibus/bus';
import type { Route, View } from '@omnibus/catalog';
import { startActor, type DeadlineWheel } from '@omnibus/lifecycle';
import {
  errorText, fault, featuresOf, inputCapabilities, isJsonRpcId, isLogLevel, isObject, latestLegacyRevision, listKindOf, logLevels, negotiateRevision, notificationText, paramsProblem, resultText,
  toErrorObject, type Caller, type ChangeKind, type EventPosition, type ErrorReason, type ExchangeEvent, type ExchangeId, type ExchangeMethod, type JsonObject, type JsonRpcId,
  type JsonRpcNotification, type JsonRpcRequest, type Limits, type ListKind, type LogLevel, type PostedMessage, type Revision, type ServerName, type ServerNotice,
  type SessionCommand, type SessionKey, type StreamId,
} from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { ActorRefFrom } from 'xstate';
import { ClientRequests } from './client-requests.ts';
import { PostStream } from './client-stream.ts';
import { downLevelQuestion, downLevelResult } from './dialect/legacy/down-level.ts';
import { offeredCapabilities } from './dialect/legacy/capabilities.ts';
import { initializeResult } from './dialect/legacy/handshake.ts';
import { logText, plainError, progressText } from './dialect/legacy/encode.ts';
import { Exchange, type ExchangeOutcome, type Subject, type TimeLimits } from './exchange/exchange.ts';
import { ExchangeTable, OpenRequest } from './exchange/table.ts';
import { sessionMachine } from './machine.ts';
import { PushStreams } from './push-streams.ts';
import type { Reply } from './resumable-stream.ts';
import { StreamTable } from './stream-table.ts';
import { linkedUris, mapErrorUri, mapResultUris } from './routing/resource-uris.ts';

/** What a session needs of its worker. */
export interface SessionHost {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly limits: Limits;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly nextExchangeId: () => ExchangeId;
  /** Undefined when the endpoint has left the configuration. */
  readonly view: (caller: Caller) => View | undefined;
  readonly timeLimits: (server: ServerName, tool: string | undefined) => TimeLimits;
  readonly released: (session: Session) => void;
}

/** URIs a session remembers because a result handed them out; the oldest are forgotten. */
const maxHandedOut = 1_000;
const invalidCursor = Symbol('invalid cursor');

export class Session {
  readonly key: SessionKey;
  readonly caller: Caller;
  readonly #host: SessionHost;
  readonly #actor: ActorRefFrom<typeof sessionMachine>;
  readonly #exchanges = new ExchangeTable();
  readonly #clientRequests = new ClientRequests();
  readonly #posts = new StreamTable();
  readonly #push: PushStreams;
  readonly #handedOut = new Map<string, ServerName>();
  /** Servers this session reached, which may keep something for it: a connection, a subscription, a log level. */
  readonly #touched = new Set<ServerName>();
  /** What servers may ask of this client. */
  #capabilities: JsonObject = {};
  #logLevel: LogLevel | undefined;
  #lastActivityAt = performance.now();
  #onIdle: (() => void) | undefined;

  constructor(key: SessionKey, caller: Caller, host: SessionHost) {
    this.key = key;
    this.caller = caller;
    this.#host = host;
    this.#push = new PushStreams(() => host.metrics.dropped('queue_full'));
    this.#actor = startActor(sessionMachine.provide({
      actions: {
        announcePending: () => this.#push.clientReady(),
        endStreams: () => this.#push.endAll(),
        release: () => this.#release(),
        countExpired: () => host.metrics.sessionsExpired.inc(),
      },
    }), {
      onFailure: (error) => {
        host.log.error({ err: error, session: key }, 'the session actor failed');
        this.#release();
      },
    });
  }

  /** Milliseconds since anything happened; 0 while something is open. */
  idleMs(now: number): number {
    return this.#exchanges.size > 0 || this.#push.size > 0 ? 0 : now - this.#lastActivityAt;
  }

  /** Answers `initialize`. The result as JSON-RPC text. */
  open(request: JsonRpcRequest, view: View): string {
    const { protocolVersion, capabilities } = request.params ?? {};
    const revision = negotiateRevision(String(protocolVersion));
    const declared = isObject(capabilities) ? capabilities : {};
    this.#capabilities = offeredCapabilities(declared);
    this.#actor.send({ type: 'client.initialize', revision, capabilities: declared });
    return resultText(request.id, JSON.stringify(initializeResult(revision, view)));
  }

  receive(command: SessionCommand, reply: Reply): void {
    this.#lastActivityAt = performance.now();
    if (command.kind === 'detach') {
      if (!this.#push.detach(command.stream, command.reader)) this.#posts.find(command.stream)?.detach(command.reader);
      return;
    }
    if (command.caller.principal !== this.caller.principal || command.caller.endpoint !== this.caller.endpoint) {
      reply({ kind: 'refused', fault: fault('session.unknown') }); // S3
      return;
    }
    switch (command.kind) {
      case 'post':
        this.#receivePost(command.stream, [command.message], reply);
        return;
      case 'batch':
        if (featuresOf(this.#revision).batching) this.#receivePost(command.stream, command.messages, reply);
        else reply({ kind: 'refused', fault: fault('batch.unsupported') });
        return;
      case 'attach':
        if (command.after !== undefined) this.#resume(command.after, command.stream, reply);
        else if (this.#push.size >= this.#host.limits.maxStreamsPerSession) reply({ kind: 'refused', fault: fault('stream.limit') });
        else this.#push.attach(command.stream, reply);
        return;
      case 'delete':
        this.#actor.send({ type: 'client.deleted' });
        reply({ kind: 'accepted' });
    }
  }

  hear(notice: ServerNotice): void {
    const view = this.#host.view(this.caller);
    if (view?.definition.servers.includes(notice.server) !== true) return;
    switch (notice.kind) {
      case 'resource-updated':
        if (notice.sessions.includes(this.key)) {
          this.#push.push(notificationText('notifications/resources/updated', { uri: view.resources.publicUri(notice.server, notice.uri) }));
        }
        return;
      case 'log':
        // What belongs to no call is only for those who asked for logs.
        if (notice.sessions?.includes(this.key) === false) return;
        if (this.#logLevel !== undefined && this.#wantsLog(notice.params)) this.#push.push(logText(notice.params, this.#sourceName(view, notice.server)));
        return;
      case 'elicitation-complete':
        if (notice.sessions.includes(this.key)) this.#push.push(notificationText('notifications/elicitation/complete', { elicitationId: notice.elicitationId }));
    }
  }

  listsChanged(kinds: readonly ChangeKind[]): void {
    this.#push.listsChanged(kinds);
  }

  expire(): void {
    this.#actor.send({ type: 'idle.noted' });
  }

  /** Ends the streams, waits for running requests up to the limit, ends. */
  async drain(limitMs: number): Promise<void> {
    this.#actor.send({ type: 'drain.requested' });
    if (this.#exchanges.size > 0) {
      await new Promise<void>((resolve) => {
        const limit = this.#host.wheel.schedule(limitMs, resolve);
        this.#onIdle = () => {
          limit.cancel();
          resolve();
        };
      });
    }
    this.#actor.send({ type: 'drained' });
  }

  #release(): void {
    this.#exchanges.cancelAll('the session has ended');
    this.#push.endAll();
    for (const server of this.#touched) this.#host.bus.publish(subjects.backendControl(server), { kind: 'session-ended', session: this.key });
    this.#host.released(this);
  }

  /** The client's; the latest until it has said. */
  get #revision(): Revision {
    return this.#actor.getSnapshot().context.revision ?? latestLegacyRevision;
  }

  // --- what a POST brings --------------------------------------------------------------------------------------------

  /** Continues the stream an event belongs to, and no other (2025-11-25, Resumability: only that stream's messages). */
  #resume(after: EventPosition, reader: StreamId, reply: Reply): void {
    const isResumed = this.#push.resume(after, reader, reply) || this.#posts.find(after.stream)?.resume(after.sequence, reader, reply) === true;
    if (!isResumed) reply({ kind: 'refused', fault: fault('stream.unknown') });
  }

  #receivePost(id: StreamId, messages: readonly PostedMessage[], reply: Reply): void {
    const requests = messages.filter(({ kind }) => kind === 'request').length;
    const stream = new PostStream(id, reply, requests, this.#posts);
    for (const posted of messages) {
      switch (posted.kind) {
        case 'request':
          this.#serve(posted.message, stream);
          break;
        case 'notification':
          this.#hearClient(posted.message);
          break;
        case 'response':
          if (!this.#clientRequests.answer(posted.message)) this.#host.metrics.dropped('response_unsolicited');
      }
    }
    if (requests === 0) reply({ kind: 'accepted' });
  }

  #hearClient({ method, params }: JsonRpcNotification): void {
    switch (method) {
      case 'notifications/initialized':
        this.#actor.send({ type: 'client.initialized' });
        return;
      case 'notifications/cancelled': {
        const id = params?.['requestId'];
        const reason = params?.['reason'];
        const outcome = isJsonRpcId(id) ? this.#exchanges.cancel(id, typeof reason === 'string' ? reason : 'the client cancelled the request') : 'unknown';
        if (outcome !== 'cancelled') this.#host.metrics.dropped(outcome === 'unknown' ? 'cancel_unknown' : 'cancel_ambiguous');
        return;
      }
      case 'notifications/roots/list_changed':
        for (const server of this.#touched) this.#host.bus.publish(subjects.backendControl(server), { kind: 'roots-changed', session: this.key });
        return;
      case 'notifications/progress':
        if (!this.#clientRequests.progress(params)) this.#host.metrics.dropped('notification_unknown');
        return;
      default:
        this.#host.metrics.dropped('notification_unknown');
    }
  }

  #serve(request: JsonRpcRequest, stream: PostStream): void {
    const { id, method, params } = request;
    const view = this.#host.view(this.caller);
    if (view === undefined) {
      this.#refuse(stream, id, 'session.unknown', 'this endpoint has left the configuration');
      return;
    }
    const kind = listKindOf(method);
    if (kind !== undefined) {
      this.#answerList(stream, id, kind, params, view);
      return;
    }
    switch (method) {
      case 'tools/call':
      case 'prompts/get':
      case 'resources/read':
      case 'resources/subscribe':
      case 'resources/unsubscribe':
      case 'completion/complete':
        this.#forward(stream, id, method, params, view);
        return;
      case 'ping':
        stream.answer(resultText(id, '{}'));
        return;
      case 'logging/setLevel':
        this.#setLogLevel(stream, id, params?.['level'], view);
        return;
      case 'initialize':
        this.#refuse(stream, id, 'session.initialized');
        return;
      default:
        this.#refuse(stream, id, 'method.unknown', `unknown method ${JSON.stringify(method.slice(0, 100))}`);
    }
  }

  #refuse(stream: PostStream, id: JsonRpcId, reason: ErrorReason, message?: string, data?: Readonly<Record<string, unknown>>): void {
    this.#host.metrics.refused(reason);
    stream.answerFault(id, fault(reason, message, data));
  }

  #answerList(stream: PostStream, id: JsonRpcId, kind: ListKind, params: JsonObject | undefined, view: View): void {
    const cursor = readCursor(params);
    const json = cursor === invalidCursor ? undefined : view.list(kind, cursor);
    if (json === undefined) this.#refuse(stream, id, 'cursor.invalid');
    else stream.answer(resultText(id, json));
  }

  #setLogLevel(stream: PostStream, id: JsonRpcId, level: unknown, view: View): void {
    if (!isLogLevel(level)) {
      this.#refuse(stream, id, 'params.invalid', `params.level must be one of ${logLevels.join(', ')}`);
      return;
    }
    this.#logLevel = level;
    for (const server of view.definition.servers) {
      this.#touched.add(server);
      this.#host.bus.publish(subjects.backendControl(server), { kind: 'log-level', session: this.key, level });
    }
    stream.answer(resultText(id, '{}'));
  }

  #wantsLog(params: JsonObject): boolean {
    const { level } = params;
    return this.#logLevel === undefined || !isLogLevel(level) || logLevels.indexOf(level) >= logLevels.indexOf(this.#logLevel);
  }

  #sourceName(view: View, server: ServerName): string | undefined {
    return view.definition.servers.length > 1 ? server : undefined;
  }

  // --- what goes to a server -------------------------------------------------------------------------------------------

  #forward(stream: PostStream, id: JsonRpcId, method: ExchangeMethod, params: JsonObject | undefined, view: View): void {
    const problem = paramsProblem(method, params);
    if (problem !== undefined || params === undefined) {
      this.#refuse(stream, id, 'params.invalid', problem);
      return;
    }
    if (this.#exchanges.size >= this.#host.limits.maxInFlightPerSession) {
      this.#refuse(stream, id, 'session.busy');
      return;
    }
    const progressToken = isObject(params['_meta']) ? params['_meta']['progressToken'] : undefined;
    const call: ForwardedCall = { stream, id, method, view, progressToken: isJsonRpcId(progressToken) ? progressToken : undefined };
    switch (method) {
      case 'tools/call': {
        const name = params['name'] as string;
        const route = view.toolRoute(name);
        if (route === undefined) this.#refuse(stream, id, 'tool.unknown', `unknown tool ${JSON.stringify(name.slice(0, 100))}`);
        else this.#start(call, route, toolParams(params, route), ['tool', name], route.original);
        return;
      }
      case 'prompts/get': {
        const name = params['name'] as string;
        const route = view.promptRoute(name);
        if (route === undefined) this.#refuse(stream, id, 'prompt.unknown', `unknown prompt ${JSON.stringify(name.slice(0, 100))}`);
        else this.#start(call, route, { ...withoutToken(params), name: route.original }, ['prompt', name]);
        return;
      }
      case 'resources/read':
      case 'resources/subscribe':
      case 'resources/unsubscribe': {
        const uri = params['uri'] as string;
        const subject: Subject = ['resource', uri];
        const withUri = (original: string): JsonObject => ({ ...withoutToken(params), uri: original });
        const route = view.resourceRoute(uri) ?? this.#handedOutRoute(uri);
        if (route !== undefined) this.#start(call, route, withUri(route.original), subject);
        else this.#probe(call, view.serversWith('resources'), uri, withUri(uri), subject);
        return;
      }
      case 'completion/complete':
        this.#complete(call, params);
    }
  }

  #complete(call: ForwardedCall, params: JsonObject): void {
    const { stream, id, view } = call;
    const ref = params['ref'] as JsonObject;
    const isPrompt = ref['type'] === 'ref/prompt';
    const named = (isPrompt ? ref['name'] : ref['uri']) as string;
    const route = isPrompt ? view.promptRoute(named) : view.resourceRoute(named);
    if (route === undefined) {
      this.#refuse(stream, id, isPrompt ? 'prompt.unknown' : 'resource.unknown', undefined, isPrompt ? undefined : { uri: named });
    } else if (view.serversWith('completions').includes(route.server)) {
      const original = isPrompt ? { ...ref, name: route.original } : { ...ref, uri: route.original };
      this.#start(call, route, { ...withoutToken(params), ref: original }, ['completion of', named]);
    } else {
      stream.answer(resultText(id, '{"completion":{"values":[]}}'));
    }
  }

  #handedOutRoute(uri: string): Route | undefined {
    const server = this.#handedOut.get(uri);
    return server === undefined ? undefined : { server, original: uri };
  }

  #start(call: ForwardedCall, { server }: Route, params: JsonObject, subject: Subject, tool?: string): void {
    this.#exchange(call, { server, params, subject, tool }, (outcome) => this.#answerOutcome(call, server, outcome));
  }

  /** Asks the servers one after the other for a URI that no list or template names; the first that knows it answers. */
  #probe(call: ForwardedCall, servers: readonly ServerName[], uri: string, params: JsonObject, subject: Subject): void {
    const [server, ...others] = servers;
    if (server === undefined) {
      this.#refuse(call.stream, call.id, 'resource.unknown', undefined, { uri });
      return;
    }
    this.#exchange(call, { server, params, subject, tool: undefined }, (outcome) => {
      if (outcome.kind === 'result' || others.length === 0) this.#answerOutcome(call, server, outcome);
      else this.#probe(call, others, uri, params, subject);
    });
  }

  #exchange(call: ForwardedCall, { server, params, subject, tool }: Destination, settled: (outcome: ExchangeOutcome) => void): void {
    const { stream, progressToken, view } = call;
    const { bus, wheel, nextExchangeId, timeLimits } = this.#host;
    this.#touched.add(server);
    const open = new OpenRequest(call.id, (reason) => {
      running.cancel(reason);
      this.#clientRequests.withdrawAll(running, reason);
      stream.leaveUnanswered(); // S2
    });
    const running = new Exchange(bus, wheel, {
      exchange: nextExchangeId(), server, method: call.method, params, subject, limits: timeLimits(server, tool),
      context: { principal: this.caller.principal, session: this.key, capabilities: this.#capabilities, wantsProgress: progressToken !== undefined },
    }, {
      progress: (event) => {
        if (progressToken !== undefined) stream.send(progressText(progressToken, event)); // S1
      },
      log: (entry) => {
        if (this.#wantsLog(entry)) stream.send(logText(entry, this.#sourceName(view, server)));
      },
      input: (event) => this.#askClient(running, stream, event),
      inputWithdrawn: (input, reason) => this.#clientRequests.withdraw(running, input, reason),
      settled: (outcome) => {
        this.#clientRequests.withdrawAll(running, 'the call has ended');
        this.#exchanges.remove(open);
        settled(outcome);
        if (this.#exchanges.size === 0) this.#onIdle?.();
      },
    });
    this.#exchanges.add(open);
  }

  #askClient(asker: Exchange, stream: PostStream, { input, method, params, movedFrom }: Extract<ExchangeEvent, { kind: 'input' }>): void {
    if (movedFrom !== undefined && this.#clientRequests.move(movedFrom, input, asker)) return;
    const refuse = (code: number, message: string): void => asker.answerInput(input, { error: { code, message } });
    if (!(inputCapabilities[method] in this.#capabilities)) {
      refuse(-32_601, `the client declared no capability for ${method}`);
      return;
    }
    const question = downLevelQuestion(method, params, this.#revision);
    if ('problem' in question) refuse(-32_602, question.problem);
    else this.#clientRequests.ask({ asker, input, stream }, method, question.params);
  }

  #answerOutcome({ stream, id, method, view }: ForwardedCall, server: ServerName, outcome: ExchangeOutcome): void {
    const mapUri = view.resources.hasAliases(server) ? (uri: string): string => view.resources.publicUri(server, uri) : undefined;
    switch (outcome.kind) {
      case 'result': {
        if (method === 'tools/call') this.#rememberLinks(server, outcome.result);
        const result = mapUri === undefined ? outcome.result : mapResultUris(method, outcome.result, mapUri);
        stream.answer(resultText(id, JSON.stringify(downLevelResult(method, result, this.#revision))));
        return;
      }
      case 'error': {
        const error = plainError(outcome.error);
        stream.answer(errorText(id, mapUri === undefined ? error : mapErrorUri(error, mapUri)));
        return;
      }
      case 'fault':
        this.#host.metrics.refused(outcome.fault.reason);
        stream.answer(errorText(id, toErrorObject(outcome.fault)));
    }
  }

  #rememberLinks(server: ServerName, result: JsonObject): void {
    for (const uri of linkedUris(result)) {
      this.#handedOut.delete(uri);
      this.#handedOut.set(uri, server);
      if (this.#handedOut.size > maxHandedOut) this.#handedOut.delete(this.#handedOut.keys().next().value as string);
    }
  }
}

/** A request of the client on its way, whichever servers it goes to. */
interface ForwardedCall {
  readonly stream: PostStream;
  readonly id: JsonRpcId;
  readonly method: ExchangeMethod;
  readonly view: View;
  readonly progressToken: JsonRpcId | undefined;
}

/** One server such a request goes to, and as what. */
interface Destination {
  readonly server: ServerName;
  readonly params: JsonObject;
  readonly subject: Subject;
  /** The tool's own name, for its time limits. */
  readonly tool: string | undefined;
}

/** The parameters without this hop's progress token: each hop has its own. */
function withoutToken(params: JsonObject): JsonObject {
  const meta = params['_meta'];
  if (!isObject(meta) || !('progressToken' in meta)) return params;
  const { progressToken: _token, ...rest } = meta;
  return { ...params, _meta: rest };
}

function toolParams(params: JsonObject, { original, pinned }: Route): JsonObject {
  const named = { ...withoutToken(params), name: original };
  return pinned === undefined ? named : { ...named, arguments: { ...(params['arguments'] as JsonObject | undefined), ...pinned } };
}

/** A client may leave the cursor out or send null; the empty string is a cursor, only never one of ours. */
function readCursor(params: JsonObject | undefined): string | undefined | typeof invalidCursor {
  const cursor = params?.['cursor'];
  if (cursor === undefined || cursor === null) return undefined;
  return typeof cursor === 'string' ? cursor : invalidCursor;
}
