/** What a payload is between processes: JSON in UTF-8. */
import { BusError } from './errors.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @throws {BusError} `undecodable` for what has no JSON: it nests too deep, or is larger than any string. */
export function encode(payload: unknown): Uint8Array {
  try {
    return encoder.encode(JSON.stringify(payload));
  } catch (error) {
    throw new BusError('undecodable', 'a message for the bus cannot be written as JSON', error);
  }
}

/** @throws {BusError} `undecodable` */
export function decode(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw new BusError('undecodable', 'a message on the bus is not JSON', error);
  }
}
