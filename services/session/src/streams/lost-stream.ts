/**
 * A stream that another worker began. What it had sent is in the journal. A worker that only leaves goes on with it, and so
 * does what the journal says; of one that is gone, the answers that are missing are ones nobody will ever know.
 */
import { Inquiry, subjects, type Bus, type Journal, type PresenceWatch, type Watch } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import { errorText, fault, idKey, parseJson, requestOf, toErrorObject, type EventPosition, type HeldStreams, type JsonRpcId, type Presence, type SessionKey, type StreamEntry, type StreamFrame, type StreamId, type WorkerId } from '@omnibus/protocol';
import type { SentEvent } from './kept-frames.ts';

export interface LostStreamOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  /** Signs of life of the session workers. */
  readonly workers: Pick<PresenceWatch<Presence>, 'state'>;
  readonly journal: Journal<StreamEntry>;
  readonly key: SessionKey;
  readonly stream: StreamId;
}

export class LostStream {
  readonly #options: LostStreamOptions;
  readonly #requests: JsonRpcId[] = [];
  readonly events: SentEvent[] = [];
  #subscription: Watch | undefined;
  #hear: ((event: SentEvent) => void) | undefined;

  private constructor(options: LostStreamOptions) {
    this.#options = options;
  }

  /** Reads what is kept of it. */
  static async find(options: LostStreamOptions): Promise<LostStream> {
    const lost = new LostStream(options);
    lost.#subscription = await options.journal.follow(subjects.stream(options.key, options.stream), (entry) => lost.#take(entry));
    return lost;
  }

  /** Some client may have had an event of it. */
  get isKnown(): boolean {
    return this.#requests.length > 0 || this.events.length > 0;
  }

  get isComplete(): boolean {
    return this.events.at(-1)?.last === true;
  }

  /** From now on, what the worker that goes on with it sends. */
  follow(hear: (event: SentEvent) => void): void {
    this.#hear = hear;
  }

  close(): void {
    this.#subscription?.close();
  }

  /**
   * Asks the worker that began it whether it still works on it. Silence is no answer: `lost` is heard when that worker has said that it
   * does not, or is proven to be gone (`bus/inquiry.ts`); neither is heard of one that is there and cannot be asked.
   */
  askAfter(worker: WorkerId, { held, lost }: { readonly held: () => void; readonly lost: () => void }): void {
    const { bus, wheel, workers, key, stream } = this.#options;
    const inquiry = new Inquiry<LostStream, HeldStreams>({
      bus, clock: wheel, workers, held, lost,
      payload: () => ({ key, streams: [stream] }),
      heldOf: ({ streams }) => new Set(streams.includes(stream) ? [this] : []),
      attemptOf: () => (this.isComplete ? undefined : 1),
    });
    inquiry.ask([this], subjects.sessionStreams, () => [worker]);
  }

  /**
   * What there is for a client when a part of what it has not had was lost with a part of the store: a client that is refused
   * may wait for its answers for ever.
   */
  conclude({ stream, sequence }: EventPosition, reply: (frame: StreamFrame) => void): void {
    reply({ kind: 'attached', stream });
    const words = this.lastWords(sequence);
    for (const event of words) reply({ kind: 'message', ...event });
    if (words.at(-1)?.last !== true) reply({ kind: 'end' });
  }

  /**
   * Answers to the requests that have none, of which nobody knows what became of them.
   * @param after what the client has had, where that is not what is kept: answers that are kept and may be new to it come first.
   */
  lastWords(after?: number): SentEvent[] {
    const answered = new Set(this.events.filter(({ isAnswer }) => isAnswer).map(({ text }) => idKey((parseJson(text) as { readonly id: JsonRpcId }).id)));
    const named = requestOf(this.#options.stream);
    const requests = this.#requests.length > 0 || named === undefined ? this.#requests : [named];
    const open = requests.filter((id) => !answered.has(idKey(id)));
    const late = after === undefined ? [] : this.events.filter(({ isAnswer, sequence }) => isAnswer && sequence > after).map((event) => ({ ...event, last: false }));
    const first = Math.max(this.events.at(-1)?.sequence ?? 0, after ?? 0) + 1;
    return [...late, ...open.map((id, index) => ({ sequence: first + index, text: errorText(id, toErrorObject(fault('gateway.interrupted'))), isAnswer: true, last: index === open.length - 1 }))];
  }

  #take(entry: StreamEntry): void {
    if (entry.kind === 'opened') {
      if (this.#requests.length === 0) this.#requests.push(...entry.requests);
      return;
    }
    const last = this.events.at(-1)?.sequence ?? 0;
    if (entry.sequence <= last) return; // Heard twice.
    // One that went missing takes those before it along: a client is given answers, but no gap in what leads to them (T3).
    if (entry.sequence > last + 1) this.events.length = 0;
    const { kind: _kind, ...event } = entry;
    this.events.push(event);
    this.#hear?.(event);
  }
}
