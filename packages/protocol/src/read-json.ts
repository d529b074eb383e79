/**
 * The one way from bytes or text of outside to a JSON value, whoever sent them: clients, servers, the bus.
 *
 * Size, nesting and number of values are bounded before they are built: `JSON.parse` takes a second for 8 MB of brackets, and makes
 * hundreds of megabytes of a message of empty objects. What passes is what `JSON.parse` makes of it: the last of two equal keys counts,
 * `__proto__` is a key like any other, half a surrogate pair written as an escape stays one. A number a double cannot hold as it was
 * written is a raw one (`exact-numbers.ts`).
 *
 * An ordinary message has a dozen brackets, and pays for finding them. Only one with very many is read byte by byte.
 */
import { isUtf8 } from 'node:buffer';
import { parseJson } from './exact-numbers.ts';
import type { Limits } from './limits.ts';

/** Why a message was not read, as its row in the table of errors, and in words that say where. */
export interface Unreadable {
  readonly kind: 'refused';
  readonly reason: 'message.too_large' | 'message.not_json' | 'message.too_deep' | 'message.too_many';
  readonly problem: string;
}

export type ReadJson = { readonly kind: 'json'; readonly value: unknown } | Unreadable;

type JsonLimits = Pick<Limits, 'maxJsonDepth' | 'maxJsonValues'>;

/** RFC 8259, section 8.1: a reader may pass over it. Some servers on Windows begin their output with it. */
const byteOrderMark = 0xfe_ff;
const replacement = '\u{fffd}';
const [quote, comma, openArray, backslash, closeArray, openObject, closeObject] = [0x22, 0x2c, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d];
/** Longer strings are left by a native search for their end; shorter ones are quicker byte by byte. */
const shortString = 48;
/** As many brackets are built in less than 10 ms, however they nest, so that their depth can be looked at afterwards, which costs less. */
const quicklyBuilt = 50_000;

/**
 * @param input bytes have to be UTF-8 from end to end; text was decoded by whoever read it.
 * @param maxBytes of the message in UTF-8.
 */
export function readJson(input: Uint8Array | string, maxBytes: number, limits: JsonLimits): ReadJson {
  if (isLargerThan(input, maxBytes)) return refused('message.too_large', `the message is larger than ${maxBytes} bytes`);
  const text = typeof input === 'string' ? input : bufferOf(input).toString('utf8');
  // Decoding leaves a mark in place of what is no UTF-8; to look for it costs nothing where there are only narrow characters.
  if (typeof input !== 'string' && text.includes(replacement) && !isUtf8(input)) {
    return refused('message.not_json', `the message is not UTF-8, somewhere after byte ${lastGoodByte(input)}`);
  }
  const { maxJsonDepth, maxJsonValues } = limits;
  const brackets = count(text, '[', count(text, '{', 0, quicklyBuilt), quicklyBuilt);
  const isLarge = brackets > quicklyBuilt || (text.length > maxJsonValues && count(text, ',', brackets, maxJsonValues) > maxJsonValues);
  const problem = isLarge ? measure(bufferOf(input), limits) : undefined;
  if (problem !== undefined) return problem;
  let value: unknown;
  try {
    value = parseJson(text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text);
  } catch (error) {
    return refused('message.not_json', `the message is not JSON: ${syntaxProblem(text, error as SyntaxError)}`);
  }
  const isDeep = !isLarge && brackets > maxJsonDepth && isDeeperThan(value, maxJsonDepth);
  return (isDeep ? measure(bufferOf(input), limits) : undefined) ?? { kind: 'json', value };
}

function refused(reason: Unreadable['reason'], problem: string): Unreadable {
  return { kind: 'refused', reason, problem };
}

function isLargerThan(input: Uint8Array | string, maxBytes: number): boolean {
  if (typeof input !== 'string' || input.length > maxBytes) return input.length > maxBytes;
  return input.length * 3 > maxBytes && Buffer.byteLength(input) > maxBytes;
}

function bufferOf(input: Uint8Array | string): Buffer {
  if (typeof input === 'string') return Buffer.from(input);
  return Buffer.isBuffer(input) ? input : Buffer.from(input.buffer, input.byteOffset, input.byteLength);
}

/** Adds how often a character occurs, strings included, and stops when there are more than `most`. */
function count(text: string, character: string, before: number, most: number): number {
  let found = before;
  for (let at = text.indexOf(character); at !== -1 && found <= most; at = text.indexOf(character, at + 1)) found += 1;
  return found;
}

/** Recursion stops at the bound. */
export function isDeeperThan(value: unknown, maxDepth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (maxDepth === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isDeeperThan(item, maxDepth - 1)) return true;
    return false;
  }
  for (const key in value) if (isDeeperThan((value as Record<string, unknown>)[key], maxDepth - 1)) return true;
  return false;
}

/** Counts what is open and what is held, outside of strings. What is no JSON at all is left to the parser to say. */
function measure(bytes: Buffer, { maxJsonDepth, maxJsonValues }: JsonLimits): Unreadable | undefined {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === quote) at = endOfString(bytes, at);
    else if (byte === comma) values += 1;
    else if (byte === openObject || byte === openArray) {
      values += 1;
      depth += 1;
      if (depth > maxJsonDepth) return refused('message.too_deep', `the message nests deeper than ${maxJsonDepth} at byte ${at}`);
    } else if (byte === closeObject || byte === closeArray) depth -= 1;
    if (values > maxJsonValues) return refused('message.too_many', `the message has more than ${maxJsonValues} values at byte ${at}`);
  }
  return undefined;
}

/** @returns where the quote is that ends the string which begins at `start`, or where the bytes end. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  for (; at < bytes.length && bytes[at] !== quote; at += 1) {
    if (bytes[at] === backslash) at += 1;
    else if (at - start > shortString) return endOfLongString(bytes, at);
  }
  return at;
}

/** @param from inside the string, and not after a backslash. */
function endOfLongString(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(quote, from); end !== -1; end = bytes.indexOf(quote, end + 1)) {
    let escape = end;
    while (escape > from && bytes[escape - 1] === backslash) escape -= 1;
    if ((end - escape) % 2 === 0) return end;
  }
  return bytes.length;
}

/** Only what is refused is looked at a second time. @returns where the kilobyte begins that holds the first byte which is no UTF-8. */
function lastGoodByte(bytes: Uint8Array): number {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for (let start = 0; start < bytes.length; start += 1024) {
    try {
      decoder.decode(bytes.subarray(start, start + 1024), { stream: true });
    } catch {
      return start; // The decoder throws at the first byte that does not fit.
    }
  }
  return bytes.length; // What is missing is missing at the end.
}

/** The engine's own words without what they quote of the message, and the place in bytes where the engine tells it. */
function syntaxProblem(text: string, { message }: SyntaxError): string {
  if (message.startsWith('Unexpected end')) return `it ends too early, at byte ${Buffer.byteLength(text)}`;
  const placed = /^(.*?)(?: in JSON)? at position (\d+)/su.exec(message);
  if (placed !== null) return `${placed[1]} at byte ${Buffer.byteLength(text.slice(0, Number(placed[2])))}`;
  const token = /^Unexpected token '(.)'/su.exec(message);
  return token === null ? 'it cannot be read' : `unexpected ${JSON.stringify(token[1])}`;
}
