/** Reads a part of a stored result: a range of bytes or lines, a value by its JSON pointer, or the places of a text. */
import { resultScheme } from '@omnibus/catalog';
import { isRawNumber, type JsonObject, type StoredPart, type StoredResult } from '@omnibus/protocol';
import { jsonIn, type JsonBounds } from './bounded.ts';
import { valueAt } from './json-preview.ts';
import { beginning, counted, lineCount, sliceBytes, sliceLines } from './texts.ts';

const ways = ['bytes', 'lines', 'path', 'search'] as const;
type Way = (typeof ways)[number];
const maxSearchLength = 200;
const maxFound = 40;
/** Characters around a text that is found. */
const around = 80;

/** A reading as a URI or the arguments of `read_result` name it. */
export interface Wish {
  readonly id: string;
  /** Which part, from 1; undefined: all of them. */
  readonly part: number | undefined;
  readonly way: Way | undefined;
  readonly value: string;
}

export interface Problem {
  readonly problem: string;
}

/** What was read. */
export interface Reading {
  readonly kind: 'text' | 'blob';
  readonly data: string;
  readonly mimeType: string | undefined;
  /** What it is of the whole, in words. */
  readonly about: string;
}

/** @returns undefined for a URI of anything else. */
export function wishOf(uri: unknown, args: JsonObject = {}): Wish | Problem | undefined {
  if (typeof uri !== 'string' || !uri.startsWith(resultScheme)) return undefined;
  const mark = uri.indexOf('?');
  const id = uri.slice(resultScheme.length, mark === -1 ? undefined : mark);
  if (!/^[\w-]+$/.test(id)) return undefined;
  const given = new Map<string, string>(mark === -1 ? [] : new URLSearchParams(uri.slice(mark + 1)));
  for (const [name, value] of Object.entries(args)) {
    if (name === 'uri' || value === null || value === undefined) continue;
    // Other values may have no text at all, and then their conversion throws.
    if (typeof value !== 'string' && typeof value !== 'number')
      return { problem: `${JSON.stringify(name.slice(0, 40))} must be a text or a number` };
    given.set(name, String(value));
  }
  const unknown = [...given.keys()].find((name) => name !== 'part' && !ways.some((way) => way === name));
  if (unknown !== undefined)
    return { problem: `${JSON.stringify(unknown.slice(0, 40))} is none of part, bytes, lines, path, search` };
  const asked = ways.filter((way) => given.has(way));
  if (asked.length > 1) return { problem: `give only one of ${asked.join(' and ')}` };
  const part = given.get('part');
  if (part !== undefined && !/^[1-9]\d{0,5}$/.test(part)) return { problem: 'part must be a whole number from 1' };
  const [way] = asked;
  return {
    id,
    part: part === undefined ? undefined : Number(part),
    way,
    value: way === undefined ? '' : (given.get(way) ?? ''),
  };
}

/**
 * @param room characters in JSON that the reading may have; undefined: no bound.
 * @returns one reading for each part that is wanted.
 */
export function readStored(
  { parts }: Pick<StoredResult, 'parts'>,
  { part, way, value }: Wish,
  limits: JsonBounds,
  room: number | undefined,
): readonly Reading[] | Problem {
  const wanted = part === undefined ? parts : parts.slice(part - 1, part);
  if (wanted.length === 0) return { problem: `there is no part ${part}: the result has ${counted(parts.length)}` };
  if (wanted.length > 1 && (way !== undefined || room !== undefined))
    return { problem: `the result has ${counted(parts.length)} parts: give "part" too` };
  const readings: Reading[] = [];
  for (const each of wanted) {
    const read = each.kind === 'blob' ? readBlob(each, way, value, room) : readText(each, { way, value, limits, room });
    if ('problem' in read) return read;
    readings.push(read);
  }
  return readings;
}

