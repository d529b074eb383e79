/** One text for equal values, for digests (RFC 8785: members sorted, no blanks). Numbers keep the form in which they were written. */
import { isRawNumber } from './exact-numbers.ts';

/** @param value a parsed JSON value; members that are `undefined` are left out. */
export function canonical(value: unknown): string {
  // Most values have their members in that order, or one member only: the engine then writes them several times faster.
  return isSorted(value) ? (JSON.stringify(value) ?? 'null') : sorted(value);
}

function isSorted(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isSorted);
  let before = '';
  for (const key in value) {
    if (key < before || !isSorted((value as Readonly<Record<string, unknown>>)[key])) return false;
    before = key;
  }
  return true;
}

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (isRawNumber(value)) return value.rawJSON;
  const members = value as Readonly<Record<string, unknown>>;
  let json = '';
  // Written without arrays in between, since calls on record come here.
  for (const key of Object.keys(members).sort()) {
    const member = members[key];
    if (member !== undefined) json += `${json === '' ? '' : ','}${JSON.stringify(key)}:${sorted(member)}`;
  }
  return `{${json}}`;
}
