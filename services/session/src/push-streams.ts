/**
 * The GET streams of one session, and what waits for the first of them. Each message goes to exactly one stream
 * (2025-03-26 transports, Multiple Connections).
 */
import { changeNotifications, notificationText, type ChangeKind, type EventPosition, type StreamId } from '@omnibus/protocol';
import { ResumableStream, type Reply, type SentEvent, type StreamKeeper } from './resumable-stream.ts';

/** Messages other than list changes that wait for a stream; the oldest go first. */
const maxWaiting = 256;
/** Streams whose reader is gone and may come back. */
const maxGone = 4;

export class PushStreams {
  readonly #streams = new Map<StreamId, ResumableStream>();
  #gone: ResumableStream[] = [];
  /** Lists that changed and of which the client was not told: telling once is enough. */
  readonly #changed = new Set<ChangeKind>();
  readonly #waiting: string[] = [];
  readonly #onDrop: () => void;
  readonly #keeper: StreamKeeper | undefined;
  #isClientReady = false;

  constructor(onDrop: () => void, keeper: StreamKeeper | undefined) {
    this.#onDrop = onDrop;
    this.#keeper = keeper;
  }

  get size(): number {
    return this.#streams.size;
  }

  attach(id: StreamId, reply: Reply): void {
    reply({ kind: 'attached', stream: id });
    this.#streams.set(id, new ResumableStream(id, reply, this.#keeper));
    this.#flush();
  }

  /** @returns false when there is no such stream, or what follows is not kept any more. */
  resume({ stream: id, sequence }: EventPosition, reader: StreamId, reply: Reply): boolean {
    const stream = this.#streams.get(id) ?? this.#gone.find((each) => each.id === id);
    if (stream?.resume(sequence, reader, reply) !== true) return false;
    this.#gone = this.#gone.filter((each) => each !== stream);
    this.#streams.set(id, stream);
    this.#flush();
    return true;
  }

  /** A reader comes back to a stream that another worker held, of which this is kept. @returns false when it would miss something. */
  revive({ stream: id, sequence }: EventPosition, events: readonly SentEvent[], reader: StreamId, reply: Reply): boolean {
    // What is not kept any more began after what the client has: nothing says that there was something in between.
    const stream = new ResumableStream(id, undefined, this.#keeper, events.length === 0 ? sequence : 0);
    for (const event of events) stream.restore(event);
    if (stream.sequence < sequence) return this.revive({ stream: id, sequence }, [], reader, reply);
    if (!stream.resume(sequence, reader, reply)) return false;
    this.#streams.set(id, stream);
    this.#flush();
    return true;
  }

  /** @returns false when it is none of these streams. */
  detach(id: StreamId, reader: StreamId): boolean {
    const stream = this.#streams.get(id);
    if (stream === undefined) return false;
    if (!stream.detach(reader)) return true;
    this.#streams.delete(id);
    this.#gone = [...this.#gone.slice(1 - maxGone), stream];
    return true;
  }

  /** Before the client has confirmed the handshake it is told nothing. */
  clientReady(): void {
    this.#isClientReady = true;
    this.#flush();
  }

  listsChanged(kinds: readonly ChangeKind[]): void {
    for (const kind of kinds) this.#changed.add(kind);
    this.#flush();
  }

  push(text: string): void {
    if (this.#waiting.length >= maxWaiting) {
      this.#waiting.shift();
      this.#onDrop();
    }
    this.#waiting.push(text);
    this.#flush();
  }

  has(id: StreamId): boolean {
    return this.#streams.has(id);
  }

  /** The session goes on elsewhere, and so do its streams. */
  moveAll(): void {
    for (const stream of this.#streams.values()) stream.move();
    this.#streams.clear();
  }

  endAll(): void {
    for (const stream of this.#streams.values()) stream.end();
    this.#streams.clear();
  }

  #flush(): void {
    const first = this.#streams.values().next();
    if (first.done === true || !this.#isClientReady) return;
    for (const kind of this.#changed) first.value.send(notificationText(changeNotifications[kind]), false, false);
    this.#changed.clear();
    for (const text of this.#waiting.splice(0)) first.value.send(text, false, false);
  }
}
