/**
 * Reads bytes or text from outside (clients, servers, the bus) as a JSON value. No other code parses such input.
 *
 * Size, nesting and number of values are bounded before anything is built: `JSON.parse` takes a second for 8 MB of brackets, and needs hundreds of
 * megabytes for a message of empty objects. Accepted text has the same result as with `JSON.parse`: the last of two equal keys counts, `__proto__` is an
 * ordinary key, half a surrogate pair written as an escape stays. A number that a double cannot represent as it was written becomes a raw number
 * (`exact-numbers.ts`).
 *
 * An ordinary message has a dozen brackets, which are only counted. Only a message with very many is scanned byte by byte.
 */
import { isUtf8 } from 'node:buffer';
import { parseJson } from './exact-numbers.ts';
import type { Limits } from './limits.ts';

/** Why a message was not read: the reason in the table of errors, and a description with the position. */
interface Unreadable {
  readonly kind: 'refused';
  readonly reason: 'message.too_large' | 'message.not_json' | 'message.too_deep' | 'message.too_many';
  readonly problem: string;
}

export type ReadJson = { readonly kind: 'json'; readonly value: unknown } | Unreadable;

type JsonLimits = Pick<Limits, 'maxJsonDepth' | 'maxJsonValues'>;

/** RFC 8259, section 8.1: a reader may ignore it. Some servers on Windows begin their output with it. */
const byteOrderMark = 0xfe_ff;
const replacement = '\u{fffd}';
const [quote, comma, openArray, backslash, closeArray, openObject, closeObject] = [
  0x22, 0x2c, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d,
];
/** In longer strings, the end is found by a native search; shorter ones are faster byte by byte. */
const shortString = 48;
/** So many brackets are parsed in less than 10 ms however they nest, so their depth can be checked afterwards, which is cheaper. */
const quicklyBuilt = 50_000;

/**
 * @param input bytes must be UTF-8 throughout; text was decoded by the caller.
 * @param maxBytes of the message in UTF-8.
 * @param parse reads the text; `JSON.parse` for a text whose numbers are not passed on, which takes a tenth of the time.
 */
export function readJson(
  input: Uint8Array | string,
  maxBytes: number,
  limits: JsonLimits,
  parse: (text: string) => unknown = parseJson,
): ReadJson {
  const isTooLarge =
    typeof input === 'string'
      ? input.length * 3 > maxBytes && Buffer.byteLength(input) > maxBytes
      : input.length > maxBytes;
  if (isTooLarge) return refused('message.too_large', `the message is larger than ${maxBytes} bytes`);
  const text = typeof input === 'string' ? input : (Buffer.isBuffer(input) ? input : bufferOf(input)).toString('utf8');
  // Decoding puts a replacement character in the place of invalid UTF-8. Searching for it is free in a text of one-byte characters.
  if (typeof input !== 'string' && text.includes(replacement) && !isUtf8(input)) {
    return refused('message.not_json', `the message is not UTF-8, somewhere after byte ${lastGoodByte(input)}`);
  }
  const { maxJsonDepth, maxJsonValues } = limits;
  const brackets = count(text, '[', count(text, '{', 0, quicklyBuilt), quicklyBuilt);
  const isLarge =
    brackets > quicklyBuilt ||
    (text.length > maxJsonValues && count(text, ',', brackets, maxJsonValues) > maxJsonValues);
  const problem = isLarge ? measure(bufferOf(input), limits) : undefined;
  if (problem !== undefined) return problem;
  let value: unknown;
  try {
    value = parse(text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text);
  } catch (error) {
    return refused('message.not_json', `the message is not JSON: ${syntaxProblem(text, error as SyntaxError)}`);
  }
  const isDeep = !isLarge && brackets > maxJsonDepth && isDeeperThan(value, maxJsonDepth);
  return (isDeep ? measure(bufferOf(input), limits) : undefined) ?? { kind: 'json', value };
}

function refused(reason: Unreadable['reason'], problem: string): Unreadable {
  return { kind: 'refused', reason, problem };
}

function bufferOf(input: Uint8Array | string): Buffer {
  if (typeof input === 'string') return Buffer.from(input);
  return Buffer.isBuffer(input) ? input : Buffer.from(input.buffer, input.byteOffset, input.byteLength);
}

/** Adds the number of occurrences of a character, strings included, and stops when there are more than `most`. */
function count(text: string, character: string, before: number, most: number): number {
  let found = before;
  for (let at = text.indexOf(character); at !== -1 && found <= most; at = text.indexOf(character, at + 1)) found += 1;
  return found;
}

/** Whether a value nests deeper than a bound; the recursion stops there. */
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

/** Measures nesting and number of values, outside of strings. Invalid JSON is left to the parser. */
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
      if (depth > maxJsonDepth)
        return refused('message.too_deep', `the message nests deeper than ${maxJsonDepth} at byte ${at}`);
    } else if (byte === closeObject || byte === closeArray) depth -= 1;
    if (values > maxJsonValues)
      return refused('message.too_many', `the message has more than ${maxJsonValues} values at byte ${at}`);
  }
  return undefined;
}

/** @returns the position of the quote that ends the string which begins at `start`, or the length of the input. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  for (; at < bytes.length && bytes[at] !== quote; at += 1) {
    if (bytes[at] === backslash) at += 1;
    else if (at - start > shortString) return endOfLongString(bytes, at);
  }
  return at;
}

/** @param from a position inside the string that does not follow a backslash. */
function endOfLongString(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(quote, from); end !== -1; end = bytes.indexOf(quote, end + 1)) {
    let escape = end;
    while (escape > from && bytes[escape - 1] === backslash) escape -= 1;
    if ((end - escape) % 2 === 0) return end;
  }
  return bytes.length;
}

/** Used only for input that is refused. @returns the start of the kilobyte that contains the first invalid byte. */
function lastGoodByte(bytes: Uint8Array): number {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for (let start = 0; start < bytes.length; start += 1024) {
    try {
      decoder.decode(bytes.subarray(start, start + 1024), { stream: true });
    } catch {
      return start; // The decoder throws at the first invalid byte.
    }
  }
  return bytes.length; // The last character is incomplete.
}

/** The engine's message without its quotations of the input, and the position in bytes if the engine names one. */
function syntaxProblem(text: string, { message }: SyntaxError): string {
  if (message.startsWith('Unexpected end')) return `it ends too early, at byte ${Buffer.byteLength(text)}`;
  const placed = /^(.*?)(?: in JSON)? at position (\d+)/su.exec(message);
  if (placed !== null) return `${placed[1]} at byte ${Buffer.byteLength(text.slice(0, Number(placed[2])))}`;
  const token = /^Unexpected token '(.)'/su.exec(message);
  return token === null ? 'it cannot be read' : `unexpected ${JSON.stringify(token[1])}`;
}
