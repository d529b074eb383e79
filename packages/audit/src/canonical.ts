/** One text for one value, whoever wrote it: what digests are made of (RFC 8785: sorted members, no blanks). Numbers stay as they came. */
import { hash } from 'node:crypto';
import { isRawNumber } from '@omnibus/protocol';

export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (isRawNumber(value)) return value.rawJSON;
  const members = value as Readonly<Record<string, unknown>>;
  return `{${Object.keys(members).filter((key) => members[key] !== undefined).toSorted().map((key) => `${JSON.stringify(key)}:${canonical(members[key])}`).join(',')}}`;
}

/** SHA-256 of a text, base64url. */
export function sha256(text: string): string {
  return hash('sha256', text, 'base64url');
}
