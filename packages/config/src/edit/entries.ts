/**
 * Puts an entry into a file that people write, and takes one out: comments, order and layout of everything else stay. The text is changed where the
 * entry stands; the result is parsed again and compared with the intended one.
 */
import { isDeepStrictEqual } from 'node:util';
import { isMap as isRecord } from '../values.ts';
import { blankComments, looksLikeJson } from '../document.ts';
import {
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  stringify,
  visit,
  type Document,
  type Pair,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { removeTable, setTable, tomlValue } from './toml.ts';

export type EntryFormat = 'yaml' | 'json' | 'toml';

/** How a text would be read: by the name of its file, else by how it begins. */
export function formatOf(file: string, text: string): EntryFormat {
  if (file.endsWith('.toml')) return 'toml';
  return /\.jsonc?$/.test(file) || looksLikeJson(text) ? 'json' : 'yaml';
}

/**
 * @param path steps to the map that holds the entry, created if it is missing; in a list, entries have their name inside.
 * @returns the text with the entry in it, in the place of one of that name.
 * @throws {Error} in words, when the text cannot be read, or not be changed without changing more.
 */
export function setEntry(
  text: string,
  format: EntryFormat,
  path: readonly string[],
  name: string,
  value: object,
): string {
  const changed = withSet(text, format, path, name, value);
  // A file of Windows keeps its line ends.
  return /\r\n/.test(text) && !/(^|[^\r])\n/.test(text) ? changed.replaceAll(/\r?\n/g, '\r\n') : changed;
}

function withSet(text: string, format: EntryFormat, path: readonly string[], name: string, value: object): string {
  if (format === 'toml') return setTable(text, path, name, value);
  const before = read(text, format);
  const wanted = withEntry(before.value, path, name, value);
  if (isDeepStrictEqual(wanted, before.value)) return text;
  const without = hasEntry(before.value, path, name) ? cut(text, format, path, name) : text;
  return verified(insert(without, format, path, name, value), format, wanted);
}

/** @returns the text without the entry and the comment right above it; as it was, when there is no entry. @throws {Error} in words */
export function removeEntry(text: string, format: EntryFormat, path: readonly string[], name: string): string {
  if (format === 'toml') return removeTable(text, path, name);
  const { document } = read(text, format);
  const parent = document.getIn(path, true);
  const pair = isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === name) : undefined;
  return cut(pair === undefined ? text : withoutCommentAbove(text, startOf(pair.key)), format, path, name);
}

