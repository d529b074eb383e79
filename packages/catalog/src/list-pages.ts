/** One list as JSON, page by page, and the cursors that lead from one to the next. */
import { hash } from 'node:crypto';
import type { JsonObject, ListKind } from '@omnibus/protocol';

/** A page ends with the entry that makes it longer than this, so that no client gets a hundred of the longest at once. */
const maxPageLength = 4 * 1024 * 1024;
/** Cursors of ours are shorter; a longer one is not even looked at. */
const maxCursorLength = 100;

/** The pages of one list, and a digest of their contents. */
export interface Pages {
  readonly version: string;
  /** @returns undefined when the cursor is not one of this list (2025-11-25 pagination: -32602). */
  page(cursor: string | undefined): string | undefined;
}

/** The same in every process. */
export function digestOf(texts: readonly string[]): string {
  return hash('sha256', texts.join('\n'), 'base64url').slice(0, 12);
}

/** Characters of cached pages for callers that may see a part only. */
export interface KeptPages {
  length: number;
}

/** Counter of cached pages; undefined: pages are computed each time. */
export interface Keeping {
  pages: KeptPages | undefined;
}

/** Pages that are computed on request. */
export class LazyPages implements Pages {
  readonly version: string;
  readonly #make: () => ListPages;
  readonly #keeping: Keeping;
  #made: ListPages | undefined;

  constructor(version: string, keeping: Keeping, make: () => ListPages) {
    this.version = version;
    this.#keeping = keeping;
    this.#make = make;
  }

  page(cursor: string | undefined): string | undefined {
    if (this.#made !== undefined) return this.#made.page(cursor);
    const made = this.#make();
    const { pages } = this.#keeping;
    if (pages !== undefined) {
      this.#made = made;
      pages.length += made.length;
    }
    return made.page(cursor);
  }

  drop(): void {
    const { pages } = this.#keeping;
    if (this.#made !== undefined && pages !== undefined) pages.length -= this.#made.length;
    this.#made = undefined;
  }
}

export class ListPages implements Pages {
  readonly #kind: ListKind;
  /** A digest of the entries, the same in every process. */
  readonly version: string;
  readonly #pages: string[] = [];

  /**
   * @param entries as JSON.
   * @param version of the cursors; that of the entries when left out.
   */
  constructor(kind: ListKind, entries: readonly string[], pageSize: number, version?: string) {
    this.#kind = kind;
    this.version = version ?? digestOf(entries);
    for (let start = 0; start === 0 || start < entries.length;) {
      let end = start;
      for (let length = 0; end < entries.length && end - start < pageSize && length <= maxPageLength; end += 1)
        length += (entries[end] as string).length;
      const next =
        end < entries.length
          ? `,"nextCursor":${JSON.stringify(`${kind}.${this.version}.${this.#pages.length + 1}`)}`
          : '';
      this.#pages.push(`{"${kind}":[${entries.slice(start, end).join(',')}]${next}}`);
      start = Math.max(end, 1);
    }
  }

  /** In characters. */
  get length(): number {
    return this.#pages.reduce((sum, page) => sum + page.length, 0);
  }

  page(cursor: string | undefined): string | undefined {
    if (cursor === undefined) return this.#pages[0];
    if (cursor.length > maxCursorLength) return undefined;
    const [cursorKind, version, index] = cursor.split('.');
    if (cursorKind !== this.#kind || version !== this.version || !/^[1-9]\d*$/.test(index ?? '')) return undefined;
    return this.#pages[Number(index)];
  }
}

/** A page with members in front of its entries. */
export function withMembers(page: string, members: JsonObject): string {
  const text = JSON.stringify(members);
  return text === '{}' ? page : `${text.slice(0, -1)},${page.slice(1)}`;
}
