/**
 * One client session: the shell around `machine.ts`, from `initialize` to its end, at this worker or at the next.
 *
 * Invariants
 *  S1  A message of one request goes to the POST that carried the request, and nothing follows its answer.
 *  S2  Every request is answered exactly once, unless it was cancelled; then never.
 *  S3  A caller that is not the session's own, or comes by another endpoint, is told that there is no such session.
 */
import type { Blocks } from '@omnibus/bus';
import type { View } from '@omnibus/catalog';
import { startActor } from '@omnibus/lifecycle';
import {
  changeKinds, clientInfoOf, fault, isObject, latestLegacyRevision, negotiateRevision, resultText,
  type Caller, type ChangeKind, type ClientInfo, type Declared, type JsonObject, type JsonRpcRequest, type LateReply, type LegacyRevision, type PostedMessage,
  type ServerName, type SessionCommand, type SessionKey, type SessionRecord, type WorkerId,
} from '@omnibus/protocol';
import type { ActorRefFrom } from 'xstate';
import { Forwarding } from '../call/forward.ts';
import { LinkedResources } from '../call/routes/linked-resources.ts';
import { capabilities as capabilityNames, offeredBy } from '../call/routes/needed-capability.ts';
import { legacyDialect, type LegacyDialect } from '../dialect/legacy/dialect.ts';
import { initializeResult } from '../dialect/legacy/handshake.ts';
import type { PostStream } from '../streams/post-stream.ts';
import type { Reply } from '../streams/resumable-stream.ts';
import { SessionStreams } from '../streams/session-streams.ts';
import { OfferWait } from '../views/offer-wait.ts';
import { levelOf } from './session-level.ts';
import { sessionMachine } from './machine.ts';
import { hearNotice, type SessionNotice } from './notices.ts';
import { Posted } from './posted.ts';
import { Serving } from './serve.ts';
import { ServerQuestions } from './server-questions.ts';
import { SessionClient } from './session-client.ts';
import type { SessionHost } from './session-host.ts';
import { keptOf, type SessionParts } from './session-parts.ts';
import { SessionSight } from './session-sight.ts';

/** What is still on its way when a worker has to go. */
const interrupted = fault('gateway.interrupted', 'the part of the gateway that served the request had to stop before the server answered');

/** What the worker wants to know of a session. */
export interface SessionHooks {
  /** It has ended. */
  released(session: Session): void;
  /** Its record is old. */
  changed(session: Session): void;
}

export class Session {
  readonly key: SessionKey;
  readonly caller: Caller;
  /** The client has asked something or opened a stream. */
  isUsed = false;
  readonly #hooks: SessionHooks;
  readonly #parts: SessionParts;
  readonly #actor: ActorRefFrom<typeof sessionMachine>;
  readonly #serving: Serving;
  readonly #posted: Posted;
  #lastActivityAt = performance.now();
  #onIdle: (() => void) | undefined;

