/**
 * What is kept of streams so that clients can come back to them: of one stream, of one session, of the process. Over a bound,
 * what has rested longest goes first, the session's own before anybody else's; whoever asks for it is refused, not given a gap.
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
  /** Of all sessions together, and of one. A character is counted as a byte. */
  readonly maxBytes: number;
  readonly maxBytesPerSession: number;
  /** Frames of a stream were let go before their time. */
  readonly onDrop: (bound: 'session' | 'process') => void;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/** Of one stream. */
const maxEvents = 256;
const maxBytes = 4 * 1024 * 1024;
/** A stream that nobody reads and that says nothing more is kept so long, as long as the journal keeps it. */
const restMs = 5 * 60_000;
/** Between two looks for what has rested so long. */
const sweepMs = 30_000;

/** The mark of frames that nobody adds to, in the order in which that began. */
class Rest extends Link {
  readonly frames: KeptFrames;
  readonly since: number;

  constructor(frames: KeptFrames, since: number) {
    super();
    this.frames = frames;
    this.since = since;
  }
}

/** Of the process. */
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

  /** Lets go of what has rested longest until there is room. @returns false when nothing rests any more. */
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
      for (let { first } = this.#resting; first !== undefined && first.since <= oldest; first = this.#resting.first) first.frames.letGo();
      if (this.#resting.size > 0) this.#sweepLater();
    });
  }
}

/** Of one session. */
export class FrameShare {
  readonly #budget: FrameBudget;
  /** Streams of which something is kept, by when that began. */
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

  /** @returns false when there is no room for it, in this session or at all; then it is not counted. */
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
   * Lets go of frames of this session: of what rests, then of what is longest there, last of what has just grown.
   * @returns false when nothing is left to let go.
   */
  makeRoom(grown: KeptFrames | undefined): boolean {
    while (this.#used > this.#budget.maxShare) {
      const keeping = this.#keeping.toArray();
      const victim = keeping.find((frames) => frames.isResting && frames !== grown) ?? keeping.find((frames) => frames !== grown) ?? grown;
      if (victim === undefined || !victim.hasAny) return false;
      this.#budget.dropped('session');
      victim.letGo();
    }
    return true;
  }
}

/** Of one stream. */
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
    // Everything else is of streams that are in use.
    this.#budget.dropped('process');
    this.letGo();
  }

  /** Nothing is kept any more. */
  letGo(): void {
    this.wake();
    if (this.#events.length === 0) return;
    this.#events = [];
    this.#count(-this.#bytes);
    this.#share.ends(this);
  }

  /** Nobody reads it, and nothing is to come. */
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
