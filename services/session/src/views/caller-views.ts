/** Views for callers who see only a part of what an endpoint offers. Callers who may see the same share one view. Views are kept while there is room, since each has the text of its lists. */
import type { KeptPages, View } from '@omnibus/catalog';

/** Bound on the number of kept views, however small their lists are. */
const maxViews = 1_000;

export class CallerViews {
  readonly #maxLength: () => number;
  /** The least recently used view comes first. */
  readonly #kept = new Map<string, { readonly base: View; readonly view: View }>();
  readonly #pages: KeptPages = { length: 0 };

  /** @param maxLength the bound on characters of all prepared lists. */
  constructor(maxLength: () => number) {
    this.#maxLength = maxLength;
  }

  /** Characters of the lists that are prepared for these callers. */
  get length(): number {
    return this.#pages.length;
  }

  /** Finds a view, or makes and keeps it. @param key names the place, what the client declared, and what its caller may see. @param make makes the view where none of this base is kept. */
  get(key: string, base: View, make: () => View): View {
    const kept = this.#kept.get(key);
    if (kept !== undefined) this.#kept.delete(key);
    if (kept?.base === base) {
      this.#kept.set(key, kept);
      return kept.view;
    }
    kept?.view.dropPages();
    const view = make();
    view.keepPages(this.#pages);
    this.#kept.set(key, { base, view });
    this.#makeRoom();
    return view;
  }

  #makeRoom(): void {
    const most = this.#maxLength();
    for (const [key, { view }] of this.#kept) {
      if (this.#kept.size <= maxViews && this.#pages.length <= most) return;
      // Something may still hold the view as the last one that a caller saw, so its pages are dropped; they are made again when they are asked for.
      view.dropPages();
      this.#kept.delete(key);
    }
  }
}
