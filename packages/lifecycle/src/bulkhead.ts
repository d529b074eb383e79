/** See docs/decisions/0002-bulkhead.md. */
import { Link, Ring } from '@omnibus/collections';

export interface BulkheadOptions {
  /** Number of tasks that run at the same time. */
  readonly concurrency: number;
  /** Number of tasks that may wait for a place; further ones are refused. */
  readonly maxWaiting: number;
}

/**
 * Ratio of the places of one owner to those that it leaves free: of 128 places it has 96 at most, the next owner 24 of the remaining 32, and
 * further ones still find 8.
 */
const greed = 3;
/** Fewer places than this are not divided: one owner may have all of them, and others wait for their turn. */
const minShared = 16;

/** The place of a task, from the moment it enters the bulkhead. It is in one ring: of the running tasks, or of the waiting ones of its owner. */
export class Place extends Link {
  readonly owner: string;
  readonly #left: (place: Place) => void;
  /** Starts the task that waits; undefined once it has started. */
  start: ((place: Place) => void) | undefined;
  /** The counts of its owner; undefined unless the bulkhead is crowded. */
  line: Line | undefined;

  constructor(owner: string, left: (place: Place) => void) {
    super();
    this.owner = owner;
    this.#left = left;
  }

  /** Gives the place up, also while the task is still waiting. A second call does nothing. */
  leave(): void {
    this.#left(this);
  }
}

/** One owner in a crowded bulkhead. It is in the ring of turns while it has waiting tasks. */
class Line extends Link {
  readonly waiting = new Ring<Place>();
  /** Number of its tasks that run. */
  held = 0;
}

/**
 * Bounds the tasks in flight at one server, so that a slow server does not starve others, and the share of one owner, so that no session
 * takes the server from others.
 *
 * A task that finds a place starts synchronously: that is the path of nearly every call. Owners are counted only while the bulkhead is crowded: from the
 * moment in which one owner might have more than its share, until far fewer tasks run and none waits.
 */
export class Bulkhead {
  readonly #options: BulkheadOptions;
  readonly #running = new Ring<Place>();
  /** Owners of waiting tasks, in the order of their turns. */
  readonly #turns = new Ring<Line>();
  /** By owner, while the bulkhead is crowded. An owner without tasks stays until then, or until there are too many. */
  #lines: Map<string, Line> | undefined;
  #waiting = 0;
  #isAdmitting = false;
  readonly #mayStart = (line: Line): boolean => this.#mayRun(line);
  readonly #left = (place: Place): void => {
    const { line } = place;
    if (place.start === undefined) {
      if (!this.#running.remove(place)) return;
      if (line !== undefined) line.held -= 1;
      if (this.#waiting > 0) this.#admit();
    } else if (line?.waiting.remove(place) === true) {
      this.#waiting -= 1;
      if (line.waiting.size === 0) this.#turns.remove(line);
    }
  };

  constructor(options: BulkheadOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running.size;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Starts a task when there is a place for its owner, synchronously if there is one now.
   * @param start receives the place, which the task must leave when it has ended.
   * @returns the place, with which the wait can be abandoned; undefined when the owner has no room to wait, and the task is refused.
   */
  enter(owner: string, start: (place: Place) => void): Place | undefined {
    const place = new Place(owner, this.#left);
    if (this.#lines !== undefined && this.#waiting === 0 && this.#isCalm()) this.#lines = undefined;
    const running = this.#running.size;
    // Whether so few tasks run that no owner can have more than its share.
    if (this.#lines === undefined && running < greed * (this.#options.concurrency - running)) {
      this.#running.add(place);
      start(place);
      return place;
    }
    const line = this.#lineOf(owner);
    place.line = line;
    if (line.waiting.size === 0 && this.#mayRun(line)) {
      this.#run(place, line, start);
      return place;
    }
    const left = this.#options.maxWaiting - this.#waiting;
    if (left <= 0 || line.waiting.size >= greed * left) return undefined;
    place.start = start;
    if (line.waiting.size === 0) this.#turns.add(line);
    line.waiting.add(place);
    this.#waiting += 1;
    return place;
  }

  /** Whether so few tasks run that owners need not be counted soon. Between this and the share of one owner, the counts stay: counting again has a cost. */
  #isCalm(): boolean {
    const running = this.#running.size;
    return 2 * running < greed * (this.#options.concurrency - running);
  }

  #mayRun(line: Line): boolean {
    const { concurrency } = this.#options;
    const running = this.#running.size;
    const free = concurrency - running;
    return free > 0 && (concurrency < minShared || line.held < greed * free || running < greed * free);
  }

  #run(place: Place, line: Line, start: (place: Place) => void): void {
    line.held += 1;
    this.#running.add(place);
    start(place);
  }

  /** The counts of an owner. The first call counts all tasks that run. */
  #lineOf(owner: string): Line {
    if (this.#lines === undefined) {
      this.#lines = new Map();
      for (const place of this.#running.toArray()) {
        place.line = this.#known(this.#lines, place.owner);
        place.line.held += 1;
      }
    }
    const { concurrency } = this.#options;
    if (this.#lines.size > 2 * (concurrency + this.#waiting) + minShared)
      for (const [name, { held, waiting }] of this.#lines)
        if (held === 0 && waiting.size === 0) this.#lines.delete(name);
    return this.#known(this.#lines, owner);
  }

  #known(lines: Map<string, Line>, owner: string): Line {
    let line = lines.get(owner);
    if (line === undefined) {
      line = new Line();
      lines.set(owner, line);
    }
    return line;
  }

  /**
   * Starts waiting tasks, by turns of their owners, while there is a place. A task that ends synchronously gives its place back within this loop. Few
   * owners are passed over: those that have more than their share.
   */
  #admit(): void {
    if (this.#isAdmitting) return;
    this.#isAdmitting = true;
    try {
      while (this.#waiting > 0 && this.#running.size < this.#options.concurrency) {
        const line = this.#turns.find(this.#mayStart);
        const place = line?.waiting.first;
        const start = place?.start;
        if (line === undefined || place === undefined || start === undefined) return;
        this.#turns.remove(line);
        line.waiting.remove(place);
        this.#waiting -= 1;
        if (line.waiting.size > 0) this.#turns.add(line);
        place.start = undefined;
        this.#run(place, line, start);
      }
    } finally {
      this.#isAdmitting = false;
    }
  }
}