/** Takes out the lines of comments that end right above the line which begins at a place. */
function withoutCommentAbove(text: string, start: number): string {
  const line = text.lastIndexOf('\n', start - 1) + 1;
  const indent = text.slice(line, start);
  if (indent.trim() !== '') return text;
  let from = line;
  for (;;) {
    const above = from === 0 ? 0 : text.lastIndexOf('\n', from - 2) + 1;
    if (
      above === from ||
      !/^(#|\/\/)/.test(text.slice(above, from).slice(indent.length)) ||
      !text.startsWith(indent, above)
    )
      return text.slice(0, from) + text.slice(line);
    from = above;
  }
}

function cut(text: string, format: EntryFormat, path: readonly string[], name: string): string {
  const { document, value } = read(text, format);
  if (!hasEntry(value, path, name)) return text;
  const parent = document.getIn(path, true);
  const wanted = withoutEntry(value, path, name);
  if (isSeq(parent))
    return verified(
      cutItem(
        text,
        parent,
        parent.items.findIndex((item) => isMap(item) && item.get('name') === name),
      ),
      format,
      wanted,
    );
  if (!isMap(parent)) throw new Error(`${path.join('.')} is no map`);
  return verified(
    cutPair(
      text,
      parent,
      parent.items.findIndex(({ key }) => isScalar(key) && String(key.value) === name),
    ),
    format,
    wanted,
  );
}

/** What stands at a path. @throws {Error} in words */
export function entriesAt(text: string, format: EntryFormat, path: readonly string[]): unknown {
  const value = format === 'toml' ? tomlValue(text) : read(text, format).value;
  return path.reduce<unknown>((at, step) => (isRecord(at) ? at[step] : undefined), value);
}

/** The texts in a file, each with its value and as it is written there. @throws {Error} in words */
export function scalarsOf(
  text: string,
  format: 'yaml' | 'json',
): readonly { readonly value: string; readonly source: string }[] {
  const found: { readonly value: string; readonly source: string }[] = [];
  visit(read(text, format).document, {
    Scalar(_key, { value, range }) {
      if (typeof value === 'string' && range) found.push({ value, source: text.slice(range[0], range[1]) });
    },
  });
  return found;
}

interface Read {
  readonly document: Document.Parsed;
  readonly value: unknown;
}

function read(text: string, format: EntryFormat): Read {
  const source = format === 'json' ? blankComments(text) : text;
  const document = parseDocument(source.replace(/^\uFEFF/, ' '), { prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) throw new Error(`it is not ${format === 'json' ? 'JSON' : 'YAML'}: ${error.message}`);
  const value = (document.toJS() as unknown) ?? {};
  if (!isRecord(value)) throw new Error('it contains no map of options');
  return { document, value };
}

function verified(text: string, format: EntryFormat, wanted: unknown): string {
  try {
    if (isDeepStrictEqual(normal(read(text, format).value), normal(wanted))) return text;
  } catch (error) {
    throw new Error('the file cannot be edited by a program without changing other parts of it: edit it by hand', {
      cause: error,
    });
  }
  throw new Error('the file cannot be edited by a program without changing other parts of it: edit it by hand');
}

/** A map that is empty, or has nothing behind it, is the same here. */
function normal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => normal(item));
  return isRecord(value)
    ? Object.fromEntries(
        Object.entries(value)
          .filter(([, item]) => item !== null && !(isRecord(item) && Object.keys(item).length === 0))
          .map(([key, item]) => [key, normal(item)]),
      )
    : value;
}

function hasEntry(value: unknown, path: readonly string[], name: string): boolean {
  const parent = path.reduce<unknown>((at, step) => (isRecord(at) ? at[step] : undefined), value);
  return Array.isArray(parent)
    ? parent.some((item) => isRecord(item) && item['name'] === name)
    : isRecord(parent) && Object.hasOwn(parent, name);
}

function withEntry(value: unknown, [step, ...rest]: readonly string[], name: string, entry: object): unknown {
  if (step === undefined) {
    if (Array.isArray(value)) return [...value.filter((item) => !isRecord(item) || item['name'] !== name), entry];
    return { ...(isRecord(value) ? value : {}), [name]: entry };
  }
  const inside = isRecord(value) ? value : {};
  return { ...inside, [step]: withEntry(inside[step], rest, name, entry) };
}

function withoutEntry(value: unknown, [step, ...rest]: readonly string[], name: string): unknown {
  if (Array.isArray(value)) return value.filter((item) => !isRecord(item) || item['name'] !== name);
  if (!isRecord(value)) return value;
  if (step === undefined) return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
  return { ...value, [step]: withoutEntry(value[step], rest, name) };
}

/** Puts it behind the last entry of the deepest map of the path that is there. */
function insert(text: string, format: EntryFormat, path: readonly string[], name: string, entry: object): string {
  const { document } = read(text, format);
  let depth = path.length;
  while (
    depth > 0 &&
    !isMap(document.getIn(path.slice(0, depth), true)) &&
    !isSeq(document.getIn(path.slice(0, depth), true))
  )
    depth -= 1;
  const node = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
  if (isSeq(node)) return appendItem(text, node, entry);
  const [key = name] = path.slice(depth);
  const value =
    depth === path.length
      ? entry
      : path.slice(depth + 1).reduceRight<object>((inner, step) => ({ [step]: inner }), { [name]: entry });
  // `mcpServers:` with nothing behind it.
  const empty = isMap(node) ? node.items.find((pair) => isScalar(pair.key) && pair.key.value === key) : undefined;
  if (empty !== undefined) return fillEmpty(text, empty, value);
  if (!isMap(node) || node.range === undefined || node.range === null)
    return format === 'json'
      ? `${JSON.stringify({ [key]: value }, null, 2)}\n`
      : `${text === '' || text.endsWith('\n') ? text : `${text}\n`}${block({ [key]: value }, 0)}\n`;
  return node.flow === true ? insertFlow(text, node, key, value, format) : insertBlock(text, node, { [key]: value });
}

