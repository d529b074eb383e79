/**
 * Lists with tools of the gateway in front of those of servers: tools by which a model finds and calls the tools that a short list does not show, and the tool
 * that reads stored results, and composite tools. What a short list does not show can be called as before.
 */
import type { JsonObject, ServerName } from '@omnibus/protocol';
import { compositesWith } from './composites.ts';
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
  /** Names of the composite tools that it shows. */
  readonly composites: ReadonlySet<string>;
  /** The tools that it leaves out since a composite tool hides its steps, as `server/tool`. */
  readonly inside: ReadonlySet<string>;
  readonly #older: Pages;
  readonly #makeModern: () => Pages;
  #modern: Pages | undefined;

  private constructor(
    older: Pages,
    makeModern: () => Pages,
    isShort: boolean,
    shown: { readonly composites: readonly string[]; readonly inside: ReadonlySet<string> },
  ) {
    this.version = older.version;
    this.isShort = isShort;
    this.composites = new Set(shown.composites);
    this.inside = shown.inside;
    this.#older = older;
    this.#makeModern = makeModern;
  }

  /** @returns undefined where the list shows the servers' tools, all of them and no others. */
  static of(
    lists: ViewLists,
    {
      listing,
      results,
      composites,
      pageSize,
    }: Pick<EndpointDefinition, 'listing' | 'results' | 'composites' | 'pageSize'>,
    runsTasks: boolean,
  ): ShortTools | undefined {
    const mayCut = listing !== undefined && mayBeShort(listing);
    if (!mayCut && results === undefined && composites === undefined) return undefined;
    const all = lists.entries('tools', false);
    const composed = compositesWith(
      composites,
      () => new Set(all.map(({ server, original }) => keyOf(server, original))),
    );
    const chosen = mayCut ? chosenOf(all, listing) : all;
    const isShort = mayCut && (chosen.length < all.length || listing.mode !== 'full');
    if (!isShort && results === undefined && composed.length === 0) return undefined;
    const inside = new Set(composed.flatMap(({ hidesSteps, needs }) => (hidesSteps ? needs : [])));
    const names = new Set(
      chosen.flatMap(({ server, original, publicName }) => (inside.has(keyOf(server, original)) ? [] : publicName)),
    );
    const own = [...(results === undefined ? [] : [resultReader.entry]), ...composed.map(({ entry }) => entry)];
    const finding = (isModern: boolean): readonly JsonObject[] =>
      listing?.mode === 'code' ? coders.entries(!isModern) : finders.entries(runsTasks && !isModern);
    const pages = (isModern: boolean, version?: string): Pages =>
      new ListPages(
        'tools',
        [
          ...[...(isShort ? finding(isModern) : []), ...own].map((entry) => JSON.stringify(entry)),
          ...lists.entries('tools', isModern).flatMap(({ publicName, text }) => (names.has(publicName) ? [text] : [])),
        ],
        pageSize,
        version,
      );
    const older = pages(false);
    const shown = { composites: composed.map(({ name }) => name), inside };
    return new ShortTools(older, () => pages(true, older.version), isShort, shown);
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
