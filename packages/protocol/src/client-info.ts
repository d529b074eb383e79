/** The `clientInfo` of a client (every revision), cut to the lengths that are shown. */
import { isObject } from './json-rpc.ts';
import { printable } from './printable.ts';
import type { ClientInfo } from './session-record.ts';

const maxLength = 100;

/** @returns undefined where it has nothing that could be shown. */
export function clientInfoOf(said: unknown): ClientInfo | undefined {
  if (!isObject(said) || typeof said['name'] !== 'string' || said['name'] === '') return undefined;
  const { name, version } = said;
  return {
    name: printable(name, maxLength),
    ...(typeof version === 'string' && version !== '' ? { version: printable(version, maxLength) } : {}),
  };
}
