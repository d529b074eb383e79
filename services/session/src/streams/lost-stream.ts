/**
 * A stream that another worker began, with a client that comes back to this one. The journal has its events. If the other worker is only leaving, it
 * continues sending, and the journal receives that too. If the other worker is dead, the missing answers are lost, and the client
 * gets an error.
 */
import { Inquiry, subjects, type Bus, type Journal, type PresenceWatch, type Watch } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  errorText,
  fault,
  idKey,
  parseJson,
  requestOf,
  toErrorObject,
  type EventPosition,
  type HeldStreams,
  type JsonRpcId,
  type Presence,
  type SessionKey,
  type StreamEntry,
  type StreamFrame,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import type { SentEvent } from './kept-frames.ts';

export interface LostStreamOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  /** Signs of life of the session workers, which tell whether a worker is there. */
  readonly workers: Pick<PresenceWatch<Presence>, 'state'>;
  readonly journal: Journal<StreamEntry>;
  readonly key: SessionKey;
  readonly stream: StreamId;
}

/** Readings in a row while an entry before others is missing: one that is not stored when those after it have come twice was lost. */
const maxReadings = 2;

export class LostStream {
  readonly #options: LostStreamOptions;
  readonly #requests: JsonRpcId[] = [];
  readonly events: SentEvent[] = [];
  #subscription: Watch | undefined;
  #hear: ((event: SentEvent) => void) | undefined;
  #isClosed = false;
  /** The reading of the journal, while it is read. */
  #reading: Promise<void> | undefined;
  /** Events that came before an earlier one. */
  #early: SentEvent[] = [];

  private constructor(options: LostStreamOptions) {
    this.#options = options;
  }

  /** Reads the journal's entries of the stream. */
  static async find(options: LostStreamOptions): Promise<LostStream> {
    const lost = new LostStream(options);
    await lost.read();
    return lost;
  }

  /**
   * Reads the journal again. Entries are stored a little after they were sent: a message in transit at the first reading is neither among
   * the stored entries then, nor does it come afterwards.
   */
  read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const { journal, key, stream } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const before = this.#subscription;
      const subscription = await journal.follow(subjects.stream(key, stream), (entry) => this.#take(entry));
      before?.close();
      this.#subscription = subscription;
      if (this.#isClosed) subscription.close();
      const early = this.#early
        .splice(0)
        .filter(({ sequence }) => sequence > this.sequence)
        .sort((one, other) => one.sequence - other.sequence);
      while (early[0]?.sequence === this.sequence + 1) this.#add(early.shift() as SentEvent);
      if (early.length === 0 || attempt === maxReadings) {
        for (const event of early) this.#add(event);
        return;
      }
      this.#early.push(...early);
    }
  }

  /** Number of the last event that is known. */
  get sequence(): number {
    return this.events.at(-1)?.sequence ?? 0;
  }

  /** Whether a client may have received an event of the stream. */
  get isKnown(): boolean {
    return this.#requests.length > 0 || this.events.length > 0;
  }

  get isComplete(): boolean {
    return this.events.at(-1)?.last === true;
  }

  /** Passes on the other worker's later messages. */
  follow(hear: (event: SentEvent) => void): void {
    this.#hear = hear;
  }

  close(): void {
    this.#isClosed = true;
    this.#subscription?.close();
  }

  /**
   * Asks the worker that began the stream whether it still works on it. `lost` is called only when that worker says that it does not, or is proven to be
   * gone (`bus/inquiry.ts`); silence proves nothing. Neither function is called while the worker is there but does not answer.
   */
  askAfter(worker: WorkerId, { held, lost }: { readonly held: () => void; readonly lost: () => void }): void {
    const { bus, wheel, workers, key, stream } = this.#options;
    const inquiry = new Inquiry<LostStream, HeldStreams>({
      bus,
      clock: wheel,
      workers,
      held,
      lost,
      payload: () => ({ key, streams: [stream] }),
      heldOf: ({ streams }) => new Set(streams.includes(stream) ? [this] : []),
      attemptOf: () => (this.isComplete ? undefined : 1),
    });
    inquiry.ask([this], subjects.sessionStreams, () => [worker]);
  }

  /**
   * Answers a client when some events that it has not received were lost with part of the journal. The client gets the remaining answers instead of a
   * refusal, because a client that is refused may wait for its answers without end.
   */
  conclude({ stream, sequence }: EventPosition, reply: (frame: StreamFrame) => void): void {
    reply({ kind: 'attached', stream });
    const words = this.lastWords(sequence);
    for (const event of words) reply({ kind: 'message', ...event });
    if (words.at(-1)?.last !== true) reply({ kind: 'end' });
  }

  /**
   * Makes answers that say "outcome unknown" for the requests that have no answer.
   * @param after the last event that the client has received, if it differs from the stored ones: stored answers after it, which may be new to the client,
   * come first.
   */
  lastWords(after?: number): SentEvent[] {
    const answered = new Set(
      this.events
        .filter(({ isAnswer }) => isAnswer)
        .map(({ text }) => idKey((parseJson(text) as { readonly id: JsonRpcId }).id)),
    );
    const named = requestOf(this.#options.stream);
    const requests = this.#requests.length > 0 || named === undefined ? this.#requests : [named];
    const open = requests.filter((id) => !answered.has(idKey(id)));
    const late =
      after === undefined
        ? []
        : this.events
            .filter(({ isAnswer, sequence }) => isAnswer && sequence > after)
            .map((event) => ({ ...event, last: false }));
    const first = Math.max(this.sequence, after ?? 0) + 1;
    return [
      ...late,
      ...open.map((id, index) => ({
        sequence: first + index,
        text: errorText(id, toErrorObject(fault('gateway.interrupted'))),
        isAnswer: true,
        last: index === open.length - 1,
      })),
    ];
  }

  #take(entry: StreamEntry): void {
    if (entry.kind === 'opened') {
      if (this.#requests.length === 0) this.#requests.push(...entry.requests);
      return;
    }
    const { kind: _kind, ...event } = entry;
    // The first entry that is read may have any number, since a journal keeps the latest ones.
    const isFirst = this.events.length === 0 && this.#reading !== undefined;
    if (isFirst || entry.sequence <= this.sequence + 1) {
      this.#add(event);
      return;
    }
    this.#early.push(event);
    // Should the journal not be readable now, what comes is passed on as it comes.
    if (this.#reading === undefined) this.read().catch(() => this.#early.splice(0).forEach((each) => this.#add(each)));
  }

  #add(event: SentEvent): void {
    if (event.sequence <= this.sequence) return; // The event was already read.
    // If an entry is missing, all entries before it are dropped: a client may get answers only, but never a stream with a gap (T3).
    if (event.sequence > this.sequence + 1) this.events.length = 0;
    this.events.push(event);
    this.#hear?.(event);
  }
}