function block(value: object, indent: number): string {
  return stringify(value, { lineWidth: 0, indent: 2 })
    .trimEnd()
    .replaceAll(/^(?=.)/gm, ' '.repeat(indent));
}

/** The column that a position is in. */
const columnOf = (text: string, at: number): number => at - (text.lastIndexOf('\n', at - 1) + 1);
const endOfLine = (text: string, at: number): number =>
  text.indexOf('\n', at) === -1 ? text.length : text.indexOf('\n', at);

/** The place after the last line of text, without the blank lines after it. */
function endOf(text: string, node: unknown): number {
  const range = (node as { readonly range?: readonly [number, number, number] | null } | null)?.range;
  let at = range?.[1] ?? 0;
  while (at > 0 && /\s/.test(text[at - 1] as string)) at -= 1;
  return at;
}

const startOf = (node: unknown): number =>
  (node as { readonly range?: readonly [number, number, number] | null } | null)?.range?.[0] ?? 0;

function insertBlock(text: string, node: YAMLMap, value: object): string {
  const last = node.items.at(-1) as Pair;
  const at = endOfLine(text, endOf(text, hasRange(last.value) ? last.value : last.key));
  return `${text.slice(0, at)}\n${block(value, columnOf(text, startOf(node.items[0]?.key)))}${at === text.length ? '\n' : ''}${text.slice(at)}`;
}

const hasRange = (node: unknown): boolean => {
  const range = (node as { readonly range?: readonly number[] | null } | null)?.range;
  return range !== undefined && range !== null && range[0] !== range[1];
};

function fillEmpty(text: string, pair: Pair, value: object): string {
  if (hasRange(pair.value)) throw new Error('another value stands there: edit the file by hand');
  const at = endOfLine(text, endOf(text, pair.key));
  return `${text.slice(0, at)}\n${block(value, columnOf(text, startOf(pair.key)) + 2)}${at === text.length ? '\n' : ''}${text.slice(at)}`;
}

function insertFlow(text: string, node: YAMLMap, key: string, value: object, format: EntryFormat): string {
  const [start, end] = node.range as [number, number, number];
  const blanked = format === 'json' ? blankComments(text) : text;
  const first = node.items[0];
  const outer = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', start - 1) + 1))?.[0] ?? '';
  if (first === undefined) {
    const inner = `${outer}${unitOf(text)}`;
    return `${text.slice(0, start + 1)}\n${inner}${json(key, value, inner, unitOf(text))}\n${outer}${text.slice(end - 1)}`;
  }
  const isSpread = text.slice(start, startOf(first.key)).includes('\n');
  const last = endOf(text, hasRange(node.items.at(-1)?.value) ? node.items.at(-1)?.value : node.items.at(-1)?.key);
  const comma = /^\s*,/.exec(blanked.slice(last, end))?.[0].length ?? 0;
  const at = last + comma;
  if (!isSpread)
    return `${text.slice(0, at)}${comma > 0 ? ' ' : ', '}${JSON.stringify(key)}: ${JSON.stringify(value)}${text.slice(at)}`;
  const inner = text.slice(text.lastIndexOf('\n', startOf(first.key) - 1) + 1, startOf(first.key));
  // A comment behind the last entry stays behind it.
  const rest = /^[ \t]*\/\//.test(text.slice(at)) ? endOfLine(text, at) : at;
  return `${text.slice(0, at)}${comma > 0 ? '' : ','}${text.slice(at, rest)}\n${inner}${json(key, value, inner, unitOf(text))}${text.slice(rest)}`;
}

function json(key: string, value: object, indent: string, unit: string): string {
  return `${JSON.stringify(key)}: ${JSON.stringify(value, null, unit).replaceAll('\n', `\n${indent}`)}`;
}

