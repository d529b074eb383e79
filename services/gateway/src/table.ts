import { printable } from '@omnibus/protocol';

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
