/** Tables: sortable by their columns, and one card for each row where they are wider than their place. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** By what rows are sorted: the values of a row by the title of their column. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string | number | undefined>>;

interface Order {
  readonly column: string;
  readonly isDown: boolean;
}

/** How the user has sorted tables, by their labels, until the page is loaded again. */
const orders = signal<Readonly<Record<string, Order>>>({});

/** The rows as the user has sorted the table; rows without a value come last. */
export function sorted<Row>(label: string, rows: readonly Row[], columns: Columns<Row>): readonly Row[] {
  const order = orders.value[label];
  const valueOf = order === undefined ? undefined : columns[order.column];
  if (order === undefined || valueOf === undefined) return rows;
  const sign = order.isDown ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [valueOf(one), valueOf(other)];
    if (a === b) return 0;
    if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
    return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)));
  });
}

/** A click sorts upwards, a second one downwards, and a third one restores the order of the gateway. */
function turn(label: string, column: string): void {
  const { [label]: order, ...others } = orders.value;
  if (order?.column !== column) orders.value = { ...others, [label]: { column, isDown: false } };
  else orders.value = order.isDown ? others : { ...others, [label]: { column, isDown: true } };
}

interface TableProps {
  readonly label: string;
  readonly head: readonly string[];
  /** The columns by which the user can sort. */
  readonly sortable?: Columns<never>;
  readonly children: ComponentChildren;
}

/** Gives the cells of a row the titles of their columns, the heads of numbers their place at the right, and marks cells that say nothing. */
function name(head: readonly string[], row: HTMLTableRowElement): void {
  const heads = row.closest('table')?.tHead?.rows[0]?.cells;
  for (const [at, cell] of [...row.cells].entries()) {
    cell.dataset['title'] = head[at];
    cell.classList.toggle('nothing', /^[–-]?$/.test(cell.textContent.trim()));
    heads?.[at]?.classList.toggle('number', cell.classList.contains('number'));
  }
}

export function Table({ label, head, sortable = {}, children }: TableProps) {
  const region = useRef<HTMLDivElement>(null);
  const order = orders.value[label];
  /** Below this width, each row is a card. */
  const narrowPx = head.length > 5 ? 760 : 460;
  useLayoutEffect(() => {
    const place = region.current as HTMLDivElement;
    const watched = new ResizeObserver(() => place.classList.toggle('cards', place.clientWidth <= narrowPx));
    watched.observe(place);
    return () => watched.disconnect();
  }, [narrowPx]);
  // As a card, a row has the title of the column in front of each cell that says something.
  useLayoutEffect(() => {
    for (const row of region.current?.querySelectorAll<HTMLTableRowElement>(':scope > table > tbody > tr') ?? [])
      if (row.cells.length === head.length) name(head, row);
  });
  return (
    <div class="table" role="region" aria-label={label} tabIndex={0} ref={region}>
      <table>
        <thead>
          <tr>
            {head.map((each) => {
              const way = order?.column === each ? (order.isDown ? 'descending' : 'ascending') : 'none';
              return Object.hasOwn(sortable, each) ? (
                <th scope="col" key={each} aria-sort={way}>
                  <button type="button" class="sort" onClick={() => turn(label, each)}>
                    {each} <span aria-hidden="true">{{ none: '↕', ascending: '↑', descending: '↓' }[way]}</span>
                  </button>
                </th>
              ) : (
                <th scope="col" key={each}>
                  {each}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
