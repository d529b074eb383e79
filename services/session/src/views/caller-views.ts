/** Views for callers that see only a part of an endpoint. Callers with the same rights share one view. Views are cached while there is room, since each has the text of its lists. */
import type { KeptPages, View } from '@omnibus/catalog';

/** Bound on the number of kept views, however small their lists are. */
const maxViews = 1_000;

/** A cached view. A client that has found it looks it up here again, which costs less than its key. */
export interface CallerView {
  readonly view: View;
  /** The common view that it is a part of. */
  readonly base: View;
  /** False once it was dropped to make room: then it must be found by its key. */
  isKept: boolean;
  /** Number of its last use, counted over all views. */
  used: number;
}

export class CallerViews {
  readonly #maxLength: () => number;
  readonly #kept = new Map<string, CallerView>();
  readonly #pages: KeptPages = { length: 0 };
  #uses = 0;

  /** @param maxLength the bound on characters of all prepared lists. */
  constructor(maxLength: () => number) {
    this.#maxLength = maxLength;
  }

  /** Characters of the lists that are prepared for these callers. */
  get length(): number {
    return this.#pages.length;
  }

  /** Notes that a view is in use, so that others are dropped before it. */
  use(kept: CallerView): View {
    this.#uses += 1;
    kept.used = this.#uses;
    return kept.view;
  }

  /** Finds a view, or makes and caches it. @param key names the place, the client's declarations, and its caller's rights. @param make makes the view if none of this base is cached. */
  get(key: string, base: View, make: () => View): CallerView {
    const kept = this.#kept.get(key);
    if (kept?.base === base) {
      this.use(kept);
      return kept;
    }
    if (kept !== undefined) this.#drop(key, kept);
    const made: CallerView = { view: make(), base, isKept: true, used: 0 };
    made.view.keepPages(this.#pages);
    this.use(made);
    this.#kept.set(key, made);
    this.#makeRoom();
    return made;
  }

  #makeRoom(): void {
    const most = this.#maxLength();
    if (this.#kept.size <= maxViews && this.#pages.length <= most) return;
    for (const [key, kept] of [...this.#kept].toSorted(([, one], [, other]) => one.used - other.used)) {
      if (this.#kept.size <= maxViews && this.#pages.length <= most) return;
      this.#drop(key, kept);
    }
  }

  /** A client may still hold the view as its last one, so its pages are dropped; they are computed again on request. */
  #drop(key: string, kept: CallerView): void {
    kept.isKept = false;
    kept.view.dropPages();
    this.#kept.delete(key);
  }
}
