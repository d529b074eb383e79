/** The form of payloads between processes: JSON in UTF-8. */
import { readJson } from '@omnibus/protocol';
import { BusError } from './errors.ts';

const encoder = new TextEncoder();

/** Messages of clients and servers are bounded more tightly where they are received; these bounds are for everything else on NATS. */
const bounds = {
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
    return encoder.encode(JSON.stringify(payload));
  } catch (error) {
    throw new BusError('undecodable', 'a message for the bus cannot be written as JSON', error);
  }
}

/** @throws {BusError} `undecodable` */
export function decode(bytes: Uint8Array): unknown {
  const read = readJson(bytes, maxMessageBytes, bounds);
  if (read.kind === 'refused') throw new BusError('undecodable', read.problem);
  return read.value;
}
