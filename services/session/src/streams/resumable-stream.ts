/**
 * One stream of messages to a client, numbered from 1, that a client may come back to (2025-11-25 transports, Resumability
 * and Redelivery). What was sent is kept, within bounds, whether or not it could be delivered: a dead connection looks alive
 * until the network says otherwise.
 *
 * Invariants
 *  T1  A sequence number is given once, and what is replayed carries the number it was first sent with.
 *  T2  A stream has one reader; a new one takes over, and the old one is ended.
 *  T3  Kept bytes and events are bounded; a reader that asks for what was dropped is refused rather than given a gap.
 */
import { Link } from '@omnibus/collections';
import type { FrameShare, KeptFrames, SentEvent } from './kept-frames.ts';
import { streamAfterMs, type StreamFrame, type StreamId, type WorkerId } from '@omnibus/protocol';

export type Reply = (frame: StreamFrame) => void;

/** Where what was sent on the streams of one session is kept. */
export interface StreamHome {
  readonly share: FrameShare;
  readonly keeper: StreamKeeper | undefined;
}

/** Keeps what was sent for the case that this worker is gone when the client comes back. */
export interface StreamKeeper {
  keep(stream: StreamId, event: SentEvent): void;
}

/** From here on the edge may have opened the stream, with an id to come back with; its clock started before ours. */
const keepAfterMs = streamAfterMs / 2;

export class ResumableStream extends Link {
  readonly id: StreamId;
  #reply: Reply | undefined;
  /** Which connection reads it: the late news that an old one is gone must not end the new one. */
  #reader: StreamId;
  #edge: WorkerId | undefined;
  readonly #openedAt = performance.now();
  #sequence = 0;
  readonly #share: FrameShare;
  /** Undefined before anything is worth keeping. */
  #kept: KeptFrames | undefined;
  #isComplete = false;
  #wasDetached = false;
  readonly #keeper: StreamKeeper | undefined;

  /** @param sequence of the last message that was sent on it before, when another worker began it. */
  constructor(id: StreamId, reply: Reply | undefined, { share, keeper }: StreamHome, sequence = 0, edge?: WorkerId) {
    super();
    this.#share = share;
    this.id = id;
    this.#reply = reply;
    this.#reader = id;
    this.#keeper = keeper;
    this.#sequence = sequence;
    this.#edge = edge;
  }

  /** Where it is read; undefined when it is not, or in one process. */
  get edge(): WorkerId | undefined {
    return this.#reply === undefined ? undefined : this.#edge;
  }

  get reader(): StreamId {
    return this.#reader;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** Takes what another worker sent on it. */
  restore(event: SentEvent): void {
    this.#sequence = event.sequence;
    this.#wasDetached = true;
    this.#keep(event);
    this.#reply?.({ kind: 'message', ...event });
    if (event.last) this.end();
  }

  /** Whether the client can have seen an event id, or was gone: only then can it come back. */
  get isWorthKeeping(): boolean {
    return this.#sequence > 1 || this.#wasDetached || performance.now() - this.#openedAt >= keepAfterMs;
  }

  send(text: string, isAnswer: boolean, last: boolean): void {
    this.#sequence += 1;
    const sequence = this.#sequence;
    if (last) this.#isComplete = true;
    // The one message of a call that was answered at once goes out as a JSON body, to which nobody comes back.
    if (!last || this.isWorthKeeping) {
      const event = { sequence, text, isAnswer, last };
      this.#keep(event);
      this.#keeper?.keep(this.id, event);
    }
    this.#reply?.({ kind: 'message', text, isAnswer, sequence, last });
  }

  /** Its reader is to ask another worker. */
  move(): void {
    this.#isComplete = true;
    this.#reply?.({ kind: 'moved' });
    this.#reply = undefined;
  }

  /** Ends it without a further message. */
  end(): void {
    this.#isComplete = true;
    this.#reply?.({ kind: 'end' });
    this.#reply = undefined;
  }

  /**
   * A reader is gone; what is sent from now on waits for another.
   * @returns false when another one has taken over already.
   */
  detach(reader: StreamId): boolean {
    if (reader !== this.#reader) return false;
    this.#reply = undefined;
    this.#wasDetached = true;
    return true;
  }

  /**
   * A reader comes back for what follows `after`.
   * @returns false when that is not kept any more, or was never sent.
   */
  resume(after: number, reader: StreamId, reply: Reply, edge?: WorkerId): boolean {
    const kept = this.#kept?.events ?? [];
    const oldest = kept[0]?.sequence ?? this.#sequence + 1;
    if (after > this.#sequence || after < oldest - 1) return false; // T3
    this.#reply?.({ kind: 'end' }); // T2
    this.#reply = reply;
    this.#reader = reader;
    this.#edge = edge;
    this.#wasDetached = true;
    this.#kept?.wake();
    reply({ kind: 'attached', stream: this.id });
    for (const { sequence, text, isAnswer } of kept) {
      if (sequence > after) reply({ kind: 'message', text, isAnswer, sequence, last: false }); // T1
    }
    if (this.#isComplete) this.end();
    return true;
  }

  /** Nobody reads it and nothing more is said on it: what is kept of it has its time. */
  rest(): void {
    this.#kept?.rest();
  }

  /** What was kept of it was let go. */
  get isLetGo(): boolean {
    return this.#kept?.hasAny === false;
  }

  /** The session has ended, or is another worker's. */
  forget(): void {
    this.#kept?.letGo();
  }

  #keep(event: SentEvent): void {
    this.#kept ??= this.#share.frames();
    this.#kept.keep(event);
  }
}
