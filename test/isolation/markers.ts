/** Secrets of clients, and markers that consist of a secret and a number for each message. */
import { randomBytes } from 'node:crypto';

/** `mk-` and 64 random bits; unchanged by JSON, URIs and headers. */
export type Secret = string;

const secretPattern = /mk-[0-9a-f]{16}/g;
const markerPattern = /mk-[0-9a-f]{16}-\d+/;

export function newSecret(): Secret {
  return `mk-${randomBytes(8).toString('hex')}`;
}

/** @returns every secret in a text, each once. */
export function secretsIn(text: string): ReadonlySet<Secret> {
  return new Set(text.match(secretPattern));
}

/** @returns the first marker in a text: a secret with the number of its purpose. */
export function markerIn(text: string): string | undefined {
  return markerPattern.exec(text)?.[0];
}
