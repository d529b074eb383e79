/**
 * The GET streams of one session, and what waits for the first of them. Each message goes to exactly one stream
 * (2025-03-26 transports, Multiple Connections).
 */
import { changeNotifications, notificationText, type ChangeKind, type StreamFrame, type StreamId } from '@omnibus/protocol';

type Reply = (frame: StreamFrame) => void;

/** Messages other than list changes that wait for a stream; the oldest go first. */
const maxWaiting = 256;

export class PushStreams {
  readonly #streams = new Map<StreamId, Reply>();
  /** Lists that changed and of which the client was not told: telling once is enough. */
  readonly #changed = new Set<ChangeKind>();
  readonly #waiting: string[] = [];
  readonly #onDrop: () => void;
  #isClientReady = false;

  constructor(onDrop: () => void) {
    this.#onDrop = onDrop;
  }

  get size(): number {
    return this.#streams.size;
  }

  attach(stream: StreamId, reply: Reply): void {
    reply({ kind: 'attached' });
    this.#streams.set(stream, reply);
    this.#flush();
  }

  detach(stream: StreamId): void {
    this.#streams.delete(stream);
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

  endAll(): void {
    for (const reply of this.#streams.values()) reply({ kind: 'end' });
    this.#streams.clear();
  }

  #flush(): void {
    const first = this.#streams.values().next();
    if (first.done === true || !this.#isClientReady) return;
    const send = (text: string): void => first.value({ kind: 'message', text, isAnswer: false, last: false });
    for (const kind of this.#changed) send(notificationText(changeNotifications[kind]));
    this.#changed.clear();
    for (const text of this.#waiting.splice(0)) send(text);
  }
}
