/** The POST streams of one session that a client may come back to: those still open, and for a while those that ended. */
import { Ring } from '@omnibus/collections';
import type { StreamId } from '@omnibus/protocol';
import type { ResumableStream, StreamHome } from './resumable-stream.ts';

const maxEnded = 32;

export class StreamTable {
  readonly #open = new Ring<ResumableStream>();
  readonly home: StreamHome;
  #ended: ResumableStream[] = [];

  constructor(home: StreamHome) {
    this.home = home;
  }

  add(stream: ResumableStream): void {
    this.#open.add(stream);
  }

  /** The stream has said its last word. */
  ended(stream: ResumableStream): void {
    this.#open.remove(stream);
    if (!stream.isWorthKeeping) return;
    stream.rest();
    const kept = this.#ended.filter((each) => !each.isLetGo);
    for (const oldest of kept.slice(0, Math.max(0, kept.length + 1 - maxEnded))) oldest.forget();
    this.#ended = [...kept.slice(1 - maxEnded), stream];
  }

  /** Those that have not had their last word. */
  get open(): readonly ResumableStream[] {
    return this.#open.toArray();
  }

  /** The ids of those that have not had their last word. */
  openIds(): ReadonlySet<StreamId> {
    return new Set(this.#open.toArray().map(({ id }) => id));
  }

  /** Of these, those that a client cannot come back to here. */
  missing(ids: readonly StreamId[]): StreamId[] {
    const known = this.openIds();
    return ids.filter((id) => !known.has(id) && this.#findEnded(id) === undefined);
  }

  /** Undefined also when what was kept of it was let go: it may be kept elsewhere. */
  find(id: StreamId): ResumableStream | undefined {
    return this.#open.toArray().find((stream) => stream.id === id) ?? this.#findEnded(id);
  }

  /** Nobody comes back to any of them here. */
  forgetAll(): void {
    for (const stream of [...this.#open.toArray(), ...this.#ended]) stream.forget();
    this.#ended = [];
  }

  #findEnded(id: StreamId): ResumableStream | undefined {
    return this.#ended.find((stream) => stream.id === id && !stream.isLetGo);
  }
}
