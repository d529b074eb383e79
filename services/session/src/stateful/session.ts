/**
 * One client session, from `initialize` to its end, at this worker or the next. Its states are in `machine.ts`.
 *
 * Invariants
 *  S1  A message of one request goes to the POST that carried the request, and nothing follows its answer.
 *  S2  Every request is answered exactly once, unless it was cancelled; then never.
 *  S3  A caller other than the session's own, or a request at another endpoint, is answered that there is no such session.
 */
import { haveFormerWorkersEnded, subjects } from '@omnibus/bus';
import type { View } from '@omnibus/catalog';
import { startActor } from '@omnibus/lifecycle';
import {
  changeKinds,
  clientInfoOf,
  fault,
  isObject,
  latestLegacyRevision,
  negotiateRevision,
  oldDraft,
  resultText,
  type Caller,
  type ChangeKind,
  type ClientInfo,
  type Declared,
  type JsonObject,
  type JsonRpcRequest,
  type LateReply,
  type LegacyRevision,
  type PostedMessage,
  type ServerName,
  type SessionCommand,
  type SessionKey,
  type SessionRecord,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import type { ActorRefFrom } from 'xstate';
import type { Barrier } from '../call/barrier.ts';
import { Forwarding } from '../call/forward.ts';
import { Orders } from '../call/in-order.ts';
import { KeptAtServers } from '../call/kept-at-servers.ts';
import { offeredBy } from '../call/routes/needed-capability.ts';
import { initializeResult } from '../dialect/legacy/handshake.ts';
import type { PostStream } from '../streams/post-stream.ts';
import type { Reply } from '../streams/resumable-stream.ts';
import { SessionStreams } from '../streams/session-streams.ts';
import { OfferWait } from '../views/offer-wait.ts';
import { levelOf } from './session-level.ts';
import { sessionMachine, type SessionEffect } from './machine.ts';
import { askerOutsideCalls, hearNotice, type SessionNotice } from './notices.ts';
import { Posted } from './posted.ts';
import { Serving } from './serve.ts';
import { ServerQuestions } from './server-questions.ts';
import { SessionClient } from './session-client.ts';
import type { SessionHost } from './session-host.ts';
import { interrupted, keptOf, unkept, type GuestMaker, type SessionParts } from './session-parts.ts';
import { SessionSight } from './session-sight.ts';

/** Calls by which a session informs its worker. */
export interface SessionHooks {
  /** It has ended. */
  released(session: Session): void;
  /** Its record must be written again. */
  changed(session: Session): void;
}

export class Session {
  readonly key: SessionKey;
  readonly caller: Caller;
  /** Whether the client has made a request or opened a stream. */
  isUsed = false;
  readonly #hooks: SessionHooks;
  readonly #parts: SessionParts;
  readonly #actor: ActorRefFrom<typeof sessionMachine>;
  readonly #serving: Serving;
  readonly #posted: Posted;
  /** As negotiated. */
  #revision: LegacyRevision = latestLegacyRevision;
  /** As the client declared them. */
  #capabilities: JsonObject = {};
  #lastActivityAt = performance.now();
  #onIdle: (() => void) | undefined;

  constructor(
    key: SessionKey,
    caller: Caller,
    host: SessionHost,
    hooks: SessionHooks,
    guests: readonly GuestMaker[] = [],
  ) {
    this.key = key;
    this.caller = caller;
    this.#hooks = hooks;
    this.#parts = this.#partsOf(host, guests);
    this.#serving = new Serving(this.#parts);
    this.#posted = new Posted(this.#parts, this.#serving, () => this.#actor.send({ type: 'client.initialized' }));
    this.#actor = startActor(sessionMachine, {
      input: (effect) => this.#perform(effect),
      isShared: true,
      onFailure: (error) => {
        host.log.error({ err: error, session: key }, 'the session actor failed');
        this.#release();
      },
    });
  }

  #partsOf(host: SessionHost, guests: readonly GuestMaker[]): SessionParts {
    const { key, caller } = this;
    const changed = (): void => this.#hooks.changed(this);
    const streams = new SessionStreams(
      key,
      host,
      () => questions.heldBefore,
      (stream) => forwarding.failStream(stream, unkept),
    );
    const kept = new KeptAtServers(changed, (server, uri) =>
      host.bus.publish(subjects.backendControl(server), { kind: 'unsubscribed', session: key, uri }),
    );
    const level = levelOf({ key, host, kept, carrier: () => forwarding.carrier, changed });
    const client = new SessionClient({ host, key, caller, streams, level, questions: () => questions });
    const forwarding: Forwarding<PostStream> = new Forwarding(
      host,
      client,
      {
        idle: () => this.#onIdle?.(),
        doubt: () => host.confirm(key)?.then((isHeld) => (isHeld ? undefined : interrupted)),
      },
      kept,
    );
    const questions: ServerQuestions = new ServerQuestions({
      key,
      host,
      client,
      messages: forwarding.messages,
      asker: (server, waits) => askerOutsideCalls({ host, client }, server, waits),
      push: streams.push,
      changed,
    });
    const offerWait = new OfferWait({
      key,
      place: host.placeOf(caller),
      offers: host.offers,
      client,
      told: (server) => kept.contacted.add(server),
    });
    const parts = {
      host,
      client,
      sight: new SessionSight(host, client),
      streams,
      forwarding,
      kept,
      questions,
      offerWait,
      orders: new Orders<ServerName>(),
    };
    return { ...parts, guests: guests.map((make) => make(parts)) };
  }

  #perform(effect: SessionEffect): void {
    switch (effect) {
      case 'announcePending':
        this.#parts.streams.clientReady();
        // The machine's new state can be read only after this.
        queueMicrotask(() => this.#hooks.changed(this));
        return;
      case 'endStreams':
        this.#parts.streams.endStanding();
        return;
      case 'countExpired':
        this.#parts.host.metrics.sessionsExpired.inc();
        return;
      case 'release':
        this.#release();
    }
  }

  /** Its state (`machine.ts`). */
  get state(): string {
    return this.#actor.getSnapshot().value;
  }

  get streams(): SessionStreams {
    return this.#parts.streams;
  }

  /** The part of the client's capabilities on which offers depend. */
  get declared(): Declared {
    return this.#parts.client.declared;
  }

  /** Bytes of the client's declarations and subscriptions. */
  get keptBytes(): number {
    return this.#serving.keptBytes;
  }

  get size(): number {
    return this.#parts.forwarding.open.size;
  }

  /** Milliseconds since the last activity; 0 while a request or stream is open, or a task runs here. */
  idleMs(now: number): number {
    const { forwarding, streams, host } = this.#parts;
    const isUsed = forwarding.open.size > 0 || streams.standing > 0 || host.ownTasks?.useOf(this.key) === 'running';
    return isUsed ? 0 : now - this.#lastActivityAt;
  }

  /** Milliseconds since its last request; 0 while a request is open, or this worker has a task of it, which no other one can have. */
  quietMs(now: number): number {
    const isUsed = this.size > 0 || this.#parts.host.ownTasks?.useOf(this.key) !== undefined;
    return isUsed ? 0 : now - this.#lastActivityAt;
  }

  // --- its beginning, here or at another worker -------------------------------------------------------------------------------

  /** Answers `initialize`. @param asking the caller with the facts that the edge has proven. @returns the response as JSON-RPC text. */
  open(request: JsonRpcRequest, view: View, asking: Caller): string {
    this.#parts.client.asking = asking;
    const { protocolVersion, capabilities: given, clientInfo } = request.params ?? {};
    const revision = negotiateRevision(String(protocolVersion));
    const capabilities = isObject(given) ? given : {};
    this.#declare(revision, capabilities, clientInfoOf(clientInfo));
    this.#parts.client.offered = offeredBy(view);
    void this.#parts.offerWait.begin(); // Its first list is not far.
    this.#actor.send({ type: 'client.initialize' });
    return resultText(
      request.id,
      JSON.stringify(initializeResult(revision, view, protocolVersion === oldDraft ? oldDraft : revision)),
    );
  }

  #declare(revision: LegacyRevision, capabilities: JsonObject, info: ClientInfo | undefined): void {
    this.#revision = revision;
    this.#capabilities = capabilities;
    this.#parts.client.declare(revision, capabilities, info);
    // Whether or not its client has seen it: from now on it gets notifications of changes.
    void this.sight.view;
  }

  /** The record from which another worker can restore it. */
  record(worker: WorkerId): SessionRecord {
    return {
      ...keptOf(this.#parts),
      revision: this.#revision,
      capabilities: this.#capabilities,
      isReady: this.state === 'ready',
      worker,
    };
  }

  /** Restores the session from the record of another worker. Changes of lists and resources that the client may have missed are announced again. */
  restore(record: SessionRecord): void {
    const { revision, capabilities, isReady, logLevel, touched, subscriptions, bound = [], offered } = record;
    const { client, kept, questions } = this.#parts;
    client.offered = new Set(offered);
    const areAdaptersNew = haveFormerWorkersEnded(this.#parts.host.bus);
    kept.restore(touched, subscriptions, areAdaptersNew ? [] : bound);
    // Which pages the client shows is not noted: it may show some of every server that it has used.
    for (const server of touched) client.linkedResources.showPage(server);
    this.#declare(revision, capabilities, record.client);
    client.level.current = logLevel;
    questions.restore(record);
    this.#actor.send({ type: 'client.initialize' });
    if (!isReady) return;
    this.#actor.send({ type: 'client.initialized' });
    this.listsChanged(changeKinds);
    for (const [server, uri] of subscriptions) this.#missed(server, uri);
    if (areAdaptersNew) for (const server of touched) this.adaptersChanged(server, false);
  }

  // --- what its client sends ---------------------------------------------------------------------------------------------------

  /** Whether it is there for a caller (S3). */
  isFor({ principal, endpoint }: Caller): boolean {
    return principal === this.caller.principal && endpoint === this.caller.endpoint;
  }

  /** Handles a command of its caller. @param edge to which the client is connected; undefined in a gateway of one process. */
  receive(command: SessionCommand, reply: Reply, edge?: WorkerId): void {
    this.#lastActivityAt = performance.now();
    const { client, streams, guests } = this.#parts;
    if (command.kind === 'detach') {
      streams.detach(command.stream, command.reader);
      return;
    }
    if (command.kind === 'probe') {
      reply({ kind: 'probed', missing: streams.missing(command.streams), ...this.#notBegun(command.streams) });
      return;
    }
    const changed = this.#parts.sight.asks(command.caller);
    if (changed.length > 0) this.listsChanged(changed);
    switch (command.kind) {
      case 'post':
        if (this.#posted.receive(command, [command.message], reply, edge)) this.isUsed = true;
        break;
      case 'batch':
        if (!client.dialect.hasBatches) reply({ kind: 'refused', fault: fault('batch.unsupported') });
        else if (this.#posted.receive(command, command.messages, reply, edge)) this.isUsed = true;
        break;
      case 'attach':
        this.isUsed = true;
        streams.attach(command, reply, edge);
        break;
      case 'delete':
        this.end();
        reply({ kind: 'accepted' });
        return;
      default: // Of a newer edge.
        reply({ kind: 'refused', fault: fault('command.unknown') });
    }
    for (const guest of guests) guest.look();
  }

  /** Those of the given streams with a request that no server has. */
  #notBegun(streams: readonly StreamId[]): { readonly notBegun?: readonly StreamId[] } {
    const waiting = this.#parts.forwarding.open.notBegun as ReadonlySet<PostStream>;
    if (waiting.size === 0) return {};
    const ids = new Set([...waiting].map(({ id }) => id));
    return { notBegun: streams.filter((stream) => ids.has(stream)) };
  }

  /** What its client sees. */
  get sight(): SessionSight {
    return this.#parts.sight;
  }

  hearLate(posted: PostedMessage): LateReply['outcome'] {
    return this.#posted.hearLate(posted);
  }

  // --- messages of servers, and losses of edges and adapters -------------------------------------------------------------------

  hear(notice: SessionNotice): void {
    hearNotice(this.#parts, notice);
  }

  listsChanged(kinds: readonly ChangeKind[]): void {
    const { client, streams } = this.#parts;
    streams.listsChanged(kinds.filter((kind) => client.offered.has(kind)));
  }

  /** An adapter came or went: subscriptions and log levels are sent again, and the client is notified of what may have been missed. */
  adaptersChanged(server: ServerName, hasGap: boolean): void {
    const { client, kept, forwarding } = this.#parts;
    if (!kept.contacted.has(server)) return;
    client.level.tell(server);
    forwarding.carrier.subscribeAgain(server, hasGap, (uri) => this.#missed(server, uri));
  }

  #missed(server: ServerName, uri: string): void {
    this.hear({ kind: 'resource-updated', server, uri, sessions: [this.key] });
  }

  /** Ends requests to servers that the caller may not reach now, and the session itself if its caller is refused. */
  barred(barrier: Barrier): void {
    if (this.#parts.forwarding.endBarred(barrier)) this.end();
  }

  end(): void {
    this.#actor.send({ type: 'client.deleted' });
  }

  expire(): void {
    this.#actor.send({ type: 'idle.noted' });
  }

  /** Waits for running requests up to the limit, and then moves its streams to the next worker, which continues the requests that still run. */
  async handOver(limitMs: number): Promise<void> {
    // The next worker gets its requests from now on. One that awaits the result of a task is answered here.
    this.#parts.host.ownTasks?.sessionLeft(this.key);
    await this.#idle(limitMs);
    const { forwarding, guests, streams } = this.#parts;
    for (const guest of guests) guest.close();
    forwarding.open.giveAway();
    streams.move();
    forwarding.open.leaveAll('its worker stops');
    this.#actor.send({ type: 'left' });
  }

  /** Another worker has taken the session over, and continues its calls. */
  giveAway(): void {
    this.#parts.forwarding.open.giveAway();
    this.abandon();
  }

  /** Ends the session here because another worker holds it by now, or because it could not be opened. */
  abandon(): void {
    const { guests, host, forwarding, streams } = this.#parts;
    for (const guest of guests) guest.close();
    host.ownTasks?.sessionLeft(this.key);
    forwarding.open.failAll(interrupted);
    streams.move();
    this.#actor.send({ type: 'left' });
  }

  /** Ends the streams, waits for running requests up to the limit, and ends the session. */
  async drain(limitMs: number): Promise<void> {
    this.#actor.send({ type: 'drain.requested' });
    await this.#idle(limitMs);
    this.#parts.forwarding.open.failAll(interrupted);
    this.#actor.send({ type: 'drained' });
  }

  async #idle(limitMs: number): Promise<void> {
    const { host, forwarding } = this.#parts;
    if (forwarding.open.size === 0) return;
    await new Promise<void>((resolve) => {
      const limit = host.wheel.schedule(limitMs, resolve);
      this.#onIdle = () => {
        limit.cancel();
        resolve();
      };
    });
  }

  #release(): void {
    const { streams, forwarding, guests } = this.#parts;
    for (const guest of guests) guest.close();
    forwarding.open.cancelAll('the session has ended');
    streams.end();
    forwarding.carrier.tellServers({ kind: 'session-ended', session: this.key });
    this.#hooks.released(this);
  }
}
