/** Views with less in them than everybody's, one for all callers who may see the same: kept while there is room, since each is a list's text. */
import type { View } from '@omnibus/catalog';

/** Views that are kept, whatever their lists take: as many as there are sets of rights. */
const maxViews = 1_000;

export class CallerViews {
  readonly #maxLength: () => number;
  /** The one used longest ago is first. */
  readonly #kept = new Map<string, { readonly base: View; readonly view: View }>();

  /** @param maxLength characters of prepared lists. */
  constructor(maxLength: () => number) {
    this.#maxLength = maxLength;
  }

  /** Characters of lists that are prepared for those who do not see everything. */
  get length(): number {
    let sum = 0;
    for (const { view } of this.#kept.values()) sum += view.keptLength;
    return sum;
  }

  /** @param key of what is looked at, and by whom. @param make gives the view where none of this base is kept. */
  get(key: string, base: View, make: () => View): View {
    const kept = this.#kept.get(key);
    if (kept !== undefined) this.#kept.delete(key);
    const entry = kept?.base === base ? kept : { base, view: make() };
    this.#kept.set(key, entry);
    if (entry !== kept) this.#makeRoom();
    return entry.view;
  }

  #makeRoom(): void {
    let { length } = this;
    const most = this.#maxLength();
    for (const [key, { view }] of this.#kept) {
      if (this.#kept.size <= maxViews && length <= most) return;
      length -= view.keptLength;
      // It may be known still as what somebody saw last: what is on its pages is made again when it is asked for.
      view.dropPages();
      this.#kept.delete(key);
    }
  }
}
