/**
 * Unambiguous violations of the specification by servers. The gateway repairs each of these, counts it, and
 * shows the counts by server. With `validation: enforce` of a server nothing is repaired, and the old strictness holds.
 */
import { printable } from './printable.ts';

/** One row for each mistake that is repaired. A name is the value of a metric's label, so it never contains words of a server. */
export const repairs = {
  'null-answer': { reads: 'an "error" or "result" that is null beside the other as one that is absent' },
  'null-params': { reads: '"params" that are null as params that are absent' },
  'text-id': {
    reads:
      'the id or progress token of a request, written as text or with a fraction of zero, as that number; for a withdrawn question also a number as that text',
  },
  'plain-error': {
    reads: 'an error that is a text, or has no integer code or no message, as a JSON-RPC error with these words',
  },
  'text-before-message': { reads: 'an answer that follows other text on one line of stdout as that answer' },
  'old-draft': { reads: 'the revision 2024-10-07 as 2024-11-05' },
  'empty-session': { reads: 'a session id without characters as none' },
  'session-text': { reads: 'a session id with blanks, or with bytes beyond ASCII, as it is' },
  'new-session': {
    reads:
      'a session id that a later answer brings as the id of the session from then on; after the handshake, only where there is a session',
  },
  'deferred-answer': {
    reads:
      'an answer on the standing stream to a request that was answered HTTP 202, or with an empty stream, as the answer to that request',
  },
  'stream-type': { reads: 'events on a standing stream with another Content-Type, or none, as events' },
  'no-packing': { reads: 'a Content-Encoding that names a character set, or nothing that packs, as none' },
  redirect: { reads: 'a redirect within the origin of the server as its address' },
  'null-member': { reads: 'a member of a list entry or result that is null as a member that is absent' },
  'empty-list': { reads: 'null, or an object without members, in the place of a list as an empty list' },
  'empty-object': { reads: 'a list without items in the place of an object as an object without members' },
  'input-schema': { reads: 'an inputSchema that is missing, null, true or without type as one of type "object"' },
  'boolean-schema': { reads: 'true or false in the place of the schema of a property as {} or {"not": {}}' },
  'output-schema': { reads: 'an outputSchema that clients cannot compile as an outputSchema that is absent' },
  'text-flag': { reads: 'the text "true" or "false" in the place of a truth value as that value' },
  icon: { reads: 'an icon, or a member of an icon, that no client can show as absent' },
  'icon-sizes': { reads: 'the sizes of an icon in one text as a list of sizes' },
  annotation: { reads: 'an annotation of a resource that no client can read as absent' },
} as const satisfies Record<string, { readonly reads: string }>;

export type Repair = keyof typeof repairs;

/** How often one mistake of one server was repaired. */
export interface RepairRow {
  readonly repair: Repair;
  readonly count: number;
  /** Times of the first and the last, in milliseconds since 1970. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Where it was last seen, without control characters: `tools[3] "search": description`. */
  readonly example: string;
}

/** Characters of an example, which contains names of the server. */
const maxExample = 200;

/** Counts the repairs for one server. It has one row for each repair at most. */
export class RepairCounts {
  readonly #rows = new Map<Repair, RepairRow>();
  readonly #counted: (repair: Repair) => void;

  /** @param counted hears of each repair, for the metric. */
  constructor(counted: (repair: Repair) => void = () => undefined) {
    this.#counted = counted;
  }

  /** @param example where the mistake stands, which may contain words of the server but no secret. */
  note(repair: Repair, example: string): void {
    const now = Date.now();
    const before = this.#rows.get(repair);
    this.#rows.set(repair, {
      repair,
      count: (before?.count ?? 0) + 1,
      firstAt: before?.firstAt ?? now,
      lastAt: now,
      example: printable(example, maxExample),
    });
    this.#counted(repair);
  }

  /** In the order in which they were first seen. */
  get rows(): readonly RepairRow[] {
    return [...this.#rows.values()];
  }
}
