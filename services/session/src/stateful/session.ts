/**
 * One client session: the shell around `machine.ts` that answers requests from the view and carries the rest to servers.
 *
 * Invariants
 *  S1  A message of one request goes to the POST that carried the request, and nothing follows its answer.
 *  S2  Every request is answered exactly once, unless it was cancelled; then never.
 *  S3  A caller that is not the session's own, or comes by another endpoint, is told that there is no such session.
 */
import { subjects } from '@omnibus/bus';
import type { View } from '@omnibus/catalog';
import { startActor } from '@omnibus/lifecycle';
import {
  changeKinds, fault, featuresOf, isCustomMethod, isCustomNotification, isJsonRpcId, isObject, latestLegacyRevision, listKindOf, negotiateRevision, notificationText, resultText, sessionExtensions, declaredBy,
  type Caller, type ChangeKind, type ErrorReason, type ExchangeMethod, type JsonObject, type JsonRpcId, type LegacyRevision, type Declared,
  type JsonRpcNotification, type JsonRpcRequest, type LateReply, type PostedMessage, type Revision, type ServerName, type ServerNotice,
  type SessionCommand, type SessionKey, type SessionRecord, type StreamId, type WorkerId,
} from '@omnibus/protocol';
import type { ActorRefFrom } from 'xstate';
import { PostStream, type PostCommand } from '../streams/post-stream.ts';
import { downLevelError, downLevelResult } from '../dialect/legacy/down-level.ts';
import { plainModernError, plainResult } from '../dialect/legacy/from-modern.ts';
import { offeredCapabilities } from '../dialect/capabilities.ts';
import { initializeResult } from '../dialect/legacy/handshake.ts';
import { ClientLogLevel } from '../dialect/legacy/log-level.ts';
import { logText, progressText } from '../dialect/messages.ts';
import { Forwarding, type ClientPort, type ServerAnswer } from '../call/forward.ts';
import type { SessionHost } from '../host.ts';
import { sessionMachine } from './machine.ts';
import { OfferWait } from '../views/offer-wait.ts';
import { PushStreams } from '../streams/push-streams.ts';
import { ServerQuestions } from './server-questions.ts';
import type { SentEvent } from '../streams/kept-frames.ts';
import type { Reply, ResumableStream, StreamHome } from '../streams/resumable-stream.ts';
import { Returning } from '../streams/returning.ts';
import { LinkedResources } from '../call/routes/linked-resources.ts';
import { listPage } from '../call/routes/list-page.ts';
import { capabilities as capabilityNames, missingCapability, offeredBy } from '../call/routes/needed-capability.ts';
import { publicElicitation } from '../public-ids/elicitation-ids.ts';
import { StreamTable } from '../streams/stream-table.ts';

/** What is still on its way when a worker has to go. */
const interrupted = fault('gateway.interrupted', 'the part of the gateway that served the request had to stop before the server answered');

export class Session {
  readonly key: SessionKey;
  readonly caller: Caller;
  readonly #host: SessionHost;
  readonly #actor: ActorRefFrom<typeof sessionMachine>;
  readonly #forwarding: Forwarding<PostStream>;
  readonly #posts: StreamTable;
  readonly #push: PushStreams;
  /** What servers may ask of this client. */
  #capabilities: JsonObject = {};
  readonly #logLevel: ClientLogLevel;
  #lastActivityAt = performance.now();
  #onIdle: (() => void) | undefined;
  readonly #hooks: SessionHooks;
  /** What the client declared, as it did. */
  #declared: JsonObject = {};
  /** As far as what it is offered depends on it. */
  declared: Declared = declaredBy({}, true);
  readonly #offerWait: OfferWait;
  #declaredBytes = 0;
  #isReady = false;
  /** What it was told that there is. Lists of what it was not told of are not announced to it. */
  #offered: ReadonlySet<string> = new Set();
  /** The client has asked something or opened a stream. */
  isUsed = false;
  readonly #questions: ServerQuestions;
  readonly #returning: Returning;

