/** Reads all pages of a server's lists, within bounds: nothing that a server says is assumed to be small, shallow or finite. */
import { checkEntries } from '@omnibus/catalog';
import {
  isDeeperThan,
  isEmptyObject,
  isObject,
  printable,
  listMethods,
  type CatalogLists,
  type ExchangeOutcome,
  type JsonObject,
  type Limits,
  type ListKind,
  type ListNotes,
  type RepairCounts,
  type UnfitEntry,
} from '@omnibus/protocol';
import { Notes } from './list-notes.ts';
import type { OutputSchemas } from './output-schemas.ts';

export interface ListReading<Kind extends ListKind> {
  readonly entries: CatalogLists[Kind];
  /** The server's members of the whole list. */
  readonly notes: ListNotes;
  /** Why the list is incomplete: a page after the first could not be read. */
  readonly broken: string | undefined;
  /** Problems of entries and of the list; the first hundred. */
  readonly problems: readonly UnfitEntry[];
  /** Number of entries that were left out, as far as they were read. */
  readonly leftOut: number;
}

type ReaderLimits = Pick<Limits, 'maxCatalogEntries' | 'maxCatalogPages' | 'maxCatalogBytes' | 'maxJsonDepth'>;

/** How the lists of one server are read. */
export interface ReaderOptions {
  readonly limits: ReaderLimits;
  /** Counts repairs; undefined if there are none. */
  readonly repairs: RepairCounts | undefined;
  readonly outputSchemas: OutputSchemas;
}

/** Bound on problems that are named; further ones are counted. */
const maxProblems = 100;
/** Characters of a problem, which contains strings of the server. */
const maxProblemLength = 300;
/** Characters of a name or URI: eight times what revisions recommend at most for names, and what browsers take as an address. */
const maxIdentityLength: Record<ListKind, number> = {
  tools: 1_024,
  prompts: 1_024,
  resources: 8_192,
  resourceTemplates: 8_192,
};
const identities: Record<ListKind, string> = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  resourceTemplates: 'uriTemplate',
};

/** Under this key of its `_meta`, a server says why it cannot offer an entry that it should have. */
export const unusableKey = 'omnibus.dev/unusable';

/** JSON-RPC "method not found": the server has the capability but not this list, for example no templates. */
const methodNotFound = -32_601;

/** The part of one list that was read so far. */
class Reading {
  readonly values: unknown[] = [];
  readonly problems: UnfitEntry[] = [];
  leftOut = 0;
  readonly #kind: ListKind;
  readonly #limits: ReaderLimits;
  #bytes = 0;

  constructor(kind: ListKind, limits: ReaderLimits) {
    this.#kind = kind;
    this.#limits = limits;
  }

  note(problem: string, name?: string): void {
    if (this.problems.length < maxProblems)
      this.problems.push({
        kind: this.#kind,
        ...(name === undefined ? {} : { name }),
        problem: printable(problem, maxProblemLength),
      });
  }

  /** @returns false when there is no room for more. */
  take(items: readonly unknown[]): boolean {
    for (const [index, item] of items.entries()) {
      if (this.values.length >= this.#limits.maxCatalogEntries) {
        this.#stop(
          items.length - index,
          `only the first ${this.#limits.maxCatalogEntries} entries are kept (limits.maxCatalogEntries)`,
        );
        return false;
      }
      const problem = this.#problem(item);
      if (problem !== undefined) {
        this.leftOut += 1;
        this.note(problem, nameOf(item, this.#kind));
        continue;
      }
      this.#bytes += JSON.stringify(item).length;
      if (this.#bytes > this.#limits.maxCatalogBytes) {
        this.#stop(
          items.length - index,
          `the list is larger than ${this.#limits.maxCatalogBytes} bytes (limits.maxCatalogBytes)`,
        );
        return false;
      }
      this.values.push(item);
    }
    return true;
  }

