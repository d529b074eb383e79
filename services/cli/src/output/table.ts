import { printable } from '@omnibus/protocol';

/**
 * A table as wide as a terminal: where it does not fit, the cells of its last column, which are sentences, follow it with the first cell of their row.
 * @param columns of the terminal; undefined where nothing is cut.
 */
export function fitTable(rows: readonly (readonly string[])[], columns: number | undefined): string {
  const whole = alignColumns(rows);
  if (columns === undefined || whole.split('\n').every((line) => line.length <= columns)) return whole;
  const [, ...entries] = rows;
  const lines = alignColumns(rows.map((row) => row.slice(0, -1)))
    .split('\n')
    .map((line) => (line.length <= columns ? line : `${line.slice(0, columns - 1)}…`));
  const sentences = entries.flatMap((row) => {
    const last = row.at(-1) ?? '';
    return last === '' || last === '-' ? [] : [`  ${printable(row[0] ?? '')}: ${printable(last, 10_000)}`];
  });
  return [...lines, ...sentences].join('\n');
}

/** Pads the columns of a table. @param given rows; the first one has the most cells. Text of a cell may come from a server, so control characters are removed. */
export function alignColumns(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map((cell) => printable(cell)));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