  constructor(key: SessionKey, caller: Caller, host: SessionHost, hooks: SessionHooks) {
    this.key = key;
    this.caller = caller;
    this.#host = host;
    this.#hooks = hooks;
    this.#forwarding = new Forwarding(host, this.#party(), new LinkedResources(), { idle: () => this.#onIdle?.(), touched: () => this.#hooks.changed(this) });
    this.#logLevel = new ClientLogLevel({
      ask: (server, params, settled) => this.#forwarding.ask(server, 'logging/setLevel', params, ['request', 'logging/setLevel'], settled),
      tell: (server, level) => {
        this.#forwarding.touched.add(server);
        host.bus.publish(subjects.backendControl(server), { kind: 'log-level', session: key, level });
      },
      changed: () => this.#hooks.changed(this),
    });
    this.#offerWait = new OfferWait({ key, caller, offers: host.offers, capabilities: () => this.#capabilities, declared: () => this.declared, told: (server) => this.#forwarding.touched.add(server) });
    const { streams } = host;
    const keeper = streams === undefined ? undefined : { keep: (stream: StreamId, event: SentEvent) => streams.append(subjects.stream(key, stream), { kind: 'sent', ...event }) };
    const home: StreamHome = { share: host.frames.share(), keeper };
    this.#posts = new StreamTable(home);
    this.#push = new PushStreams({ home, onDrop: () => host.metrics.dropped('queue_full'), isThere: host.isEdgeThere });
    this.#questions = new ServerQuestions({
      key, host,
      capabilities: () => this.#capabilities,
      revision: () => this.#revision,
      publicQuestion: ({ server, params, place }) => this.#forwarding.publicQuestion(server, params, { place }),
      originalMention: (answer) => this.#forwarding.originalMention(answer),
      push: (text) => this.#push.push(text),
      changed: () => this.#hooks.changed(this),
    });
    this.#returning = new Returning({ key, host, posts: this.#posts, push: this.#push, heldBefore: () => this.#questions.heldBefore });
    this.#actor = startActor(sessionMachine.provide({
      actions: {
        announcePending: () => {
          this.#isReady = true;
          this.#push.clientReady();
          this.#hooks.changed(this);
        },
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
    return this.#forwarding.size > 0 || this.#push.size > 0 ? 0 : now - this.#lastActivityAt;
  }

  /** Of the machine. */
  get state(): string {
    return this.#actor.getSnapshot().value;
  }

  /** Answers `initialize`. The result as JSON-RPC text. */
  open(request: JsonRpcRequest, view: View): string {
    const { protocolVersion, capabilities } = request.params ?? {};
    const revision = negotiateRevision(String(protocolVersion));
    this.#declare(isObject(capabilities) ? capabilities : {});
    this.#offered = new Set(offeredBy(view));
    // Its first list is not far.
    void this.#offerWait.begin();
    this.#actor.send({ type: 'client.initialize', revision, capabilities: this.#declared });
    return resultText(request.id, JSON.stringify(initializeResult(revision, view)));
  }

  #declare(capabilities: JsonObject): void {
    this.#declared = capabilities;
    this.#declaredBytes = JSON.stringify(capabilities).length;
    this.#capabilities = offeredCapabilities(capabilities, sessionExtensions);
    this.declared = declaredBy(this.#capabilities, true);
    // Seen or not by its client: from now on it is told when this changes.
    this.#host.view(this.caller, this.declared);
  }

  /** Of what the client declared and subscribed to; the rest of what is kept of it has a bound of its own. */
  get keptBytes(): number {
    return this.#declaredBytes + this.#forwarding.subscriptions.reduce((bytes, [server, uri]) => bytes + server.length + uri.length, 0);
  }

  /** @param edge where the client is; undefined in one process. */
  receive(command: SessionCommand, reply: Reply, edge?: WorkerId): void {
    this.#lastActivityAt = performance.now();
    if (command.kind === 'detach') {
      if (!this.#push.detach(command.stream, command.reader)) this.#posts.find(command.stream)?.detach(command.reader);
      return;
    }
    if (command.kind === 'probe') {
      reply({ kind: 'probed', missing: this.#posts.missing(command.streams).filter((id) => !this.#push.has(id)) });
      return;
    }
    if (command.caller.principal !== this.caller.principal || command.caller.endpoint !== this.caller.endpoint) {
      reply({ kind: 'refused', fault: fault('session.unknown') }); // S3
      return;
    }
    switch (command.kind) {
      case 'post':
        this.#receivePost(command, [command.message], reply, edge);
        return;
      case 'batch':
        if (featuresOf(this.#revision).batching) this.#receivePost(command, command.messages, reply, edge);
        else reply({ kind: 'refused', fault: fault('batch.unsupported') });
        return;
      case 'attach':
        this.isUsed = true;
        if (command.after !== undefined) this.#returning.resume(command.after, command.stream, reply, edge);
        else if (this.#push.size >= this.#host.limits.maxStreamsPerSession) reply({ kind: 'refused', fault: fault('stream.limit') });
        else this.#push.attach(command.stream, reply, edge);
        return;
      case 'delete':
        this.#actor.send({ type: 'client.deleted' });
        reply({ kind: 'accepted' });
        return;
      default:
        // Of a newer edge.
        reply({ kind: 'refused', fault: fault('command.unknown') });
    }
  }

  hear(notice: Exclude<ServerNotice, { readonly kind: 'adapter-changed' }>): void {
    const view = this.#host.view(this.caller, this.declared);
    if (view?.definition.servers.includes(notice.server) !== true || !notice.sessions.includes(this.key)) return;
    switch (notice.kind) {
      case 'question':
        this.#questions.outsideCalls(notice);
        return;
      case 'question-withdrawn':
        this.#questions.withdrawOutsideCalls(notice);
        return;
      case 'task-status':
        if (featuresOf(this.#revision).tasks) {
          this.#push.push(notificationText('notifications/tasks/status', this.#forwarding.publicTask(notice)));
        }
        return;
      case 'task-progress':
        this.#forwarding.taskProgressed(notice);
        return;
      case 'resource-updated':
        this.#push.push(notificationText('notifications/resources/updated', { ...notice.more, uri: view.resources.publicUri(notice.server, notice.uri) }));
        return;
      case 'log':
        // What belongs to no call is only for those who asked for logs.
        if (this.#logLevel.current !== undefined && this.#logLevel.wants(notice.params)) this.#push.push(logText(notice.params, this.#sourceName(view, notice.server)));
        return;
      case 'notification':
        this.#push.push(notificationText(notice.method, notice.params === undefined ? undefined : this.#forwarding.publicMention(notice.server, notice.params)));
        return;
      case 'elicitation-complete':
        this.#push.push(notificationText('notifications/elicitation/complete', publicElicitation(notice.server, { ...notice.more, elicitationId: notice.elicitationId })));
    }
  }

  listsChanged(kinds: readonly ChangeKind[]): void {
    this.#push.listsChanged(kinds.filter((kind) => this.#offered.has(kind)));
  }

  expire(): void {
    this.#actor.send({ type: 'idle.noted' });
  }

  /** What another worker revives it from. */
  record(worker: WorkerId): SessionRecord {
    const { standing } = this.#questions;
    return {
      caller: this.caller, revision: this.#revision as LegacyRevision, capabilities: this.#declared, isReady: this.#isReady, worker, touched: [...this.#forwarding.touched],
      subscriptions: this.#forwarding.subscriptions, bound: this.#forwarding.bound, offered: [...this.#offered],
      ...(this.#logLevel.current === undefined ? {} : { logLevel: this.#logLevel.current }),
      ...(standing.length === 0 ? {} : { questions: standing }),
    };
  }

  /** Goes on where the worker that held it left off. What the client may have missed of changed lists, it is told again. */
  restore(record: SessionRecord): void {
    const { revision, capabilities, isReady, logLevel, touched, subscriptions, bound, offered } = record;
    // A worker of an older version told its clients of everything.
    this.#offered = new Set(offered ?? capabilityNames);
    this.#forwarding.subscriptions = subscriptions;
    for (const [server, at] of bound ?? []) this.#forwarding.bind(server, at);
    this.#declare(capabilities);
    this.#logLevel.current = logLevel;
    for (const server of touched) this.#forwarding.touched.add(server);
    this.#questions.restore(record);
    this.#actor.send({ type: 'client.initialize', revision, capabilities });
    if (!isReady) return;
    this.#actor.send({ type: 'client.initialized' });
    this.listsChanged(changeKinds);
  }

  /** Waits for running requests up to the limit, and sends its streams to whoever goes on with it. */
  async handOver(limitMs: number): Promise<void> {
    await this.#idle(limitMs);
    this.#forwarding.failAll(interrupted);
    this.#push.moveAll();
    this.#posts.forgetAll();
  }

  /** Of these streams those it still works on. */
  openStreams(streams: readonly StreamId[]): StreamId[] {
    const open = this.#posts.openIds();
    return streams.filter((id) => open.has(id));
  }

  detachFrom(isGone: (edge: WorkerId) => boolean): number {
    const isLost = ({ edge }: ResumableStream): boolean => edge !== undefined && isGone(edge);
    return this.#detachAll(isLost);
  }

  detachReaders(gone: ReadonlySet<StreamId>): number {
    return this.#detachAll(({ edge, reader }) => edge !== undefined && gone.has(reader));
  }

  readers(hear: (edge: WorkerId, reader: StreamId) => void): void {
    for (const { edge, reader } of this.#push.read) if (edge !== undefined) hear(edge, reader);
  }

  /** What waited for a stream is said where there is another. @returns how many were detached. */
  #detachAll(isGone: (stream: ResumableStream) => boolean): number {
    const pushed = this.#push.read.filter(isGone);
    for (const { id, reader } of pushed) this.#push.detach(id, reader);
    for (const stream of this.#posts.open) if (isGone(stream)) stream.detach(stream.reader);
    this.#push.flush();
    return pushed.length;
  }

  /** An adapter came or went: what those that are there are to know of this session is said again. */
  adaptersChanged(server: ServerName): void {
    if (!this.#forwarding.touched.has(server)) return;
    this.#logLevel.tell(server);
    this.#forwarding.subscribeAgain(server);
  }

  /** Another worker holds it by now. */
  abandon(): void {
    this.#forwarding.failAll(interrupted);
    this.#push.moveAll();
    this.#posts.forgetAll();
  }

  /** Ends the streams, waits for running requests up to the limit, ends. */
  async drain(limitMs: number): Promise<void> {
    this.#actor.send({ type: 'drain.requested' });
    await this.#idle(limitMs);
    this.#forwarding.failAll(interrupted);
    this.#actor.send({ type: 'drained' });
  }

  async #idle(limitMs: number): Promise<void> {
    if (this.#forwarding.size > 0) {
      await new Promise<void>((resolve) => {
        const limit = this.#host.wheel.schedule(limitMs, resolve);
        this.#onIdle = () => {
          limit.cancel();
          resolve();
        };
      });
    }
  }

  #release(): void {
    this.#forwarding.cancelAll('the session has ended');
    this.#push.endAll();
    this.#posts.forgetAll();
    for (const server of this.#forwarding.touched) this.#host.bus.publish(subjects.backendControl(server), { kind: 'session-ended', session: this.key });
    this.#hooks.released(this);
  }

  /** The client's; the latest until it has said. */
  get #revision(): Revision {
    return this.#actor.getSnapshot().context.revision ?? latestLegacyRevision;
  }

  // --- what a POST brings --------------------------------------------------------------------------------------------

  #receivePost(command: PostCommand, messages: readonly PostedMessage[], reply: Reply, edge: WorkerId | undefined): void {
    const refusals = (command.kind === 'batch' ? command.refusals : undefined) ?? [];
    const requests = messages.filter(({ kind }) => kind === 'request').length + refusals.length;
    const stream = new PostStream(command, reply, requests, this.#posts, edge);
    for (const refusal of refusals) stream.answer(refusal);
    const late: Promise<LateReply['outcome'] | 'silence'>[] = [];
    for (const posted of messages) {
      switch (posted.kind) {
        case 'request':
          this.#serve(posted.message, stream);
          break;
        case 'notification':
          this.#hearClient(posted);
          break;
        case 'response':
          if (!this.#questions.takeAnswer(posted.message)) late.push(this.#questions.passOn(posted, posted.message.id));
      }
    }
    if (requests > 0) return;
    if (late.length === 0) {
      reply({ kind: 'accepted' });
      return;
    }
    // A user whose answer nobody uses is not to believe that it was (2025-11-25 transports: what is not accepted is answered with an HTTP error).
    void Promise.all(late).then((outcomes) => {
      const reason = outcomes.includes('gone') ? 'question.lost' : outcomes.includes('silence') ? 'gateway.unavailable' : undefined;
      reply(reason === undefined ? { kind: 'accepted' } : { kind: 'refused', fault: fault(reason) });
    });
  }

  /** What the client says of what is open here, as it comes from the worker that holds the session now. */
  hearLate(posted: PostedMessage): LateReply['outcome'] {
    const isTaken = posted.kind === 'response' ? this.#questions.takeAnswer(posted.message) : posted.kind === 'notification' && this.#hearOpen(posted.message);
    return isTaken ? 'taken' : 'closed';
  }

  /** Of what concerns something that is open here. @returns false when it does not. */
  #hearOpen({ method, params }: JsonRpcNotification): boolean {
    if (method === 'notifications/progress') return this.#questions.takeProgress(params);
    return method === 'notifications/cancelled' && this.#cancel(params) === 'cancelled';
  }

  #cancel(params: JsonObject | undefined): ReturnType<Forwarding<PostStream>['cancel']> {
    const id = params?.['requestId'];
    const reason = params?.['reason'];
    if (isJsonRpcId(id) && this.#offerWait.cancel(id)) return 'cancelled';
    return isJsonRpcId(id) ? this.#forwarding.cancel(id, typeof reason === 'string' ? reason : 'the client cancelled the request') : 'unknown';
  }

  #hearClient(posted: Extract<PostedMessage, { kind: 'notification' }>): void {
    const { method, params } = posted.message;
    switch (method) {
      case 'notifications/initialized':
        this.#actor.send({ type: 'client.initialized' });
        return;
      case 'notifications/cancelled': {
        const outcome = this.#cancel(params);
        if (outcome === 'unknown' && this.#questions.heldBefore !== undefined) void this.#questions.passTo(this.#questions.heldBefore, posted);
        else if (outcome !== 'cancelled') this.#host.metrics.dropped(outcome === 'unknown' ? 'cancel_unknown' : 'cancel_ambiguous');
        return;
      }
      case 'notifications/roots/list_changed':
        for (const server of this.#forwarding.touched) this.#host.bus.publish(subjects.backendControl(server), { kind: 'roots-changed', session: this.key });
        return;
      case 'notifications/progress':
        if (!this.#questions.takeProgress(params)) void this.#questions.passOn(posted, params?.['progressToken']);
        return;
      default:
        if (isCustomNotification(method)) this.#forwarding.notify(method, params, this.#host.view(this.caller, this.declared));
        else this.#host.metrics.dropped('notification_unknown');
    }
  }

  #serve(request: JsonRpcRequest, stream: PostStream): void {
    const { id, method, params } = request;
    this.isUsed = true;
    const view = this.#host.view(this.caller, this.declared);
    if (view === undefined) {
      this.#refuse(stream, id, 'session.unknown', 'this endpoint has left the configuration');
      return;
    }
    const lacking = missingCapability(request, view, this.#offered);
    if (lacking !== undefined) {
      this.#refuse(stream, id, 'method.unknown', lacking);
      return;
    }
    const kind = listKindOf(method);
    if (kind !== undefined) {
      if (this.#isHeld(request, stream)) return;
      const json = listPage(view, kind, params);
      if (json === undefined) this.#refuse(stream, id, 'cursor.invalid');
      else stream.answer(resultText(id, json));
      return;
    }
    switch (method) {
      case 'resources/subscribe':
        if (this.#hasRoomFor(params?.['uri'])) this.#forwarding.forward(stream, id, method, params, view);
        else this.#refuse(stream, id, 'params.invalid', `a session is kept ${this.#host.limits.maxSessionBytesPerSession} bytes of capabilities and subscriptions (limits.maxSessionBytesPerSession); params.uri is too much`);
        return;
      case 'tools/call':
      case 'prompts/get':
      case 'resources/read':
      case 'resources/unsubscribe':
      case 'completion/complete':
      case 'skills/list':
      case 'skills/get':
      case 'resources/directory/read':
        // Of a client that has kept a list, and asks for none.
        if (method === 'tools/call' && typeof params?.['name'] === 'string' && view.toolRoute(params['name']) === undefined && this.#isHeld(request, stream)) return;
        this.#forwarding.forward(stream, id, method, params, view);
        return;
      case 'tasks/get':
      case 'tasks/result':
      case 'tasks/cancel':
      case 'tasks/list':
        if (featuresOf(this.#revision).tasks && view.taskServers().length > 0) this.#forwarding.forward(stream, id, method, params, view);
        else this.#refuse(stream, id, 'method.unknown', `${method}: no server behind this endpoint runs tasks`);
        return;
      case 'ping':
        stream.answer(resultText(id, '{}'));
        return;
      case 'logging/setLevel':
        this.#logLevel.set(params ?? {}, view.definition.servers, {
          answerMember: (member) => stream.answerMember(id, member),
          refuse: ({ reason, message }) => this.#refuse(stream, id, reason, message),
        });
        return;
      case 'initialize':
        this.#refuse(stream, id, 'session.initialized');
        return;
      default:
        if (isCustomMethod(method)) this.#forwarding.forward(stream, id, method, params, view);
        else this.#refuse(stream, id, 'method.unknown', `unknown method ${JSON.stringify(method.slice(0, 100))}`);
    }
  }

  #isHeld(request: JsonRpcRequest, stream: PostStream): boolean {
    return this.#offerWait.holds(request.id, () => this.#serve(request, stream), () => stream.leaveUnanswered()); // S2
  }

  #hasRoomFor(uri: unknown): boolean {
    if (typeof uri !== 'string') return true; // Which is refused for that.
    return this.keptBytes + uri.length <= this.#host.limits.maxSessionBytesPerSession && this.#host.hasRoomFor(uri.length);
  }

  #refuse(stream: PostStream, id: JsonRpcId, reason: ErrorReason, message?: string, data?: Readonly<Record<string, unknown>>): void {
    this.#host.metrics.refused(reason);
    stream.refuse(id, fault(reason, message, data));
  }

  // --- what the forwarding of requests needs to know ---------------------------------------------------------------------

  #party(): ClientPort<PostStream> {
    return {
      key: this.key,
      caller: this.caller,
      standsAlone: false,
      logLevel: () => this.#logLevel.current,
      capabilities: () => this.#capabilities,
      takesTasks: () => false,
      knowsTasks: () => featuresOf(this.#revision).tasks,
      push: (text) => this.#push.push(text),
      progressText,
      logText: (params, view, server) => (this.#logLevel.wants(params) ? logText(params, this.#sourceName(view, server)) : undefined),
      ask: (asker, { stream }, _server, event) => this.#questions.ofCall(asker, stream, event),
      inputWithdrawn: (asker, input, reason) => this.#questions.withdraw(asker, input, reason),
      askerEnded: (asker, reason) => this.#questions.withdrawAll(asker, reason),
      answerOf: (method, answer, wrapsOutput) => this.#legacyAnswer(method, answer, wrapsOutput),
    };
  }

  #legacyAnswer(method: ExchangeMethod, answer: ServerAnswer, wrapsOutput: boolean): ServerAnswer {
    const plain = answer.kind === 'error' ? plainModernError(method, answer.error) : answer;
    if (plain.kind === 'error') return downLevelError(method, plain.error, this.#revision);
    return { kind: 'result', result: downLevelResult(method, plainResult(plain.result, wrapsOutput), this.#revision) };
  }

  #sourceName(view: View, server: ServerName): string | undefined {
    return view.definition.servers.length > 1 ? server : undefined;
  }
}

/** What the worker wants to know of a session. */
export interface SessionHooks {
  /** It has ended. */
  released(session: Session): void;
  /** Its record is old. */
  changed(session: Session): void;
}
