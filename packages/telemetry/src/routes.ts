/** The router of pages and APIs. Requests of MCP do not use it: an edge finds their endpoint itself (`docs/decisions/0079-one-router-for-pages.md`). */
import { TrieRouter } from 'hono/router/trie-router';

/**
 * - `route`: the target, and the parameters of the path, decoded.
 * - `method`: the path takes other methods, which an answer names in `Allow` (RFC 9110, 15.5.6); without OPTIONS, which only browsers send.
 * - `malformed`: a parameter of the path cannot be decoded; `problem` says why.
 */
export type Found<To> =
  | { readonly kind: 'route'; readonly to: To; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'method'; readonly allowed: string }
  | { readonly kind: 'malformed'; readonly problem: string }
  | { readonly kind: 'unknown' };

/** Methods with a comma and a blank between them, the pattern of a path in the syntax of hono, and the target. */
export type Route<To> = readonly [methods: string, path: string, to: To];

/** Methods of a page without a form. */
export const readMethods = 'GET, HEAD';

/** A table of paths. Rows with the same pattern are one path with the methods of all. */
export class Routes<To> {
  readonly #rows: readonly Route<To>[];
  /** Made for the first request, so that no process pays for it at its start. */
  #router: TrieRouter<ReadonlyMap<string, To>> | undefined;

  constructor(rows: readonly Route<To>[]) {
    this.#rows = rows;
  }

  /** @param path of a request, without its query. */
  find(method: string, path: string): Found<To> {
    const [[found] = []] = (this.#router ??= routerOf(this.#rows)).match('ALL', path);
    if (found === undefined || !path.startsWith('/')) return { kind: 'unknown' };
    const [methods, given] = found as [ReadonlyMap<string, To>, Readonly<Record<string, string>>];
    if (!methods.has(method))
      return { kind: 'method', allowed: [...methods.keys()].filter((each) => each !== 'OPTIONS').join(', ') };
    try {
      const params = Object.entries(given).map(([name, text]) => [name, decodeURIComponent(text)] as const);
      return { kind: 'route', to: methods.get(method) as To, params: Object.fromEntries(params) };
    } catch (error) {
      return { kind: 'malformed', problem: (error as Error).message };
    }
  }

  /** @returns whether the table has the path, for any method. */
  has(path: string): boolean {
    return this.find('', path).kind !== 'unknown';
  }
}

function routerOf<To>(rows: readonly Route<To>[]): TrieRouter<ReadonlyMap<string, To>> {
  const router = new TrieRouter<ReadonlyMap<string, To>>();
  for (const [path, same] of Map.groupBy(rows, ([, pattern]) => pattern))
    router.add('ALL', path, new Map(same.flatMap(([methods, , to]) => methods.split(', ').map((each) => [each, to]))));
  return router;
}
