/**
 * The GET streams of one session, and the messages that wait for one. Each message goes to exactly one stream (2025-03-26 transports, Multiple
 * Connections): the last opened stream among those with a live edge, because an older one may belong to a silently dead
 * connection.
 */
import {
  changeNotifications,
  notificationText,
  type ChangeKind,
  type EventPosition,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import type { SentEvent } from './kept-frames.ts';
import { ResumableStream, type Reply, type StreamHome } from './resumable-stream.ts';

/** Messages that may wait for a stream, not counting list changes; beyond it the oldest are dropped. */
const maxWaiting = 256;
/** Characters of these messages: the bound of one stream. */
const maxWaitingBytes = 4 * 1024 * 1024;
/** Streams that are remembered although their reader is gone, because the client may resume them. */
const maxGone = 4;

export interface PushOptions {
  readonly home: StreamHome;
  /** Called when a waiting message is dropped. */
  readonly onDrop: () => void;
  /** Whether the signs of life of an edge arrive. */
  readonly isThere: (edge: WorkerId) => boolean;
}

export class PushStreams {
  readonly #options: PushOptions;
  readonly #streams = new Map<StreamId, ResumableStream>();
  #gone: ResumableStream[] = [];
  /** Kinds of lists that changed without a stream to the client. Each kind is announced once, however often it changed. */
  #changed: Set<ChangeKind> | undefined;
  readonly #waiting: string[] = [];
  #waitingBytes = 0;
  #isClientReady = false;

  constructor(options: PushOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#streams.size;
  }

  attach(id: StreamId, reply: Reply, edge?: WorkerId): void {
    reply({ kind: 'attached', stream: id });
    this.#streams.set(id, new ResumableStream(id, reply, this.#options.home, 0, edge));
    this.flush();
  }

  /** Resumes a stream of this worker. @returns false when there is no such stream, or when the events that follow are not kept any more. */
  resume({ stream: id, sequence }: EventPosition, reader: StreamId, reply: Reply, edge?: WorkerId): boolean {
    const stream = this.#streams.get(id) ?? this.#gone.find((each) => each.id === id);
    if (stream?.resume(sequence, reader, reply, edge) !== true) return false;
    this.#gone = this.#gone.filter((each) => each !== stream);
    this.#streams.delete(id);
    this.#streams.set(id, stream);
    this.flush();
    return true;
  }

  /** Resumes a stream that another worker held, from its events in the journal. @returns false when the reader would miss an event. */
  revive(
    { stream: id, sequence }: EventPosition,
    events: readonly SentEvent[],
    reader: StreamId,
    reply: Reply,
    edge?: WorkerId,
  ): boolean {
    // With no events kept, the stream goes on after the client's last event: there is no sign that an event between them was lost.
    const stream = new ResumableStream(id, undefined, this.#options.home, events.length === 0 ? sequence : 0);
    for (const event of events) stream.restore(event);
    if (stream.sequence < sequence) {
      stream.forget();
      return this.revive({ stream: id, sequence }, [], reader, reply, edge);
    }
    if (!stream.resume(sequence, reader, reply, edge)) {
      stream.forget();
      return false;
    }
    this.#streams.set(id, stream);
    this.flush();
    return true;
  }

  /** Detaches a reader. @returns false when the stream is not one of these. */
  detach(id: StreamId, reader: StreamId): boolean {
    const stream = this.#streams.get(id);
    if (stream === undefined) return false;
    if (!stream.detach(reader)) return true;
    this.#streams.delete(id);
    stream.rest();
    for (const oldest of this.#gone.slice(0, Math.max(0, this.#gone.length + 1 - maxGone))) oldest.forget();
    this.#gone = [...this.#gone.slice(1 - maxGone), stream];
    return true;
  }

  /** Streams that have a reader, as far as is known. */
  get read(): readonly ResumableStream[] {
    return [...this.#streams.values()];
  }

  /** The client has confirmed the handshake; nothing is sent on these streams before. */
  clientReady(): void {
    this.#isClientReady = true;
    this.flush();
  }

  listsChanged(kinds: readonly ChangeKind[]): void {
    this.#changed ??= new Set();
    for (const kind of kinds) this.#changed.add(kind);
    this.flush();
  }

  push(text: string): void {
    const stream = this.#choose();
    if (stream !== undefined && this.#waiting.length === 0) {
      stream.send(text, false, false);
      return;
    }
    while (
      this.#waiting.length > 0 &&
      (this.#waiting.length >= maxWaiting || this.#waitingBytes + text.length > maxWaitingBytes)
    )
      this.#dropOldest();
    while (!this.#options.home.share.reserve(text.length)) {
      if (this.#waiting.length === 0) {
        this.#options.onDrop();
        return;
      }
      this.#dropOldest();
    }
    this.#waiting.push(text);
    this.#waitingBytes += text.length;
    this.flush();
  }

  has(id: StreamId): boolean {
    return this.#streams.has(id);
  }

  /** Ends all streams because another worker continues the session; their readers are to ask that one. */
  moveAll(): void {
    for (const stream of this.#streams.values()) stream.move();
    this.#forgetAll();
  }

  endAll(): void {
    for (const stream of this.#streams.values()) stream.end();
    this.#forgetAll();
  }

  /** Sends the waiting messages if there is a stream to send them on. */
  flush(): void {
    const changed = this.#changed;
    if (changed === undefined && this.#waiting.length === 0) return;
    const stream = this.#choose();
    if (stream === undefined) return;
    for (const kind of changed ?? []) stream.send(notificationText(changeNotifications[kind]), false, false);
    this.#changed = undefined;
    for (const text of this.#takeWaiting()) stream.send(text, false, false);
  }

  /** The latest stream with a live edge. Nothing new is sent to an edge without signs of life: it may be gone, and the client may have opened another stream. */
  #choose(): ResumableStream | undefined {
    if (!this.#isClientReady) return undefined;
    let chosen: ResumableStream | undefined;
    for (const stream of this.#streams.values())
      if (stream.edge === undefined || this.#options.isThere(stream.edge)) chosen = stream;
    return chosen;
  }

  #takeWaiting(): string[] {
    this.#options.home.share.give(this.#waitingBytes);
    this.#waitingBytes = 0;
    return this.#waiting.splice(0);
  }

  #dropOldest(): void {
    const { length } = this.#waiting.shift() as string;
    this.#waitingBytes -= length;
    this.#options.home.share.give(length);
    this.#options.onDrop();
  }

  #forgetAll(): void {
    for (const stream of [...this.#streams.values(), ...this.#gone]) stream.forget();
    this.#streams.clear();
    this.#gone = [];
    this.#takeWaiting();
  }
}
