/**
 * One stream of messages to a client, numbered from 1, that the client may resume (2025-11-25 transports, Resumability and Redelivery). Sent messages are
 * kept, within bounds, even if it seemed to be delivered: a dead connection looks alive until the network reports it.
 *
 * Invariants
 *  T1  A sequence number is used once, and a replayed message carries the number it was first sent with.
 *  T2  A stream has one reader; a new reader takes over, and the old one is ended.
 *  T3  Kept bytes and events are bounded; a reader that asks for dropped events is refused rather than given a gap.
 */
import { Link } from '@omnibus/collections';
import type { FrameShare, KeptFrames, SentEvent } from './kept-frames.ts';
import {
  AwayBytes,
  streamAfterMs,
  withText,
  type JsonBytes,
  type StreamFrame,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';

export type Reply = (frame: StreamFrame) => void;

/** The store of events of one session's streams. */
export interface StreamHome {
  readonly share: FrameShare;
  readonly keeper: StreamKeeper | undefined;
}

/** Writes sent events to the journal, for the case that this worker is gone when the client comes back. */
export interface StreamKeeper {
  keep(stream: StreamId, event: SentEvent): void;
}

/** The requests that a stream is to answer. */
export interface Asked {
  /** Characters of them. */
  readonly length: number;
  /** As of `digestOf`. */
  readonly digest: string | undefined;
  /** Ends them: the stream has no reader, and there is no room without one. */
  giveUp(): void;
}

/** After this time the edge may have opened an event stream and told the client event ids by which it can resume. It is half of the edge's own delay, because the edge's clock started earlier. */
const keepAfterMs = streamAfterMs / 2;

export class ResumableStream extends Link {
  readonly id: StreamId;
  #reply: Reply | undefined;
  /** The connection that reads the stream. A late message that an old connection is gone must not end the new one. */
  #reader: StreamId;
  #edge: WorkerId | undefined;
  readonly #openedAt = performance.now();
  #sequence = 0;
  readonly #share: FrameShare;
  /** Undefined until there is something worth keeping. */
  #kept: KeptFrames | undefined;
  #isComplete = false;
  #wasDetached = false;
  /** The requests that it will answer; undefined on a stream that answers none, and after the last answer. */
  asked: Asked | undefined;
  /** Bytes that are counted for `asked`, while the edge counts none since its client is gone. */
  #counted = 0;
  readonly #keeper: StreamKeeper | undefined;
  /** When its reader was gone, or its last message was sent; undefined while it is read. */
  #leftAt: number | undefined;
  #isDetached = false;
  #digest: string | undefined;

  /** @param sequence number of the last message that was sent on the stream, where another worker began it. */
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

  /** The edge at which the stream is read; undefined without a reader, and in one process. */
  get edge(): WorkerId | undefined {
    return this.#reply === undefined ? undefined : this.#edge;
  }

  /** Identifies its request (`digestOf`); undefined for a stream that answers none, or several. */
  get digest(): string | undefined {
    return this.asked?.digest ?? this.#digest;
  }

  /**
   * Whether a client at this edge may come back to the stream: nothing reads it, or another edge that may be gone.
   * @param since milliseconds on the clock of `performance.now()`; it was left, or ended, after that.
   */
  mayBeLeft(edge: WorkerId | undefined, since: number): boolean {
    if (this.#leftAt !== undefined && this.#leftAt < since) return false;
    return this.#isDetached || (edge !== undefined && this.#edge !== undefined && this.#edge !== edge);
  }

  /** The edge that may read it, or may have sent its last message to the client; undefined if its reader is gone. */
  get lastEdge(): WorkerId | undefined {
    return this.#isDetached ? undefined : this.#edge;
  }

  /** Whether its last message was sent. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** A client may come back to it: its messages are kept from now on. */
  awaitReader(): void {
    this.#wasDetached = true;
  }

  /** Whether a client that has got none of its messages can get all of them. */
  get isWhole(): boolean {
    const first = this.#kept?.events[0]?.sequence;
    return first === undefined ? this.#sequence === 0 : first === 1;
  }

  /** Its reader goes on with another stream, and nothing more is sent on this one. */
  handOff(): Reply {
    const reply = this.#reply ?? (() => undefined);
    this.#reply = undefined;
    this.#release();
    return reply;
  }

  get reader(): StreamId {
    return this.#reader;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** Takes over an event that another worker sent on the stream. */
  restore(event: SentEvent): void {
    this.#sequence = event.sequence;
    this.#wasDetached = true;
    this.#keep(event);
    this.#reply?.({ kind: 'message', ...event });
    if (event.last) this.end();
  }

  /** Whether the client can have seen an event id, or has lost the connection; otherwise it cannot resume the stream. */
  get isWorthKeeping(): boolean {
    return this.#sequence > 1 || this.#wasDetached || performance.now() - this.#openedAt >= keepAfterMs;
  }

  /** Whether its next message is not kept here if it is the last, but read at once. */
  get takesAway(): boolean {
    return this.#reply !== undefined && this.#sequence === 0 && !this.isWorthKeeping;
  }

  /** @param text as bytes at another process only if `takesAway`. @param missingScopes of the answer to a request that was refused for them. */
  send(text: string | JsonBytes, isAnswer: boolean, last: boolean, missingScopes?: readonly string[]): void {
    // No reader gets it, and the frames of a stream that was not kept are never let go.
    if (this.#isComplete) return;
    this.#sequence += 1;
    const sequence = this.#sequence;
    if (last) this.#isComplete = true;
    // The single message of a call that is answered at once is sent as a JSON body, which cannot be resumed.
    if ((!last || this.isWorthKeeping) && !(text instanceof AwayBytes)) {
      // As bytes it would hold the whole chunk in which they came.
      const event = { sequence, text: String(text), isAnswer, last };
      this.#keep(event);
      this.#keeper?.keep(this.id, event);
    }
    const rest = { kind: 'message', isAnswer, sequence, last, ...(missingScopes && { missingScopes }) } as const;
    this.#reply?.(typeof text === 'string' ? { ...rest, text } : withText(rest, text));
    if (!last) return;
    // It holds the client's request, which may be large, while kept frames may stay for minutes.
    this.#reply = undefined;
    this.#release();
  }

  /** Ends the reader and tells it to ask another worker. */
  move(): void {
    this.#isComplete = true;
    this.#reply?.({ kind: 'moved' });
    this.#reply = undefined;
    this.#release();
  }

  /** Ends the reader without a further message. */
  end(): void {
    this.#isComplete = true;
    this.#reply?.({ kind: 'end' });
    this.#reply = undefined;
    this.#release();
  }

  /**
   * A reader is gone; messages that are sent from now on wait for another reader.
   * @returns false when another reader has already taken over.
   */
  detach(reader: StreamId): boolean {
    if (reader !== this.#reader) return false;
    this.#reply = undefined;
    this.#wasDetached = true;
    this.#isDetached = true;
    this.#leftAt = performance.now();
    this.#count();
    return true;
  }

  /**
   * A reader resumes the stream after event `after`.
   * @returns false when the events after it are not kept any more, or when `after` was never sent.
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
    this.#isDetached = false;
    this.#leftAt = undefined;
    this.#uncount();
    this.#kept?.wake();
    reply({ kind: 'attached', stream: this.id });
    for (const { sequence, text, isAnswer } of kept) {
      if (sequence > after) reply({ kind: 'message', text, isAnswer, sequence, last: false }); // T1
    }
    if (this.#isComplete) this.end();
    return true;
  }

  /** The stream has no reader and no more messages will come: its kept frames are dropped after a while. */
  rest(): void {
    this.#leftAt ??= performance.now();
    this.#kept?.rest();
  }

  /** Whether the kept frames were dropped. */
  get isLetGo(): boolean {
    return this.#kept?.hasAny === false;
  }

  /** Drops stored events: the session has ended, or another worker continues it. */
  forget(): void {
    this.#release();
    this.#kept?.letGo();
  }

  /** The stream has no reader any more, so its requests count toward the storage for clients that come back. */
  #count(): void {
    const asked = this.asked;
    if (asked === undefined) return;
    const { length } = asked;
    if (this.#share.reserve(length)) this.#counted = length;
    else asked.giveUp();
  }

  #uncount(): void {
    this.#share.give(this.#counted);
    this.#counted = 0;
  }

  #release(): void {
    // Only a stream that is kept can be found again.
    if (this.asked !== undefined && this.isWorthKeeping) this.#digest = this.asked.digest;
    this.asked = undefined;
    if (this.#counted > 0) this.#uncount();
  }

  #keep(event: SentEvent): void {
    this.#kept ??= this.#share.frames();
    this.#kept.keep(event);
  }
}
