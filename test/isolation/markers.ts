/** What a client alone knows: a secret nobody can guess, and a marker made of it for each thing the client says. */
import { randomBytes } from 'node:crypto';

/** `mk-` and 64 random bits; survives JSON, URIs and headers unchanged. */
export type Secret = string;

const secretPattern = /mk-[0-9a-f]{16}/g;
const markerPattern = /mk-[0-9a-f]{16}-\d+/;

export function newSecret(): Secret {
  return `mk-${randomBytes(8).toString('hex')}`;
}

/** @returns every secret that a text holds, each once. */
export function secretsIn(text: string): ReadonlySet<Secret> {
  return new Set(text.match(secretPattern));
}

/** @returns the first marker in a text: a secret with the number of what it was made for. */
export function markerIn(text: string): string | undefined {
  return markerPattern.exec(text)?.[0];
}
