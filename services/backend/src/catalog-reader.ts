/** Reads all pages of a server's lists. */
import { checkEntries } from '@omnibus/catalog';
import { isObject, listMethods, type CatalogLists, type ExchangeOutcome, type JsonObject, type Limits, type ListKind } from '@omnibus/protocol';

export interface ListReading<Kind extends ListKind> {
  readonly entries: CatalogLists[Kind];
  /** Milliseconds for which the server says the list can be used; undefined when it does not say. */
  readonly ttlMs: number | undefined;
  /** What could not be read or was left out, in words. */
  readonly problems: readonly string[];
}

/** JSON-RPC "method not found": the server has the capability but not this list, for example no templates. */
const methodNotFound = -32_601;

/**
 * Follows the cursors of one list to the end. The empty string is a cursor; a cursor that came before, or too many pages,
 * ends the reading (server/utilities/pagination; a server that repeats its cursor would hold us for ever).
 * @returns undefined when not even the first page could be read.
 */
export async function readList<Kind extends ListKind>(
  kind: Kind, ask: (method: string, params: JsonObject) => Promise<ExchangeOutcome>, limits: Limits,
): Promise<ListReading<Kind> | { readonly failed: string }> {
  const values: unknown[] = [];
  const problems: string[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let ttlMs: number | undefined;
  for (let page = 0; ; page += 1) {
    const outcome = await ask(listMethods[kind], cursor === undefined ? {} : { cursor });
    const items = outcome.kind === 'result' ? outcome.result[kind] : undefined;
    if (outcome.kind !== 'result' || !Array.isArray(items)) {
      if (outcome.kind === 'error' && outcome.error.code === methodNotFound && page === 0) break;
      const problem = `${listMethods[kind]} failed on page ${page + 1}: ${describe(outcome)}`;
      if (page === 0) return { failed: problem };
      problems.push(problem);
      break;
    }
    values.push(...(items as unknown[]));
    const age = outcome.result['ttlMs'];
    if (typeof age === 'number') ttlMs = Math.min(age, ttlMs ?? Infinity);
    const next: unknown = isObject(outcome) && outcome.kind === 'result' ? outcome.result['nextCursor'] : undefined;
    if (typeof next !== 'string') break;
    if (seen.has(next) || page + 1 >= limits.maxCatalogPages || values.length > limits.maxCatalogEntries) {
      problems.push(`${listMethods[kind]}: stopped after ${page + 1} pages because ${seen.has(next) ? 'the server repeats its cursor' : 'of the limits'}`);
      break;
    }
    seen.add(next);
    cursor = next;
  }
  const { entries, rejected } = checkEntries(kind, values, limits.maxCatalogEntries);
  return { entries, ttlMs, problems: [...problems, ...rejected] };
}

function describe(outcome: ExchangeOutcome): string {
  switch (outcome.kind) {
    case 'result': return 'the result has no list';
    case 'error': return outcome.error.message;
    case 'fault': return outcome.fault.message;
  }
}
