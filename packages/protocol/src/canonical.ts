/** One text for equal values, for digests (RFC 8785: members sorted, no blanks). Numbers keep the form in which they were written. */
import { isRawNumber } from './exact-numbers.ts';

/** @param value a parsed JSON value; members that are `undefined` are left out. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (isRawNumber(value)) return value.rawJSON;
  const members = value as Readonly<Record<string, unknown>>;
  let json = '';
  // Written without arrays in between, since every call on record and every message with a digest comes here.
  for (const key of sortedKeys(members)) {
    const member = members[key];
    if (member !== undefined) json += `${json === '' ? '' : ','}${JSON.stringify(key)}:${canonical(member)}`;
  }
  return `{${json}}`;
}

function sortedKeys(members: object): readonly string[] {
  const keys = Object.keys(members);
  return keys.length < 2 ? keys : keys.sort();
}
