/** The POST streams of one session that a client may resume: the open ones, and for a while those that have ended. */
import { Ring, setLast } from '@omnibus/collections';
import type { StreamId, WorkerId } from '@omnibus/protocol';
import type { Asked, ResumableStream, StreamHome } from './resumable-stream.ts';

const maxEnded = 32;

export class StreamTable {
  readonly #open = new Ring<ResumableStream>();
  readonly home: StreamHome;
  /** Called when the client of a POST is gone and there is no room for its requests: it must end them. */
  readonly unkept: (asked: Asked) => void;
  #ended: ResumableStream[] = [];
  /** Whether a stream is kept or open. */
  #hasAny = false;
  /** Whether a stream has lost a reader or got another one, or streams came by several edges: only then a client may repeat a request. */
  #wasLeft = false;
  /** The edge of the streams. */
  #edge: WorkerId | undefined;
  /** Streams by the id of a later POST of the same request, which continues there; undefined if none does. */
  #joined: Map<StreamId, ResumableStream> | undefined;
  /** Streams of POSTs that came again, since the edge did not know whether the first copy had come; undefined if none did. */
  again: Set<StreamId> | undefined;

  constructor(home: StreamHome, unkept: (asked: Asked) => void) {
    this.home = home;
    this.unkept = unkept;
  }

  add(stream: ResumableStream): void {
    if (!this.#hasAny) this.#wasLeft = false;
    else if (stream.lastEdge !== this.#edge) this.#wasLeft = true;
    this.#edge = stream.lastEdge;
    this.#open.add(stream);
    this.#hasAny = true;
  }

  /** A stream has lost its reader, or has another one. */
  left(): void {
    this.#wasLeft = true;
  }

  /** Whether a client at this edge may have left one of the streams: each POST asks, so it looks at no stream. */
  mayBeLeft(edge: WorkerId | undefined): boolean {
    return this.#hasAny && (this.#wasLeft || edge !== this.#edge);
  }

  /** All streams that a client can resume, the oldest of the open ones last. */
  get all(): readonly ResumableStream[] {
    return [...this.#ended.filter((each) => !each.isLetGo), ...this.#open.toArray()];
  }

  /** A client that has repeated a request reads an earlier stream from now on. @param later the stream of the repetition. */
  join(later: ResumableStream, earlier: ResumableStream): void {
    this.#open.remove(later);
    this.#joined ??= new Map();
    setLast(this.#joined, later.id, earlier, maxEnded);
  }

  /** A POST came that may have come before: a copy that comes later is not the one that its edge waits for. */
  cameAgain(id: StreamId): void {
    this.again ??= new Set();
    this.again.delete(id);
    this.again.add(id);
    if (this.again.size > maxEnded) this.again.delete(this.again.values().next().value as StreamId);
  }

  /** The stream has sent its last message. */
  ended(stream: ResumableStream): void {
    this.#open.remove(stream);
    if (!stream.isWorthKeeping) {
      this.#hasAny = this.#open.size > 0 || this.#ended.length > 0;
      return;
    }
    stream.rest();
    const kept = this.#ended.filter((each) => !each.isLetGo);
    for (const oldest of kept.slice(0, Math.max(0, kept.length + 1 - maxEnded))) oldest.forget();
    this.#ended = [...kept.slice(1 - maxEnded), stream];
  }

  /** Streams that have not sent their last message. */
  get open(): readonly ResumableStream[] {
    return this.#open.toArray();
  }

  /** Ids of the streams that have not sent their last message. */
  openIds(): ReadonlySet<StreamId> {
    return new Set(this.#open.toArray().map(({ id }) => id));
  }

  /** Those of the given streams that a client cannot resume here. */
  missing(ids: readonly StreamId[]): StreamId[] {
    const known = this.openIds();
    return ids.filter((id) => !known.has(id) && this.find(id) === undefined);
  }

  /** Undefined also for a stream with dropped frames: the journal may still have them. */
  find(id: StreamId): ResumableStream | undefined {
    const joined = this.#joined?.get(id);
    if (joined !== undefined) return this.#open.has(joined) || !joined.isLetGo ? joined : undefined;
    return this.#open.find((stream) => stream.id === id) ?? this.#findEnded(id);
  }

  /** Forgets all streams; none can be resumed here any more. */
  forgetAll(): void {
    for (const stream of [...this.#open.toArray(), ...this.#ended]) stream.forget();
    this.#ended = [];
    this.#joined = undefined;
  }

  #findEnded(id: StreamId): ResumableStream | undefined {
    return this.#ended.find((stream) => stream.id === id && !stream.isLetGo);
  }
}