  constructor(key: SessionKey, caller: Caller, host: SessionHost, hooks: SessionHooks) {
    this.key = key;
    this.caller = caller;
    this.#hooks = hooks;
    this.#parts = this.#partsOf(host);
    this.#serving = new Serving(this.#parts);
    this.#posted = new Posted(this.#parts, this.#serving, () => this.#actor.send({ type: 'client.initialized' }));
    this.#actor = startActor(sessionMachine.provide({
      actions: {
        announcePending: () => {
          this.#parts.streams.clientReady();
          // The machine's new state can be read only after this.
          queueMicrotask(() => hooks.changed(this));
        },
        endStreams: () => this.#parts.streams.endStanding(),
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

  #partsOf(host: SessionHost): SessionParts {
    const { key, caller } = this;
    const dialect = (): LegacyDialect => legacyDialect(this.#actor.getSnapshot().context.revision ?? latestLegacyRevision);
    const changed = (): void => this.#hooks.changed(this);
    const streams = new SessionStreams(key, host, () => questions.heldBefore);
    const level = levelOf(key, host, () => forwarding, changed);
    const client = new SessionClient({ host, key, caller, streams, level, dialect, questions: () => questions });
    const forwarding: Forwarding<PostStream> = new Forwarding(host, client, new LinkedResources(), { idle: () => this.#onIdle?.(), keptChanged: changed });
    const questions: ServerQuestions = new ServerQuestions({ key, host, client, words: forwarding.words, push: streams.push, changed });
    const offerWait = new OfferWait({ key, place: host.placeOf(caller), offers: host.offers, client, told: (server) => forwarding.kept.contacted.add(server) });
    return { host, client, sight: new SessionSight(host, client), streams, forwarding, questions, offerWait };
  }

  /** Where its life stands (`machine.ts`). */
  get state(): string {
    return this.#actor.getSnapshot().value;
  }

  get streams(): SessionStreams {
    return this.#parts.streams;
  }

  /** As far as what the client is offered depends on it. */
  get declared(): Declared {
    return this.#parts.client.declared;
  }

  /** Bytes kept of what the client declared and subscribed to. */
  get keptBytes(): number {
    return this.#serving.keptBytes;
  }

  get size(): number {
    return this.#parts.forwarding.size;
  }

  /** Milliseconds since anything happened; 0 while something is open. */
  idleMs(now: number): number {
    const { forwarding, streams } = this.#parts;
    return forwarding.size > 0 || streams.standing > 0 ? 0 : now - this.#lastActivityAt;
  }

  // --- its beginning, here or at another worker -------------------------------------------------------------------------------

  /** Answers `initialize`. The result as JSON-RPC text. @param asking its caller with what an edge says of it. */
  open(request: JsonRpcRequest, view: View, asking: Caller): string {
    this.#parts.client.asking = asking;
    const { protocolVersion, capabilities: given, clientInfo } = request.params ?? {};
    const revision = negotiateRevision(String(protocolVersion));
    const capabilities = isObject(given) ? given : {};
    this.#declare(capabilities, clientInfoOf(clientInfo));
    this.#parts.client.offered = new Set(offeredBy(view));
    // Its first list is not far.
    void this.#parts.offerWait.begin();
    this.#actor.send({ type: 'client.initialize', revision, capabilities });
    return resultText(request.id, JSON.stringify(initializeResult(revision, view)));
  }

  #declare(capabilities: JsonObject, info: ClientInfo | undefined): void {
    this.#parts.client.declare(capabilities, info);
    // Seen or not by its client: from now on it is told when this changes.
    void this.sight.view;
  }

  /** What another worker revives it from. */
  record(worker: WorkerId): SessionRecord {
    const { value, context: { revision, capabilities } } = this.#actor.getSnapshot();
    return { ...keptOf(this.#parts), revision: (revision ?? latestLegacyRevision) as LegacyRevision, capabilities, isReady: value === 'ready', worker };
  }

  /** Goes on where the worker that held it left off. What the client may have missed of changed lists and resources, it is told again. */
  restore(record: SessionRecord): void {
    const { revision, capabilities, isReady, logLevel, touched, subscriptions, bound = [], offered } = record;
    const { client, forwarding, questions } = this.#parts;
    // A worker of an older version told its clients of everything.
    client.offered = new Set(offered ?? capabilityNames);
    forwarding.kept.restore(touched, subscriptions, bound);
    this.#declare(capabilities, record.client);
    client.level.current = logLevel;
    questions.restore(record);
    this.#actor.send({ type: 'client.initialize', revision, capabilities });
    if (!isReady) return;
    this.#actor.send({ type: 'client.initialized' });
    this.listsChanged(changeKinds);
    for (const [server, uri] of subscriptions) this.#missed(server, uri);
  }

  // --- what its client sends ---------------------------------------------------------------------------------------------------

  /** @param edge where the client is; undefined in one process. */
  receive(command: SessionCommand, reply: Reply, edge?: WorkerId): void {
    this.#lastActivityAt = performance.now();
    const { client, streams } = this.#parts;
    if (command.kind === 'detach') {
      streams.detach(command.stream, command.reader);
      return;
    }
    if (command.kind === 'probe') {
      reply({ kind: 'probed', missing: streams.missing(command.streams) });
      return;
    }
    if (command.caller.principal !== this.caller.principal || command.caller.endpoint !== this.caller.endpoint) {
      reply({ kind: 'refused', fault: fault('session.unknown') }); // S3
      return;
    }
    this.listsChanged(this.#parts.sight.asks(command.caller));
    switch (command.kind) {
      case 'post':
        if (this.#posted.receive(command, [command.message], reply, edge)) this.isUsed = true;
        return;
      case 'batch':
        if (!client.dialect.hasBatches) reply({ kind: 'refused', fault: fault('batch.unsupported') });
        else if (this.#posted.receive(command, command.messages, reply, edge)) this.isUsed = true;
        return;
      case 'attach':
        this.isUsed = true;
        streams.attach(command, reply, edge);
        return;
      case 'delete':
        this.#actor.send({ type: 'client.deleted' });
        reply({ kind: 'accepted' });
        return;
      default: // Of a newer edge.
        reply({ kind: 'refused', fault: fault('command.unknown') });
    }
  }

  /** What its client sees now. */
  get sight(): SessionSight {
    return this.#parts.sight;
  }

  /** What the client says of what is open here, as it comes from the worker that holds the session now. */
  hearLate(posted: PostedMessage): LateReply['outcome'] {
    return this.#posted.hearLate(posted);
  }

  // --- what servers say, and what becomes of edges and adapters -------------------------------------------------------------------

  hear(notice: SessionNotice): void {
    hearNotice(this.#parts, notice);
  }

  listsChanged(kinds: readonly ChangeKind[]): void {
    const { client, streams } = this.#parts;
    streams.listsChanged(kinds.filter((kind) => client.offered.has(kind)));
  }

  /** An adapter came or went: those that are there hear again what they are to know, and the client what none of them could tell it. */
  adaptersChanged(server: ServerName, hasGap: boolean): void {
    const { client, forwarding } = this.#parts;
    if (!forwarding.kept.contacted.has(server)) return;
    client.level.tell(server);
    forwarding.carrier.subscribeAgain(server, hasGap, (uri) => this.#missed(server, uri));
  }

  #missed(server: ServerName, uri: string): void {
    this.hear({ kind: 'resource-updated', server, uri, sessions: [this.key] });
  }

  /** Ends what is blocked from now on; the session itself where its caller is. */
  blocked(blocks: Blocks): void {
    if (this.#parts.forwarding.endBlocked(blocks)) this.end();
  }

  end(): void {
    this.#actor.send({ type: 'client.deleted' });
  }

  expire(): void {
    this.#actor.send({ type: 'idle.noted' });
  }

  /** Waits for running requests up to the limit, and sends its streams to whoever goes on with it. */
  async handOver(limitMs: number): Promise<void> {
    await this.#idle(limitMs);
    this.abandon();
  }

  /** Another worker holds it by now. */
  abandon(): void {
    this.#parts.forwarding.failAll(interrupted);
    this.#parts.streams.move();
  }

  /** Ends the streams, waits for running requests up to the limit, ends. */
  async drain(limitMs: number): Promise<void> {
    this.#actor.send({ type: 'drain.requested' });
    await this.#idle(limitMs);
    this.#parts.forwarding.failAll(interrupted);
    this.#actor.send({ type: 'drained' });
  }

  async #idle(limitMs: number): Promise<void> {
    const { host, forwarding } = this.#parts;
    if (forwarding.size === 0) return;
    await new Promise<void>((resolve) => {
      const limit = host.wheel.schedule(limitMs, resolve);
      this.#onIdle = () => {
        limit.cancel();
        resolve();
      };
    });
  }

  #release(): void {
    const { streams, forwarding } = this.#parts;
    forwarding.cancelAll('the session has ended');
    streams.end();
    forwarding.carrier.tellServers({ kind: 'session-ended', session: this.key });
    this.#hooks.released(this);
  }
}
