/** The POST streams of one session that a client may come back to: those still open, and for a while those that ended. */
import { Ring } from '@omnibus/collections';
import type { StreamId } from '@omnibus/protocol';
import type { ResumableStream, StreamKeeper } from './resumable-stream.ts';

const maxEnded = 32;
const keepEndedMs = 5 * 60_000;

export class StreamTable {
  readonly #open = new Ring<ResumableStream>();
  readonly keeper: StreamKeeper | undefined;
  #ended: { readonly stream: ResumableStream; readonly at: number }[] = [];

  constructor(keeper: StreamKeeper | undefined) {
    this.keeper = keeper;
  }

  add(stream: ResumableStream): void {
    this.#open.add(stream);
  }

  /** The stream has said its last word. */
  ended(stream: ResumableStream): void {
    this.#open.remove(stream);
    if (!stream.isWorthKeeping) return;
    const now = performance.now();
    this.#ended = [...this.#ended.filter(({ at }) => now - at < keepEndedMs).slice(1 - maxEnded), { stream, at: now }];
  }

  /** It has not had its last word. */
  isOpen(id: StreamId): boolean {
    return this.#open.toArray().some((stream) => stream.id === id);
  }

  find(id: StreamId): ResumableStream | undefined {
    return this.#open.toArray().find((stream) => stream.id === id) ?? this.#ended.find(({ stream }) => stream.id === id)?.stream;
  }
}