  #stop(left: number, problem: string): void {
    this.leftOut += left;
    this.note(problem);
  }

  #problem(item: unknown): string | undefined {
    if (!isObject(item)) return 'it is not an object';
    const unusable = isObject(item['_meta']) ? item['_meta'][unusableKey] : undefined;
    if (typeof unusable === 'string') return unusable;
    const identity = item[identities[this.#kind]];
    const max = maxIdentityLength[this.#kind];
    if (typeof identity === 'string' && identity.length > max)
      return `its ${identities[this.#kind]} has ${identity.length} characters, more than ${max}`;
    return isDeeperThan(item, this.#limits.maxJsonDepth)
      ? `it nests deeper than ${this.#limits.maxJsonDepth} (limits.maxJsonDepth)`
      : undefined;
  }
}

/**
 * Follows the cursors of one list to the end. The empty string is a valid cursor. A repeated cursor, or too many pages, ends the reading
 * (server/utilities/pagination; otherwise a server that repeats its cursor would never end it).
 * @returns `failed` when not even the first page could be read.
 */
export async function readList<Kind extends ListKind>(
  kind: Kind,
  ask: (method: string, params: JsonObject) => Promise<ExchangeOutcome>,
  { limits, repairs, outputSchemas }: ReaderOptions,
): Promise<ListReading<Kind> | { readonly failed: string }> {
  const reading = new Reading(kind, limits);
  const seen = new Set<string>();
  let cursor: string | undefined;
  const notes = new Notes(kind, limits);
  let broken: string | undefined;
  for (let page = 1; ; page += 1) {
    const outcome = await ask(listMethods[kind], cursor === undefined ? {} : { cursor });
    const items = outcome.kind === 'result' ? itemsIn(outcome.result[kind], kind, repairs) : undefined;
    if (outcome.kind !== 'result' || !Array.isArray(items)) {
      if (outcome.kind === 'error' && outcome.error.code === methodNotFound && page === 1) break;
      const problem = `${listMethods[kind]} failed on page ${page}: ${describe(outcome)}`.slice(0, maxProblemLength);
      if (page === 1) return { failed: problem };
      broken = problem;
      break;
    }
    const { nextCursor: next } = outcome.result;
    const problem = notes.take(outcome.result);
    if (problem !== undefined) reading.note(problem);
    if (!reading.take(items as unknown[]) || typeof next !== 'string') break;
    if (seen.has(next) || page >= limits.maxCatalogPages) {
      reading.note(
        `stopped after ${page} pages because ${seen.has(next) ? 'the server repeats its cursor' : 'of limits.maxCatalogPages'}`,
      );
      break;
    }
    seen.add(next);
    cursor = next;
  }
  const { entries, rejected } = await checkEntries(kind, reading.values, {
    maxEntries: limits.maxCatalogEntries,
    repairs,
    outputProblem: outputSchemas.ofOneList(),
  });
  for (const { problem, name } of rejected) reading.note(problem, name);
  return {
    entries,
    notes: notes.taken,
    broken,
    problems: reading.problems,
    leftOut: reading.leftOut + rejected.length,
  };
}

/** Go writes a list without items as null, and Lua as an object. */
function itemsIn(value: unknown, kind: ListKind, repairs: RepairCounts | undefined): unknown {
  if (repairs === undefined || !(value === null || isEmptyObject(value))) return value;
  repairs.note('empty-list', kind);
  return [];
}

function nameOf(item: unknown, kind: ListKind): string | undefined {
  const name = isObject(item) ? item[identities[kind]] : undefined;
  return typeof name === 'string' && name.length <= maxIdentityLength[kind] ? name : undefined;
}

function describe(outcome: ExchangeOutcome): string {
  switch (outcome.kind) {
    case 'result':
      return 'the result has no list';
    case 'error':
      return outcome.error.message;
    case 'fault':
      return outcome.fault.message;
  }
}
