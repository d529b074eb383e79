/** The form of payloads between processes: JSON in UTF-8. */
import { isUtf8 } from 'node:buffer';
import { isObject, readJson, wire, type JsonObject, type MayBeBytes, type MayHaveBytes } from '@omnibus/protocol';
import { BusError } from './errors.ts';

/** Messages of clients and servers are bounded more tightly where they are received; these bounds are for everything else on NATS. */
export const bounds = {
  /** Levels of nesting: few enough for recursive code, and far beyond any limit that an operator would set. */
  maxJsonDepth: 1_000,
  /** Objects, arrays and the values in them; a server's whole catalogue is one message. */
  maxJsonValues: 20_000_000,
};
/** Bound on one large message; a sender keeps as many bytes for its receivers (`nats/blobs.ts`). */
export const maxMessageBytes = 256 * 1024 * 1024;

/** @throws {BusError} `undecodable` for a payload that cannot be JSON: it nests too deep, or is larger than a string may be. */
export function encode(payload: unknown): Uint8Array {
  try {
    // `Buffer.from` takes room for a small message from a pool. `TextEncoder` makes an `ArrayBuffer` for each message,
    // which the garbage collector has to follow.
    return withBytes(payload) ?? Buffer.from(JSON.stringify(payload));
  } catch (error) {
    throw new BusError('undecodable', 'a message for the bus cannot be written as JSON', error);
  }
}

/** The JSON of a payload with a large result that no code has read: the bytes of its server are copied. */
function withBytes(payload: unknown): Uint8Array | undefined {
  if (!isObject(payload) || !isObject(payload['result'])) return undefined;
  const bytes = (payload['result'] as MayHaveBytes)[wire]?.bytes;
  if (bytes === undefined) return undefined;
  const { result: _bytes, ...others } = payload;
  const head = JSON.stringify(others).slice(0, -1);
  const { parts } = bytes.within(`${head}${head === '{' ? '' : ','}"result":`, '}');
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** @throws {BusError} `undecodable` */
export function decode(bytes: Uint8Array): unknown {
  const read = readJson(bytes, maxMessageBytes, bounds);
  if (read.kind === 'refused') throw new BusError('undecodable', read.problem);
  return read.value;
}

/**
 * The characters before the other members of a reply and before its text.
 * JSON escapes control characters in strings, so neither stands in the members.
 */
const [head, start] = ['\u0001', '\u0002'];
const [headByte, startByte] = [0x01, 0x02];
const replacement = '\u{fffd}';
/** A shorter text is written with the other members. */
const leastBesideLength = 256;

/**
 * Writes a reply for a receiver that reads its text beside the other members (decision 85).
 * The text of a frame is JSON. As a member it would be JSON in a string of JSON.
 * Its sender would escape each quote in it, and its receiver would read each one again.
 * @throws {BusError} `undecodable`, as `encode` does.
 */
export function encodeReply(payload: unknown): Uint8Array {
  if (!isObject(payload)) return encode(payload);
  const bytes = (payload as MayBeBytes)[wire];
  try {
    if (bytes !== undefined) {
      const { parts } = bytes.within(`${head}${JSON.stringify(withoutText(payload))}${start}`, '');
      return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
    }
    const { text } = payload;
    if (typeof text === 'string' && text.length >= leastBesideLength) {
      const { text: _text, ...others } = payload;
      return Buffer.from(`${head}${JSON.stringify(others)}${start}${text}`);
    }
  } catch (error) {
    throw new BusError('undecodable', 'a reply for the bus cannot be written as JSON', error);
  }
  return encode(payload);
}

/**
 * Reads a reply in either form.
 * @throws {BusError} `undecodable`
 */
export function decodeReply(bytes: Uint8Array): unknown {
  if (bytes[0] !== headByte) return decode(bytes);
  const end = bytes.indexOf(startByte);
  const members = end === -1 ? undefined : decode(bytes.subarray(1, end));
  if (!isObject(members)) throw new BusError('undecodable', 'a reply with its text beside it has no members');
  const rest = Buffer.from(bytes.buffer, bytes.byteOffset + end + 1, bytes.length - end - 1);
  const text = rest.toString('utf8');
  if (text.includes(replacement) && !isUtf8(rest))
    throw new BusError('undecodable', 'the text of a reply is not UTF-8');
  return Object.assign(members, { text });
}

/** Without the member that would be made of the bytes. */
export function withoutText(payload: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys(payload)
      .filter((name) => name !== 'text')
      .map((name) => [name, payload[name]]),
  );
}
