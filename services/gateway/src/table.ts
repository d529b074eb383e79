import { printable } from '@omnibus/protocol';

/** Lines with their columns under each other. The text of a cell may come from a server, so control characters are taken out of it. */
export function alignColumns(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map((cell) => printable(cell)));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ').trimEnd()).join('\n');
}