interface Range {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

/** `a-b`, `a-` or `a`; both ends belong to it. */
function rangeOf(way: Way, text: string, lowest: number): Range | Problem {
  const [, first, dash, last] = /^(\d{1,12})(-(\d{1,12})?)?$/.exec(text.trim()) ?? [];
  if (first === undefined) return { problem: `${way} must be a range such as ${lowest}-100` };
  const range = {
    first: Number(first),
    last: last === undefined ? (dash === undefined ? Number(first) : Number.MAX_SAFE_INTEGER) : Number(last),
  };
  return range.first < lowest || range.last < range.first
    ? { problem: `${way} must be a range from ${lowest} on, whose end is not before its beginning` }
    : range;
}

function readBlob(
  { data, mimeType }: StoredPart,
  way: Way | undefined,
  value: string,
  room: number | undefined,
): Reading | Problem {
  if (way !== undefined && way !== 'bytes') return { problem: `this part is ${mimeType ?? 'bytes'}: read it by bytes` };
  const total = Buffer.byteLength(data, 'base64');
  const range = way === undefined ? { first: 0, last: total - 1 } : rangeOf('bytes', value, 0);
  if ('problem' in range) return range;
  if (way === undefined && room === undefined)
    return { kind: 'blob', data, mimeType, about: `all ${counted(total)} bytes` };
  if (range.first >= total) return { problem: `it has ${counted(total)} bytes, numbered from 0` };
  const most = room === undefined ? Infinity : Math.max(3, Math.floor(room / 4) * 3);
  const end = Math.min(range.last + 1, total, range.first + most);
  const bytes = Buffer.from(data, 'base64').subarray(range.first, end);
  return { kind: 'blob', data: bytes.toString('base64'), mimeType, about: bytesOf(range.first, end, total) };
}

interface TextWish {
  readonly way: Way | undefined;
  readonly value: string;
  readonly limits: JsonBounds;
  readonly room: number | undefined;
}

function readText({ data, mimeType }: StoredPart, { way = 'bytes', value, limits, room }: TextWish): Reading | Problem {
  switch (way) {
    case 'bytes':
      return readBytes(data, mimeType, value, room);
    case 'lines':
      return readLines(data, mimeType, value, room);
    case 'path': {
      const json = jsonIn(data, limits);
      if (json === undefined) return { problem: 'this part is no JSON object or array: read it by bytes or lines' };
      const found = valueAt(json.value, value);
      if (found === undefined)
        return { problem: `there is no value at ${JSON.stringify(value.slice(0, 200))}; ${membersOf(json.value)}` };
      const text = JSON.stringify(found.value);
      const shown = room === undefined ? text : beginningOf(text, room);
      const about =
        shown.length === text.length
          ? 'all of it'
          : `the first ${counted(shown.length)} of its ${counted(text.length)} characters; a longer path has less`;
      return {
        kind: 'text',
        data: shown,
        mimeType: 'application/json',
        about: `${about}, at ${value === '' ? 'the root' : value}`,
      };
    }
    case 'search':
      return search(data, value, room);
  }
}

function readBytes(
  data: string,
  mimeType: string | undefined,
  value: string,
  room: number | undefined,
): Reading | Problem {
  const total = Buffer.byteLength(data);
  const range = value === '' ? { first: 0, last: total } : rangeOf('bytes', value, 0);
  if ('problem' in range) return range;
  if (range.first > 0 && range.first >= total) return { problem: `it has ${counted(total)} bytes, numbered from 0` };
  const { text, from, to } = sliceBytes(data, range.first, Math.min(range.last + 1, total));
  const shown = room === undefined ? text : beginningOf(text, room);
  const end = shown.length === text.length ? to : from + Buffer.byteLength(shown);
  return { kind: 'text', data: shown, mimeType, about: bytesOf(from, end, total) };
}

function readLines(
  data: string,
  mimeType: string | undefined,
  value: string,
  room: number | undefined,
): Reading | Problem {
  const range = rangeOf('lines', value, 1);
  if ('problem' in range) return range;
  const total = lineCount(data);
  if (range.first > total) return { problem: `it has ${counted(total)} lines, numbered from 1` };
  const text = sliceLines(data, range.first, Math.min(range.last, total));
  const shown = room === undefined ? text : beginningOf(text, room);
  const last = range.first + Math.max(1, lineCount(shown)) - 1;
  const isWhole = shown.length === text.length;
  const half = isWhole || shown.endsWith('\n') ? '' : '; the last one is cut: read it by bytes';
  return {
    kind: 'text',
    data: shown,
    mimeType,
    about: `lines ${range.first}-${last} of ${counted(total)}${half}${last < total ? `; next: lines ${last + 1}-` : ''}`,
  };
}

/** The places of a text, in any case, each with its line, its byte and what is around it. */
function search(data: string, wanted: string, room: number | undefined): Reading | Problem {
  if (wanted === '' || wanted.length > maxSearchLength)
    return { problem: `search needs 1 to ${maxSearchLength} characters` };
  const pattern = new RegExp(wanted.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), 'giu');
  const lines: string[] = [];
  let [count, line, lineFrom, bytes, bytesFrom, left] = [0, 1, 0, 0, 0, room ?? Infinity];
  for (const { index, 0: found } of data.matchAll(pattern)) {
    count += 1;
    if (lines.length >= maxFound || left <= 0) continue;
    for (let end = data.indexOf('\n', lineFrom); end !== -1 && end < index; end = data.indexOf('\n', lineFrom)) {
      line += 1;
      lineFrom = end + 1;
    }
    bytes += Buffer.byteLength(data.slice(bytesFrom, index));
    bytesFrom = index;
    const near = data.slice(Math.max(lineFrom, index - around), index + found.length + around).split('\n', 1)[0] ?? '';
    const text = `line ${line}, byte ${bytes}: ${near.trimEnd()}`;
    left -= JSON.stringify(text).length;
    if (left > 0) lines.push(text);
  }
  const shown = lines.length < count ? `; the first ${lines.length} are shown` : '';
  return {
    kind: 'text',
    data: lines.join('\n'),
    mimeType: 'text/plain',
    about: `${counted(count)} places with ${JSON.stringify(wanted)}${shown}`,
  };
}

function bytesOf(from: number, end: number, total: number): string {
  return `bytes ${from}-${Math.max(from, end - 1)} of ${counted(total)}${end < total ? `; next: bytes ${end}-` : ''}`;
}

/** At least one character, so that a reader gets on. */
function beginningOf(text: string, room: number): string {
  const shown = beginning(text, room);
  return shown === '' ? text.slice(0, (text.codePointAt(0) ?? 0) > 0xff_ff ? 2 : 1) : shown;
}

function membersOf(value: unknown): string {
  if (Array.isArray(value)) return `the root is an array of ${counted(value.length)}`;
  return typeof value === 'object' && value !== null && !isRawNumber(value)
    ? `the root has ${Object.keys(value)
        .slice(0, 10)
        .map((key) => JSON.stringify(key.slice(0, 40)))
        .join(', ')}`
    : 'the root is a single value';
}
