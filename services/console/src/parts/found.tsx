/** The rows of a list with the words of the search field, or a sentence about none. */
import type { ComponentChildren } from 'preact';
import { place, setQuery } from '../route.ts';
import { Empty } from './basics.tsx';

interface FoundProps<Row> {
  readonly rows: readonly Row[];
  /** The texts of a row in which the words are looked for. */
  readonly texts: (row: Row) => readonly string[];
  /** Stands in place of a list without rows. */
  readonly none: ComponentChildren;
  /** A sentence for words that no row has. */
  readonly otherwise: string;
  readonly children: (shown: readonly Row[]) => ComponentChildren;
}

export function Found<Row>({ rows, texts, none, otherwise, children }: FoundProps<Row>) {
  const words = (place.value.query.get('q') ?? '').toLowerCase();
  const shown = rows.filter((row) => texts(row).some((text) => text.toLowerCase().includes(words)));
  if (rows.length === 0) return none;
  return shown.length === 0 ? <Unfit why={otherwise} /> : children(shown);
}

/** Stands in place of rows that no filter lets through. @param query the parameters of the address with which all are shown. */
export function Unfit({
  why,
  query = { q: '' },
}: {
  readonly why: string;
  readonly query?: Readonly<Record<string, string>>;
}) {
  return (
    <Empty why={why}>
      <button type="button" onClick={() => setQuery(query)}>
        Show all
      </button>
    </Empty>
  );
}
