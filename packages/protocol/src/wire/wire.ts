/**
 * Results that pass as the bytes in which they came (decision 67). A large result is an ordinary object whose small members are values, and whose large ones are
 * read from the bytes when code first asks for them. That reading is noted: a result of which no large member was read is sent as its bytes, every
 * other one is written again from its values. So code that looks inside a result need not say so, and a client gets no byte that such code has not seen.
 *
 * A copy (`{ ...result }`) reads all members, and is an ordinary object without bytes.
 */
import type { JsonObject } from '../json-rpc.ts';
import {
  unread,
  wire,
  type JsonBytes,
  type KeptBytes,
  type MayBeUnread,
  type ResultBytes,
  type Span,
  type UnreadMember,
} from './marks.ts';

/** What is known of the whole result. */
export interface Reading {
  /** Whether code has read a member from the bytes. */
  isRead: boolean;
}

/** One member as it is written. */
export interface Member {
  readonly name: string;
  /** The name, the colon and the value. */
  readonly written: string | Span;
}

/** The bytes in which an object was written. */
export interface Source {
  join(parts: readonly (string | Span)[]): JsonBytes;
  /** As in `ResultBytes`. */
  readonly away?: KeptBytes;
}

/** The bytes of a result, or the members of an object inside it that are read from bytes. */
export class Wire implements ResultBytes {
  readonly #reading: Reading;
  readonly #members: readonly Member[];
  /** The object as it came; undefined where members were added or replaced. */
  readonly #whole: Span | undefined;
  readonly #source: Source;
  readonly hasNulls: boolean;
  readonly away: KeptBytes | undefined;

  constructor(
    reading: Reading,
    members: readonly Member[],
    whole: Span | undefined,
    hasNulls: boolean,
    source: Source,
  ) {
    this.#reading = reading;
    this.#members = members;
    this.#whole = whole;
    this.hasNulls = hasNulls;
    this.#source = source;
    this.away = source.away;
  }

  get bytes(): JsonBytes | undefined {
    if (this.#reading.isRead) return undefined;
    if (this.#whole !== undefined) return this.#source.join([this.#whole]);
    return this.#source.join([
      '{',
      ...this.#members.flatMap(({ written }, index) => (index === 0 ? [written] : [',', written])),
      '}',
    ]);
  }

  /** The object as it came, with its members; undefined once code has read a member from the bytes, and where members were added. */
  get untouched(): { readonly whole: Span; readonly members: readonly Member[] } | undefined {
    const [whole, members] = [this.#whole, this.#members];
    return this.#reading.isRead || whole === undefined ? undefined : { whole, members };
  }

  with(result: JsonObject, first: JsonObject, last: JsonObject): JsonObject {
    const own = new Map(this.#members.map((member) => [member.name, member]));
    const made: Record<string, unknown> = {};
    const members: Member[] = [];
    // In the order of `{ ...first, ...result, ...last }`.
    for (const name of new Set([...Object.keys(first), ...own.keys(), ...Object.keys(last)])) {
      const member = own.get(name);
      if (member !== undefined && !Object.hasOwn(last, name)) {
        const later = (result as MayBeUnread)[unread]?.get(name);
        if (later === undefined)
          Object.defineProperty(made, name, Object.getOwnPropertyDescriptor(result, name) as PropertyDescriptor);
        else defineUnread(made, name, later);
        members.push(member);
      } else {
        made[name] = Object.hasOwn(last, name) ? last[name] : first[name];
        members.push({ name, written: writtenOf(name, made[name]) });
      }
    }
    return withWire(made, new Wire(this.#reading, members, undefined, this.hasNulls, this.#source));
  }
}

function writtenOf(name: string, value: unknown): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`;
}

/** Adds the bytes of a result. Copies and `JSON.stringify` do not see them. */
export function withWire(result: object, bytes: Wire): JsonObject {
  return Object.defineProperty(result, wire, { value: bytes }) as JsonObject;
}

/** What reads a member: it finds in its object how. */
type Getter = (this: MayBeUnread) => unknown;

/** @returns the getter of the member that an object has got after `index` others which are read later. */
function getterAt(index: number): Getter {
  return function get(this: MayBeUnread): unknown {
    let others = index;
    for (const member of this[unread]?.values() ?? []) {
      if (others === 0) return member.read();
      others -= 1;
    }
    return undefined;
  };
}

/**
 * The getters of all objects. Objects share them, so that they share their shape: V8 keeps shapes in the old generation, and a shape holds its getters. If a getter knew its
 * object, each object with its bytes would live until the next collection of the whole heap (decision 95). They count members and know no name, since names come from
 * servers. An object with more members is rare, and has getters of its own for these.
 */
const getters: readonly Getter[] = Array.from({ length: 64 }, (_none, index) => getterAt(index));

/** Adds a member that is read when code asks for it, or replaces one by it that is not. */
export function defineUnread(holder: MayBeUnread, name: string | number, member: UnreadMember): void {
  const members = holder[unread] ?? new Map<string, UnreadMember>();
  const { size } = members;
  if (size === 0) Object.defineProperty(holder, unread, { value: members });
  (members as Map<string, UnreadMember>).set(String(name), member);
  Object.defineProperty(holder, name, { enumerable: true, configurable: true, get: getters[size] ?? getterAt(size) });
}
