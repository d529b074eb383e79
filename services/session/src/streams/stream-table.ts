/** The POST streams of one session that a client may resume: the open ones, and for a while those that have ended. */
import { Ring } from '@omnibus/collections';
import type { StreamId } from '@omnibus/protocol';
import type { Asked, ResumableStream, StreamHome } from './resumable-stream.ts';

const maxEnded = 32;

export class StreamTable {
  readonly #open = new Ring<ResumableStream>();
  readonly home: StreamHome;
  /** Called when the client of a POST is gone and there is no room for its requests: it must end them. */
  readonly unkept: (asked: Asked) => void;
  #ended: ResumableStream[] = [];

  constructor(home: StreamHome, unkept: (asked: Asked) => void) {
    this.home = home;
    this.unkept = unkept;
  }

  add(stream: ResumableStream): void {
    this.#open.add(stream);
  }

  /** The stream has sent its last message. */
  ended(stream: ResumableStream): void {
    this.#open.remove(stream);
    if (!stream.isWorthKeeping) return;
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
    return ids.filter((id) => !known.has(id) && this.#findEnded(id) === undefined);
  }

  /** Undefined also for a stream with dropped frames: the journal may still have them. */
  find(id: StreamId): ResumableStream | undefined {
    return this.#open.find((stream) => stream.id === id) ?? this.#findEnded(id);
  }

  /** Forgets all streams; none can be resumed here any more. */
  forgetAll(): void {
    for (const stream of [...this.#open.toArray(), ...this.#ended]) stream.forget();
    this.#ended = [];
  }

  #findEnded(id: StreamId): ResumableStream | undefined {
    return this.#ended.find((stream) => stream.id === id && !stream.isLetGo);
  }
}
