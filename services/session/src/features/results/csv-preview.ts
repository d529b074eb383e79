/** Previews of tables in text: values separated by commas, semicolons, tabs or bars. */
import { beginning, counted } from './texts.ts';

const separators = [',', ';', '\t', '|'] as const;
/** Rows that must have as many values as the first line. */
const comparedRows = 20;
const maxLineLength = 10_000;
const maxColumns = 200;

/** @returns undefined for a text that is no table. @param room characters in JSON. */
export function csvPreview(text: string, room: number): string | undefined {
  const lines = text.slice(0, maxLineLength * (comparedRows + 1)).split(/\r?\n/, comparedRows + 2);
  const rows = lines.slice(0, -1).filter((line) => line !== '');
  const [header] = rows;
  if (header === undefined || rows.length < 3 || rows.some((row) => row.length > maxLineLength)) return undefined;
  for (const separator of separators) {
    const columns = valuesOf(header, separator);
    if (columns.length < 2 || columns.length > maxColumns) continue;
    const values = rows.slice(1).map((row) => valuesOf(row, separator));
    if (values.some(({ length }) => length !== columns.length)) continue;
    const types = columns.map((column, at) => `${column} ${typeOf(values.map((row) => row[at] ?? ''))}`);
    const about = `table of ${counted(recordsIn(text) - 1)} rows; columns: ${types.join(', ')}; first rows:\n`;
    const left = room - JSON.stringify(about).length;
    return left < 0 ? undefined : about + beginning(text, left);
  }
  return undefined;
}

/** The values of a line; quotes are taken away (RFC 4180). */
function valuesOf(line: string, separator: string): readonly string[] {
  const values: string[] = [];
  let value = '';
  let isQuoted = false;
  for (const character of line) {
    if (character === '"') isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      values.push(value);
      value = '';
    } else value += character;
  }
  return isQuoted ? [] : [...values, value];
}

/** Records of a text; a line end within quotes ends none. */
function recordsIn(text: string): number {
  let count = 0;
  let isQuoted = false;
  let isEmpty = true;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) isQuoted = !isQuoted;
    if (code === 0x0a && !isQuoted) {
      if (!isEmpty) count += 1;
      isEmpty = true;
    } else if (code !== 0x0d) isEmpty = false;
  }
  return isEmpty ? count : count + 1;
}

function typeOf(values: readonly string[]): string {
  const given = values.filter((value) => value.trim() !== '');
  if (given.length === 0) return 'empty';
  return given.every((value) => Number.isFinite(Number(value))) ? 'number' : 'text';
}
