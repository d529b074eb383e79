/** The streams of one session: those that answer POSTs, those that the client keeps open with GET, and those that it resumes. */
import { subjects } from '@omnibus/bus';
import {
  fault,
  type ChangeKind,
  type SessionCommand,
  type SessionKey,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import { PushStreams } from './push-streams.ts';
import type { Reply, ResumableStream, StreamKeeper, Asked } from './resumable-stream.ts';
import { Returning } from './returning.ts';
import type { StreamHost } from './stream-host.ts';
import { StreamTable } from './stream-table.ts';

export class SessionStreams {
  readonly #host: StreamHost;
  /** The streams that answer POSTs. */
  readonly posts: StreamTable;
  readonly #push: PushStreams;
  readonly #returning: Returning;

  /** @param heldBefore the worker that held the session before this one. @param unkept as of `StreamTable`. */
  constructor(
    key: SessionKey,
    host: StreamHost,
    heldBefore: () => WorkerId | undefined,
    unkept: (asked: Asked) => void,
  ) {
    this.#host = host;
    const { streams } = host;
    const keeper: StreamKeeper | undefined =
      streams === undefined
        ? undefined
        : { keep: (stream, event) => streams.append(subjects.stream(key, stream), { kind: 'sent', ...event }) };
    const home = { share: host.frames.share(), keeper };
    this.posts = new StreamTable(home, unkept);
    this.#push = new PushStreams({ home, onDrop: () => host.metrics.dropped('queue_full'), isThere: host.isEdgeThere });
    this.#returning = new Returning({ key, host, posts: this.posts, push: this.#push, heldBefore });
  }

  /** Number of open GET streams. */
  get standing(): number {
    return this.#push.size;
  }

  attach(
    { stream, after }: Extract<SessionCommand, { kind: 'attach' }>,
    reply: Reply,
    edge: WorkerId | undefined,
  ): void {
    if (after !== undefined) this.#returning.resume(after, stream, reply, edge);
    else if (this.#push.size >= this.#host.limits.maxStreamsPerSession)
      reply({ kind: 'refused', fault: fault('stream.limit') });
    else this.#push.attach(stream, reply, edge);
  }

  detach(stream: StreamId, reader: StreamId): void {
    if (this.#push.detach(stream, reader)) return;
    this.posts.left();
    this.posts.find(stream)?.detach(reader);
  }

  /** Those of the given streams that a client cannot resume here. */
  missing(streams: readonly StreamId[]): StreamId[] {
    return this.posts.missing(streams).filter((id) => !this.#push.has(id));
  }

  /** Those of the given streams with a POST without a final answer. */
  unanswered(streams: readonly StreamId[]): StreamId[] {
    const open = this.posts.openIds();
    return streams.filter((id) => open.has(id));
  }

  /** Sends a message that belongs to no request. */
  readonly push = (text: string): void => this.#push.push(text);

  listsChanged(kinds: readonly ChangeKind[]): void {
    this.#push.listsChanged(kinds);
  }

  /** The client has confirmed the handshake; no message that belongs to no request is sent before. */
  clientReady(): void {
    this.#push.clientReady();
  }

  /** Detaches all streams that are read at the given edges. @returns how many of them were GET streams. */
  detachFrom(isGone: (edge: WorkerId) => boolean): number {
    return this.#detachAll(({ edge }) => edge !== undefined && isGone(edge));
  }

  detachReaders(gone: ReadonlySet<StreamId>): number {
    return this.#detachAll(({ edge, reader }) => edge !== undefined && gone.has(reader));
  }

  /** Calls `hear` with the edge and the reader of each GET stream. */
  readers(hear: (edge: WorkerId, reader: StreamId) => void): void {
    for (const { edge, reader } of this.#push.read) if (edge !== undefined) hear(edge, reader);
  }

  /** Ends all streams because another worker continues the session. */
  move(): void {
    this.#push.moveAll();
    this.posts.forgetAll();
  }

  /** Ends the GET streams. Streams of POSTs end with their answers. */
  endStanding(): void {
    this.#push.endAll();
  }

  /** The session has ended, and no stream of it can be resumed. */
  end(): void {
    this.#push.endAll();
    this.posts.forgetAll();
  }

  /** Detaches streams, and sends the messages that waited for one of them on another. */
  #detachAll(isGone: (stream: ResumableStream) => boolean): number {
    const pushed = this.#push.read.filter(isGone);
    for (const { id, reader } of pushed) this.#push.detach(id, reader);
    const posted = this.posts.open.filter(isGone);
    if (posted.length > 0) this.posts.left();
    for (const stream of posted) stream.detach(stream.reader);
    this.#push.flush();
    return pushed.length;
  }
}
