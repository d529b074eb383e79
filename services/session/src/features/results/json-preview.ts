/** Previews of JSON: its shape, and its first elements under their JSON pointers. Each value that is shown is exact. */
import { isObject, isRawNumber } from '@omnibus/protocol';
import { counted } from './texts.ts';

const maxKeys = 20;
const maxDepth = 4;
/** Rows that are compared to find out whether an array is a table. */
const comparedRows = 100;
const maxColumns = 30;

/** @param room characters in JSON. */
export function jsonPreview(value: unknown, room: number): string {
  const lines = new Lines(room);
  const table = Array.isArray(value) ? columnsOf(value) : undefined;
  if (table === undefined) lines.add(`shape: ${cut(shapeOf(value, 0), room / 3)}`);
  const found = largestArray(value, '', 0);
  if (isObject(value))
    for (const [key, member] of Object.entries(value))
      if (typeof member !== 'object' || member === null || isRawNumber(member))
        lines.addWhole(`/${pointerToken(key)} ${JSON.stringify(member)}`);
  if (found !== undefined) addElements(lines, found.path, found.array);
  return lines.text;
}

function addElements(lines: Lines, path: string, array: readonly unknown[]): void {
  const columns = columnsOf(array);
  const at = path === '' ? '' : `${path} `;
  if (columns === undefined) {
    for (const [index, element] of array.entries())
      if (!lines.addWhole(`${path}/${index} ${JSON.stringify(element)}`)) return;
    return;
  }
  const types = columns.map((column) => `${column} ${typeOfColumn(array, column)}`);
  lines.add(`table ${at}of ${counted(array.length)} rows; columns: ${types.join(', ')}; first rows:`);
  for (const row of array)
    if (!lines.addWhole(JSON.stringify(columns.map((column) => (row as Record<string, unknown>)[column])))) return;
}

/** Lines within a room of characters in JSON. */
class Lines {
  text = '';
  #left: number;
  #isFull = false;

  constructor(room: number) {
    this.#left = room;
  }

  /** Adds a line if it fits; after one that does not fit, no other is added. */
  add(line: string): boolean {
    const length = JSON.stringify(line).length;
    if (this.#isFull || length > this.#left) {
      this.#isFull = true;
      return false;
    }
    this.#left -= length;
    this.text += `${line}\n`;
    return true;
  }

  /** Adds a line with values, which may be long: others follow if it does not fit at once. */
  addWhole(line: string): boolean {
    return line.length <= this.#left && this.add(line);
  }
}

/** The columns of an array of objects with the same keys; undefined for any other. */
function columnsOf(array: readonly unknown[]): readonly string[] | undefined {
  const [first] = array;
  if (array.length < 2 || !isObject(first)) return undefined;
  const columns = Object.keys(first);
  if (columns.length === 0 || columns.length > maxColumns) return undefined;
  const isLike = (row: unknown): boolean =>
    isObject(row) &&
    Object.keys(row).length === columns.length &&
    columns.every((column) => Object.hasOwn(row, column));
  return array.slice(0, comparedRows).every(isLike) && array.every(isLike) ? columns : undefined;
}

function typeOfColumn(array: readonly unknown[], column: string): string {
  const types = new Set(array.slice(0, comparedRows).map((row) => typeOf((row as Record<string, unknown>)[column])));
  return [...types].join('|');
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return isRawNumber(value) ? 'number' : typeof value;
}

/** The longest array in the upper levels. */
function largestArray(
  value: unknown,
  path: string,
  depth: number,
): { readonly path: string; readonly array: readonly unknown[] } | undefined {
  if (Array.isArray(value)) return { path, array: value };
  if (!isObject(value) || depth >= maxDepth) return undefined;
  let best: { readonly path: string; readonly array: readonly unknown[] } | undefined;
  for (const [key, member] of Object.entries(value).slice(0, 1_000)) {
    const found = largestArray(member, `${path}/${pointerToken(key)}`, depth + 1);
    if (found !== undefined && found.array.length > (best?.array.length ?? 0)) best = found;
  }
  return best;
}

function shapeOf(value: unknown, depth: number): string {
  if (Array.isArray(value))
    return value.length === 0 || depth >= maxDepth
      ? `[${counted(value.length)}]`
      : `[${counted(value.length)} × ${shapeOf(value[0], depth + 1)}]`;
  if (typeof value === 'string') return `string(${counted(value.length)})`;
  if (!isObject(value) || isRawNumber(value)) return typeOf(value);
  const keys = Object.keys(value);
  if (depth >= maxDepth) return `{${counted(keys.length)} keys}`;
  const shown = keys.slice(0, maxKeys).map((key) => `${cut(key, 40)}: ${shapeOf(value[key], depth + 1)}`);
  return `{${shown.join(', ')}${keys.length > maxKeys ? `, and ${counted(keys.length - maxKeys)} more keys` : ''}}`;
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, Math.floor(length)))}…`;
}

/** RFC 6901, section 3. */
function pointerToken(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The value at a JSON pointer (RFC 6901). @returns undefined if there is none. */
export function valueAt(value: unknown, pointer: string): { readonly value: unknown } | undefined {
  if (pointer === '') return { value };
  if (!pointer.startsWith('/')) return undefined;
  let found: unknown = value;
  for (const token of pointer.slice(1).split('/')) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || isRawNumber(found) || !Object.hasOwn(found, key))
      return undefined;
    if (Array.isArray(found) && !/^(?:0|[1-9]\d*)$/.test(key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return { value: found };
}
