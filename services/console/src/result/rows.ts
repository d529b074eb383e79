/** Finds values for a table: lists of flat objects. */

export const maxRows = 100;
/** Columns at most; a wider list appears as JSON. */
const maxColumns = 12;

export type Row = Readonly<Record<string, unknown>>;

/** The rows of a list of flat objects with few members, alone or as the only list of an object; undefined for any other value. */
export function rowsOf(value: unknown): readonly Row[] | undefined {
  const list = Array.isArray(value) ? (value as readonly unknown[]) : onlyList(value);
  if (list === undefined || list.length === 0 || !list.every(isFlat)) return undefined;
  const columns = new Set(list.slice(0, maxRows).flatMap((row) => Object.keys(row)));
  return columns.size > 0 && columns.size <= maxColumns ? list : undefined;
}

function onlyList(value: unknown): readonly unknown[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const lists = Object.values(value).filter((each) => Array.isArray(each));
  return lists.length === 1 && Object.keys(value).length <= 3 ? (lists[0] as readonly unknown[]) : undefined;
}

function isFlat(row: unknown): row is Row {
  return (
    typeof row === 'object' &&
    row !== null &&
    !Array.isArray(row) &&
    Object.values(row).every((each) => typeof each !== 'object' || each === null)
  );
}
