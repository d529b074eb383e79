/** One text for one value, whoever wrote it: what digests are made of (RFC 8785: members sorted, no blanks). Numbers stay as they came. */
import { isRawNumber } from './exact-numbers.ts';

/** @param value as JSON is read; members that are `undefined` are none. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (isRawNumber(value)) return value.rawJSON;
  const members = value as Readonly<Record<string, unknown>>;
  return `{${Object.keys(members).filter((key) => members[key] !== undefined).toSorted().map((key) => `${JSON.stringify(key)}:${canonical(members[key])}`).join(',')}}`;
}
