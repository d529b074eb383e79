/** What a payload is between processes: JSON in UTF-8. */
import { BusError } from './errors.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encode(payload: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(payload));
}

/** @throws {BusError} `undecodable` */
export function decode(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw new BusError('undecodable', 'a message on the bus is not JSON', error);
  }
}
