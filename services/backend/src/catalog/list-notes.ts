/** The members of a server's list other than its entries, gathered from its pages within bounds. */
import {
  isDeeperThan,
  isObject,
  metaKeys,
  numberOf,
  type JsonObject,
  type Limits,
  type ListKind,
  type ListNotes,
} from '@omnibus/protocol';

/** Characters of it as JSON: it stands on the first page of every client's list. */
const maxLength = 64 * 1024;
/** Members that are read, or belong to this hop alone. */
const known: ReadonlySet<string> = new Set(['_meta', 'nextCursor', 'resultType', 'ttlMs', 'cacheScope']);
const ofThisHop: ReadonlySet<string> = new Set([...Object.values(metaKeys), 'progressToken']);
/** Keys of the gateway itself, and one by which a list would belong to a task: clients refuse a list over a malformed one. */
const ofNoList = /^(omnibus\.dev\/|io\.modelcontextprotocol\/related-task$)/;

export class Notes {
  readonly #kind: ListKind;
  readonly #limits: Pick<Limits, 'maxJsonDepth'>;
  #meta: JsonObject = {};
  #more: JsonObject = {};
  #length = 0;
  #ttlMs: number | undefined;
  #isPublic = true;

  constructor(kind: ListKind, limits: Pick<Limits, 'maxJsonDepth'>) {
    this.#kind = kind;
    this.#limits = limits;
  }

  /** Of what several pages say under one name, the first counts; of times, the least. @returns the dropped members, in words. */
  take(page: JsonObject): string | undefined {
    const ttlMs = numberOf(page['ttlMs']);
    if (ttlMs !== undefined) this.#ttlMs = Math.max(Math.min(ttlMs, this.#ttlMs ?? Infinity), 0);
    this.#isPublic &&= page['cacheScope'] === 'public';
    const meta = isObject(page['_meta'])
      ? keep(page['_meta'], (name) => !ofThisHop.has(name) && !ofNoList.test(name))
      : {};
    const more = keep(page, (name) => name !== this.#kind && !known.has(name));
    if (isDeeperThan(meta, this.#limits.maxJsonDepth) || isDeeperThan(more, this.#limits.maxJsonDepth))
      return `what is said of the list nests deeper than ${this.#limits.maxJsonDepth} (limits.maxJsonDepth)`;
    this.#length += JSON.stringify([meta, more]).length;
    if (this.#length > maxLength) return `what is said of the list is longer than ${maxLength} characters`;
    this.#meta = { ...meta, ...this.#meta };
    this.#more = { ...more, ...this.#more };
    return undefined;
  }

  get taken(): ListNotes {
    return {
      ...(Object.keys(this.#meta).length === 0 ? {} : { meta: this.#meta }),
      ...(Object.keys(this.#more).length === 0 ? {} : { more: this.#more }),
      ...(this.#ttlMs === undefined ? {} : { ttlMs: this.#ttlMs }),
      ...(this.#isPublic ? { isPublic: true } : {}),
    };
  }
}

function keep(object: JsonObject, isKept: (name: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => isKept(name)));
}