/** The indentation of the file. */
function unitOf(text: string): string {
  return /^([ \t]+)\S/m.exec(text)?.[1] ?? '  ';
}

function cutPair(text: string, parent: YAMLMap, index: number): string {
  const pair = parent.items[index] as Pair;
  const [start, end] = [startOf(pair.key), endOf(text, hasRange(pair.value) ? pair.value : pair.key)];
  if (parent.flow === true)
    return cutFlow(
      text,
      parent.items.map(({ key, value }) => [startOf(key), endOf(text, hasRange(value) ? value : key)]),
      index,
      parent.range as [number, number, number],
    );
  if (parent.items.length === 1) return emptied(text, start, end, '{}');
  return cutLines(text, start, end);
}

/** Takes out the only entry of a block: an empty value stands behind the key of the block, in front of a comment there. */
function emptied(text: string, start: number, end: number, empty: string): string {
  const from = Math.max(0, text.lastIndexOf('\n', start - 1));
  let head = text.slice(0, from).trimEnd();
  while (!head.endsWith(':') && /(^|\s)#[^\n]*$/.test(head)) head = head.replace(/(^|\s)#[^\n]*$/, '').trimEnd();
  const at = head.endsWith(':') ? head.length : text.slice(0, from).trimEnd().length;
  return `${text.slice(0, at)} ${empty}${text.slice(at, from).trimEnd()}${text.slice(endOfLine(text, end))}`;
}

function cutItem(text: string, parent: YAMLSeq, index: number): string {
  const item = parent.items[index];
  if (parent.flow === true)
    return cutFlow(
      text,
      parent.items.map((each) => [startOf(each), endOf(text, each)]),
      index,
      parent.range as [number, number, number],
    );
  if (parent.items.length === 1) return emptied(text, startOf(item), endOf(text, item), '[]');
  return cutLines(text, startOf(item), endOf(text, item));
}

function cutLines(text: string, start: number, end: number): string {
  return `${text.slice(0, text.lastIndexOf('\n', start - 1) + 1)}${text.slice(endOfLine(text, end) + 1)}`;
}

function cutFlow(
  text: string,
  items: readonly (readonly [number, number] | readonly number[])[],
  index: number,
  range: readonly [number, number, number],
): string {
  const [start, end] = items[index] as [number, number];
  const before = items[index - 1]?.[1];
  const after = items[index + 1]?.[0];
  if (before !== undefined) {
    const between = text.slice(before, start).trimEnd();
    const comma = /^\s*,/.exec(withoutComments(text.slice(end, after ?? range[1] - 1)))?.[0].length ?? 0;
    const own = withoutComments(between).indexOf(',');
    return `${text.slice(0, before)}${comma > 0 ? between : `${between.slice(0, own)}${between.slice(own + 1)}`}${text.slice(end + comma)}`;
  }
  if (after !== undefined) {
    // A comment in the lines before the next entry is about that one.
    const between = text.slice(end, after);
    const line = between.indexOf('\n');
    const kept =
      line === -1 || withoutComments(between.slice(line)).includes(',') ? '' : between.slice(line).trimStart();
    return `${text.slice(0, start)}${kept}${text.slice(after)}`;
  }
  return `${text.slice(0, range[0] + 1)}${text.slice(range[1] - 1)}`;
}

/** What stands between two entries of a map in braces, with blanks where comments are. */
function withoutComments(between: string): string {
  return between.replaceAll(/#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (comment) => ' '.repeat(comment.length));
}

function appendItem(text: string, node: YAMLSeq, entry: object): string {
  const last = node.items.at(-1);
  if (last === undefined || node.flow === true) {
    const [start, end] = node.range as [number, number, number];
    const inside = last === undefined ? '' : `${text.slice(start + 1, endOf(text, last))}, `;
    return `${text.slice(0, start)}[${inside}${JSON.stringify(entry)}]${text.slice(end)}`;
  }
  const at = endOfLine(text, endOf(text, last));
  const column = columnOf(text, startOf(last)) - 2;
  return `${text.slice(0, at)}\n${block([entry], Math.max(0, column))}${at === text.length ? '\n' : ''}${text.slice(at)}`;
}
