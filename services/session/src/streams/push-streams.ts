/**
 * The GET streams of one session, and what waits for one of them. Each message goes to exactly one stream (2025-03-26
 * transports, Multiple Connections): the one that was opened last and whose edge is there, since an older one may be of a
 * connection that is dead and does not know it.
 */
import { changeNotifications, notificationText, type ChangeKind, type EventPosition, type StreamId, type WorkerId } from '@omnibus/protocol';
import type { SentEvent } from './kept-frames.ts';
import { ResumableStream, type Reply, type StreamHome } from './resumable-stream.ts';

/** Messages other than list changes that wait for a stream; the oldest go first. */
const maxWaiting = 256;
/** Characters of them: as many as are kept of one stream. */
const maxWaitingBytes = 4 * 1024 * 1024;
/** Streams whose reader is gone and may come back. */
const maxGone = 4;

export interface PushOptions {
  readonly home: StreamHome;
  /** A message that waited is not sent. */
  readonly onDrop: () => void;
  /** Whether signs of life of an edge are heard. */
  readonly isThere: (edge: WorkerId) => boolean;
}

export class PushStreams {
  readonly #options: PushOptions;
  readonly #streams = new Map<StreamId, ResumableStream>();
  #gone: ResumableStream[] = [];
  /** Lists that changed and of which the client was not told: telling once is enough. */
  readonly #changed = new Set<ChangeKind>();
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

  /** @returns false when there is no such stream, or what follows is not kept any more. */
  resume({ stream: id, sequence }: EventPosition, reader: StreamId, reply: Reply, edge?: WorkerId): boolean {
    const stream = this.#streams.get(id) ?? this.#gone.find((each) => each.id === id);
    if (stream?.resume(sequence, reader, reply, edge) !== true) return false;
    this.#gone = this.#gone.filter((each) => each !== stream);
    this.#streams.delete(id);
    this.#streams.set(id, stream);
    this.flush();
    return true;
  }

  /** A reader comes back to a stream that another worker held, of which this is kept. @returns false when it would miss something. */
  revive({ stream: id, sequence }: EventPosition, events: readonly SentEvent[], reader: StreamId, reply: Reply, edge?: WorkerId): boolean {
    // What is not kept any more began after what the client has: nothing says that there was something in between.
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

  /** @returns false when it is none of these streams. */
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

  /** Those that are read, or seem to be. */
  get read(): readonly ResumableStream[] {
    return [...this.#streams.values()];
  }

  /** Before the client has confirmed the handshake it is told nothing. */
  clientReady(): void {
    this.#isClientReady = true;
    this.flush();
  }

  listsChanged(kinds: readonly ChangeKind[]): void {
    for (const kind of kinds) this.#changed.add(kind);
    this.flush();
  }

  push(text: string): void {
    const stream = this.#choose();
    if (stream !== undefined && this.#waiting.length === 0) {
      stream.send(text, false, false);
      return;
    }
    while (this.#waiting.length > 0 && (this.#waiting.length >= maxWaiting || this.#waitingBytes + text.length > maxWaitingBytes)) this.#dropOldest();
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

  /** The session goes on elsewhere, and so do its streams. */
  moveAll(): void {
    for (const stream of this.#streams.values()) stream.move();
    this.#forgetAll();
  }

  endAll(): void {
    for (const stream of this.#streams.values()) stream.end();
    this.#forgetAll();
  }

  /** Says what waits, where somebody hears it. */
  flush(): void {
    if (this.#changed.size === 0 && this.#waiting.length === 0) return;
    const stream = this.#choose();
    if (stream === undefined) return;
    for (const kind of this.#changed) stream.send(notificationText(changeNotifications[kind]), false, false);
    this.#changed.clear();
    for (const text of this.#takeWaiting()) stream.send(text, false, false);
  }

  /** The latest stream of an edge that is there. To one that is silent nothing new is sent: it may be gone, and another stream opened instead. */
  #choose(): ResumableStream | undefined {
    if (!this.#isClientReady) return undefined;
    let chosen: ResumableStream | undefined;
    for (const stream of this.#streams.values()) if (stream.edge === undefined || this.#options.isThere(stream.edge)) chosen = stream;
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
