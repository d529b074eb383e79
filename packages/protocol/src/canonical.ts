/** One text for equal values, for digests (RFC 8785: members sorted, no blanks). Numbers keep the form in which they were written. */
import { isRawNumber } from './exact-numbers.ts';

/** @param value a parsed JSON value; members that are `undefined` are left out. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (isRawNumber(value)) return value.rawJSON;
  const members = value as Readonly<Record<string, unknown>>;
  return `{${Object.keys(members).filter((key) => members[key] !== undefined).toSorted().map((key) => `${JSON.stringify(key)}:${canonical(members[key])}`).join(',')}}`;
}
