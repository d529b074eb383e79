/** The form of payloads between processes: JSON in UTF-8. */
import { isObject, readJson, wire, type MayHaveBytes } from '@omnibus/protocol';
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
