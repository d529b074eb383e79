/**
 * Lists with tools of the gateway in front of those of servers: tools by which a model finds and calls the tools that a short list does not show, and the tool
 * that reads stored results. What a short list does not show can be called as before.
 */
import type { JsonObject, ServerName } from '@omnibus/protocol';
import { coders, finders } from './finders.ts';
import { ListPages, type Pages } from './list-pages.ts';
import { globTest, mayBeShort, type EndpointDefinition, type Listing } from './profile.ts';
import { resultReader } from './result-bounds.ts';
import type { Listed, ViewLists } from './view-lists.ts';

/** What a text costs a model, about: tokenizers differ by model, and this is the same for all. */
export function tokensOf(text: string): number {
  return Math.ceil(text.length / 4);
}

export class ShortTools {
  readonly version: string;
  /** Whether it shows a part of the servers' tools. */
  readonly isShort: boolean;
  readonly #older: Pages;
  readonly #makeModern: () => Pages;
  #modern: Pages | undefined;

  private constructor(older: Pages, makeModern: () => Pages, isShort: boolean) {
    this.version = older.version;
    this.isShort = isShort;
    this.#older = older;
    this.#makeModern = makeModern;
  }

  /** @returns undefined where the list shows the servers' tools, all of them and no others. */
  static of(
    lists: ViewLists,
    { listing, results, pageSize }: Pick<EndpointDefinition, 'listing' | 'results' | 'pageSize'>,
    runsTasks: boolean,
  ): ShortTools | undefined {
    const mayCut = listing !== undefined && mayBeShort(listing);
    if (!mayCut && results === undefined) return undefined;
    const all = lists.entries('tools', false);
    const chosen = mayCut ? chosenOf(all, listing) : all;
    const isShort = mayCut && (chosen.length < all.length || listing.mode !== 'full');
    if (!isShort && results === undefined) return undefined;
    const names = new Set(chosen.map(({ publicName }) => publicName));
    const readers = results === undefined ? [] : [resultReader.entry];
    const finding = (asTasks: boolean): readonly JsonObject[] =>
      listing?.mode === 'code' ? coders.entries() : finders.entries(asTasks);
    const pages = (isModern: boolean, version?: string): Pages =>
      new ListPages(
        'tools',
        [
          ...[...(isShort ? finding(runsTasks && !isModern) : []), ...readers].map((entry) => JSON.stringify(entry)),
          ...lists.entries('tools', isModern).flatMap(({ publicName, text }) => (names.has(publicName) ? [text] : [])),
        ],
        pageSize,
        version,
      );
    const older = pages(false);
    return new ShortTools(older, () => pages(true, older.version), isShort);
  }

  page(cursor: string | undefined): string | undefined {
    return this.#older.page(cursor);
  }

  /** The page for a client of 2026-07-28. */
  modernPage(cursor: string | undefined): string | undefined {
    this.#modern ??= this.#makeModern();
    return this.#modern.page(cursor);
  }
}

/** The entries that fit, in the order of the list. Those that `show` names come before others, and no entry after the first that does not fit is taken. */
function chosenOf(all: readonly Listed[], { mode, show, budget }: Listing): readonly Listed[] {
  const isFirst = globTest(show, true);
  const named = new Set(all.filter(({ server, original }) => isFirst(keyOf(server, original))));
  const wanted = mode !== 'full' ? [...named] : [...named, ...all.filter((entry) => !named.has(entry))];
  const chosen = new Set<Listed>();
  let tokens = 0;
  for (const entry of wanted) {
    tokens += tokensOf(entry.text);
    if (chosen.size >= (budget.tools ?? Infinity) || tokens > (budget.tokens ?? Infinity)) break;
    chosen.add(entry);
  }
  return all.filter((entry) => chosen.has(entry));
}

const keyOf = (server: ServerName, original: string): string => `${server}/${original}`;
