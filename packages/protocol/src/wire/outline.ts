/**
 * The outline of a large result: its small values, and the places of its large ones. It goes to a process that passes the result on without its bytes,
 * which stay where they are until the last process fetches them (decision 68).
 */
import { isObject, type JsonObject } from '../json-rpc.ts';
import {
  AwayBytes,
  AwayError,
  unread,
  wire,
  type JsonBytes,
  type KeptBytes,
  type MayBeUnread,
  type MayHaveBytes,
  type Span,
} from './marks.ts';
import { defineUnread, Wire, withWire, type Member } from './wire.ts';

export interface Outline {
  /** The result, with an empty string or object in place of each large value. */
  readonly result: JsonObject;
  /** The places of these. */
  readonly unread: readonly (readonly (string | number)[])[];
  /** The members of the result as they are written: name, start and end in its bytes. */
  readonly members: readonly (readonly [name: string, start: number, end: number])[];
  readonly hasNulls: boolean;
}

/** Places of large values have at most as many steps as `read-answer.ts` tells levels apart. */
const maxSteps = 5;

/**
 * @returns the outline and the bytes of a result that is a large one; undefined for another one, once code has read a large value of it, where members were
 *   added, and where the bytes are at another process.
 */
export function outlineOf(result: JsonObject): { readonly outline: Outline; readonly bytes: JsonBytes } | undefined {
  const own = (result as MayHaveBytes)[wire];
  const { whole, members } = (own instanceof Wire && own.away === undefined ? own.untouched : undefined) ?? {};
  const bytes = own?.bytes;
  if (own === undefined || whole === undefined || members === undefined || bytes === undefined) return undefined;
  const places: (string | number)[][] = [];
  const small = smallOf(result, [], places) as JsonObject;
  const spans = members.map(({ name, written }) => {
    const { start, end } = written as Span;
    return [name, start - whole.start, end - whole.start] as const;
  });
  return { outline: { result: small, unread: places, members: spans, hasNulls: own.hasNulls }, bytes };
}

/** A copy without large values. @param places gets their places. */
function smallOf(value: unknown, place: readonly (string | number)[], places: (string | number)[][]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const members = (value as MayBeUnread)[unread];
  const item = (name: string | number): unknown => {
    const kind = members?.get(String(name))?.kind;
    const at = [...place, name];
    if (kind === undefined) return smallOf((value as Record<string | number, unknown>)[name], at, places);
    places.push(at);
    return kind === 'string' ? '' : {};
  };
  return Array.isArray(value)
    ? Array.from(value.keys(), item)
    : Object.fromEntries(Object.keys(value).map((name) => [name, item(name)]));
}

/**
 * The result of an outline. Code that reads a large value of it gets an `AwayError`.
 * @param outline of another process, which may be wrong.
 * @returns undefined if it is no outline of these bytes.
 */
export function resultOfOutline(
  { result, unread: places, members, hasNulls }: Partial<Record<keyof Outline, unknown>>,
  kept: KeptBytes,
): JsonObject | undefined {
  if (!isObject(result) || !Array.isArray(places) || !Array.isArray(members)) return undefined;
  const spans: Member[] = [];
  let from = 1;
  for (const member of members as readonly unknown[]) {
    if (!Array.isArray(member) || member.length !== 3) return undefined;
    const [name, start, end] = member as readonly unknown[];
    if (typeof name !== 'string' || !Object.hasOwn(result, name)) return undefined;
    if (!isWithin(start, from, kept.length) || !isWithin(end, start, kept.length)) return undefined;
    from = end;
    spans.push({ name, written: { start, end } });
  }
  if (spans.length !== Object.keys(result).length) return undefined;
  for (const place of places as readonly unknown[]) if (!isDefined(result, place)) return undefined;
  const whole = { start: 0, end: kept.length };
  return withWire(
    result,
    new Wire({ isRead: false }, spans, whole, hasNulls === true, {
      join: (parts) => new AwayBytes(kept, parts),
      away: kept,
    }),
  );
}

function isWithin(value: unknown, from: number, to: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= from && (value as number) <= to;
}

/** Makes the value at a place one that is not here. @returns whether there is such a place. */
function isDefined(result: JsonObject, place: unknown): boolean {
  if (!Array.isArray(place) || place.length === 0 || place.length > maxSteps) return false;
  const steps = place as readonly unknown[];
  let holder: unknown = result;
  for (const step of steps.slice(0, -1)) holder = valueAt(holder, step);
  const last = steps.at(-1);
  const value = valueAt(holder, last);
  if (value !== '' && !isObject(value)) return false;
  defineUnread(holder as MayBeUnread, last as string | number, {
    kind: value === '' ? 'string' : 'object',
    read: () => {
      throw new AwayError();
    },
  });
  return true;
}

function valueAt(holder: unknown, name: unknown): unknown {
  if (typeof holder !== 'object' || holder === null) return undefined;
  if (typeof name !== 'string' && typeof name !== 'number') return undefined;
  // A place that is named twice would be read.
  if ((holder as MayBeUnread)[unread]?.has(String(name)) === true || !Object.hasOwn(holder, name)) return undefined;
  return (holder as Record<string | number, unknown>)[name];
}
