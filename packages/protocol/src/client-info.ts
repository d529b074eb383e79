/** The `clientInfo` of a client (every revision), cut to the displayed lengths. */
import { isObject } from './json-rpc.ts';
import { printable } from './printable.ts';
import type { ClientInfo } from './session-record.ts';

const maxLength = 100;

/** @returns undefined if it has nothing to display. */
export function clientInfoOf(said: unknown): ClientInfo | undefined {
  if (!isObject(said) || typeof said['name'] !== 'string' || said['name'] === '') return undefined;
  const { name, version } = said;
  return {
    name: printable(name, maxLength),
    ...(typeof version === 'string' && version !== '' ? { version: printable(version, maxLength) } : {}),
  };
}
