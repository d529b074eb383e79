/**
 * Checks the shape of each payload that comes over NATS before any other code uses it. Small predicates are combined once, at
 * the start, so that checking a call takes a few hundred nanoseconds, without an allocation.
 */
import { isObject, isToken, numberOf, type JsonObject } from '@omnibus/protocol';

/** `unknown`: well-formed, but of a kind that only a newer version of the gateway knows. `foreign`: well-formed, from a process with messages that this version cannot read. */
type Verdict = 'fits' | 'unknown' | 'foreign' | 'junk';

declare const checked: unique symbol;

/** Says whether a payload is a well-formed `Payload`, and if not, its kind. */
export interface Shape<Payload> {
  (value: unknown): Verdict;
  readonly [checked]?: Payload;
}

export type PayloadOf<S> = S extends Shape<infer Payload> ? Payload : never;

export type Predicate = (value: unknown) => boolean;

export const text: Predicate = (value) => typeof value === 'string';
export const flag: Predicate = (value) => typeof value === 'boolean';
/** A number, also one stored as raw text since no double can hold it. */
export const number: Predicate = (value) => numberOf(value) !== undefined;
export const count: Predicate = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
export const object: Predicate = isObject;
/** A name that may stand in a subject. */
export const token: Predicate = (value) => typeof value === 'string' && isToken(value);
export const endpoint: Predicate = (value) => value === '' || token(value);

/** Bound on the items of a list, longer than any that is sent; each item is checked. */
const maxItems = 1_000_000;

export function optional(predicate: Predicate): Predicate {
  return (value) => value === undefined || predicate(value);
}

export function oneOf(...allowed: readonly (string | undefined)[]): Predicate {
  return (value) => allowed.includes(value as string);
}

export function list(predicate: Predicate): Predicate {
  return (value) => Array.isArray(value) && value.length <= maxItems && value.every(predicate);
}

export function pair(first: Predicate, second: Predicate): Predicate {
  return (value) => Array.isArray(value) && value.length === 2 && first(value[0]) && second(value[1]);
}

/** Checks an object. The type demands a check for every field, so that a new one cannot be forgotten; fields that only a newer version knows are let through. */
export function fields<Payload extends object>(checks: { readonly [name in keyof Payload]-?: Predicate }): Predicate {
  const names = Object.keys(checks);
  const predicates = Object.values<Predicate>(checks);
  return (value) => {
    if (!isObject(value)) return false;
    for (let index = 0; index < names.length; index += 1)
      if (!(predicates[index] as Predicate)(value[names[index] as string])) return false;
    return true;
  };
}

export function shape<Payload extends object>(predicate: Predicate): Shape<Payload> {
  return (value) => (predicate(value) ? 'fits' : 'junk');
}

/** A union of payloads, told apart by one member, mostly `kind`. */
export function variants<Payload extends object, Tag extends keyof Payload & string>(
  tag: Tag,
  kinds: {
    readonly [kind in Payload[Tag] & string]: {
      readonly [name in Exclude<keyof Extract<Payload, Readonly<Record<Tag, kind>>>, Tag>]-?: Predicate;
    };
  },
): Shape<Payload> {
  const byKind = new Map(
    Object.entries<Readonly<Record<string, Predicate>>>(kinds).map(([kind, checks]) => [
      kind,
      fields<JsonObject>(checks),
    ]),
  );
  return (value) => {
    if (!isObject(value) || typeof value[tag] !== 'string') return 'junk';
    const check = byKind.get(value[tag]);
    if (check === undefined) return 'unknown';
    return check(value) ? 'fits' : 'junk';
  };
}

/** Checks a union inside a payload, where an unknown kind makes the whole payload unreadable. */
export function whole(inner: Shape<object>): Predicate {
  return (value) => inner(value) === 'fits';
}

/** A union in which an unknown kind counts as junk, since a receiver that ignored it would wait without end. */
export function closed<Payload extends object>(inner: Shape<Payload>): Shape<Payload> {
  return (value) => (inner(value) === 'fits' ? 'fits' : 'junk');
}
