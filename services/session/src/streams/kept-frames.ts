/**
 * Keeps the frames that were sent on streams, so that clients can resume a stream, within bounds for each stream, each session and the process. When a
 * bound is reached, the frames of streams that have rested longest are dropped first, those of the same session before those of others. A client that asks
 * for dropped frames is refused; it is never given a stream with a gap.
 */
import { Link, Ring } from '@omnibus/collections';
import type { DeadlineWheel } from '@omnibus/lifecycle';

export interface SentEvent {
  readonly sequence: number;
  readonly text: string;
  readonly isAnswer: boolean;
  readonly last: boolean;
}

export interface FrameBudgetOptions {
  readonly wheel: DeadlineWheel;
  /** Bytes for all sessions of the process, and for one session. A character is counted as a byte. */
  readonly maxBytes: number;
  readonly maxBytesPerSession: number;
  /** Called when frames of a stream are dropped early, with the bound that was reached. */
  readonly onDrop: (bound: 'session' | 'process') => void;
  /** The clock, in monotonic milliseconds. */
  readonly now?: () => number;
}

/** Events kept of one stream. */
const maxEvents = 256;
const maxBytes = 4 * 1024 * 1024;
/** Lifetime of frames of an ended stream without a reader. The journal keeps them as long. */
const restMs = 5 * 60_000;
/** Time between two checks for frames that have rested for that long. */
const sweepMs = 30_000;

/** Marks a stream to which no more frames are added. Marks are in the order in which the streams began to rest. */
class Rest extends Link {
  readonly frames: KeptFrames;
  readonly since: number;

  constructor(frames: KeptFrames, since: number) {
    super();
    this.frames = frames;
    this.since = since;
  }
}

/** The budget of the process. */
export class FrameBudget {
  readonly #options: FrameBudgetOptions;
  readonly #now: () => number;
  readonly #resting = new Ring<Rest>();
  #used = 0;
  #isSweeping = false;

  constructor(options: FrameBudgetOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  get used(): number {
    return this.#used;
  }

  get maxShare(): number {
    return this.#options.maxBytesPerSession;
  }

  share(): FrameShare {
    return new FrameShare(this);
  }

  add(bytes: number): void {
    this.#used += bytes;
  }

  /** Drops the frames that have rested longest until there is room. @returns false when no stream rests any more. */
  makeRoom(): boolean {
    while (this.#used > this.#options.maxBytes) {
      const { first } = this.#resting;
      if (first === undefined) return false;
      this.dropped('process');
      first.frames.letGo();
    }
    return true;
  }

  dropped(bound: 'session' | 'process'): void {
    this.#options.onDrop(bound);
  }

  rest(frames: KeptFrames): Rest {
    const rest = new Rest(frames, this.#now());
    this.#resting.add(rest);
    this.#sweepLater();
    return rest;
  }

  wake(rest: Rest): void {
    this.#resting.remove(rest);
  }

  #sweepLater(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    this.#options.wheel.schedule(sweepMs, () => {
      this.#isSweeping = false;
      const oldest = this.#now() - restMs;
      for (let { first } = this.#resting; first !== undefined && first.since <= oldest; first = this.#resting.first)
        first.frames.letGo();
      if (this.#resting.size > 0) this.#sweepLater();
    });
  }
}

/** The share of one session. */
export class FrameShare {
  readonly #budget: FrameBudget;
  /** Streams with stored frames, in the order of their first one. */
  readonly #keeping = new Ring<KeptFrames>();
  #used = 0;

  constructor(budget: FrameBudget) {
    this.#budget = budget;
  }

  get used(): number {
    return this.#used;
  }

  frames(): KeptFrames {
    return new KeptFrames(this, this.#budget);
  }

  /** Reserves bytes. @returns false when the session or the process has no room for them; nothing is reserved then. */
  reserve(bytes: number): boolean {
    this.give(-bytes);
    if (this.makeRoom(undefined) && this.#budget.makeRoom()) return true;
    this.give(bytes);
    return false;
  }

  give(bytes: number): void {
    this.#used -= bytes;
    this.#budget.add(-bytes);
  }

  begins(frames: KeptFrames): void {
    this.#keeping.add(frames);
  }

  ends(frames: KeptFrames): void {
    this.#keeping.remove(frames);
  }

  /**
   * Drops frames of this session: first those of resting streams, then those of the oldest streams, and last those of the stream that has just grown.
   * @returns false when there is nothing left to drop.
   */
  makeRoom(grown: KeptFrames | undefined): boolean {
    while (this.#used > this.#budget.maxShare) {
      const keeping = this.#keeping.toArray();
      const victim =
        keeping.find((frames) => frames.isResting && frames !== grown) ??
        keeping.find((frames) => frames !== grown) ??
        grown;
      if (victim === undefined || !victim.hasAny) return false;
      this.#budget.dropped('session');
      victim.letGo();
    }
    return true;
  }
}

/** The kept frames of one stream. */
export class KeptFrames extends Link {
  readonly #share: FrameShare;
  readonly #budget: FrameBudget;
  #events: SentEvent[] = [];
  #bytes = 0;
  #rest: Rest | undefined;

  constructor(share: FrameShare, budget: FrameBudget) {
    super();
    this.#share = share;
    this.#budget = budget;
  }

  get events(): readonly SentEvent[] {
    return this.#events;
  }

  get hasAny(): boolean {
    return this.#events.length > 0;
  }

  get isResting(): boolean {
    return this.#rest !== undefined;
  }

  keep(event: SentEvent): void {
    if (this.#events.length === 0) this.#share.begins(this);
    this.#events.push(event);
    this.#count(event.text.length);
    while (this.#events.length > maxEvents || (this.#bytes > maxBytes && this.#events.length > 1)) {
      this.#count(-(this.#events.shift() as SentEvent).text.length); // T3
    }
    this.#share.makeRoom(this);
    if (this.#budget.makeRoom()) return;
    // All other frames are of streams in use, which are not dropped.
    this.#budget.dropped('process');
    this.letGo();
  }

  /** Drops all kept frames. */
  letGo(): void {
    this.wake();
    if (this.#events.length === 0) return;
    this.#events = [];
    this.#count(-this.#bytes);
    this.#share.ends(this);
  }

  /** The stream has no reader, and no more messages will come. */
  rest(): void {
    if (this.#rest === undefined && this.#events.length > 0) this.#rest = this.#budget.rest(this);
  }

  wake(): void {
    if (this.#rest === undefined) return;
    this.#budget.wake(this.#rest);
    this.#rest = undefined;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#share.give(-bytes);
  }
}
