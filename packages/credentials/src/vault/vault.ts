/** Stores the tokens of users for servers, and the data to get them. Everything in the store is encrypted. */
import { hash } from 'node:crypto';
import type { Envelopes, Place } from './envelope.ts';
import type { KeyName, VaultKeys } from './key-ring.ts';

/**
 * Where envelopes are stored: a bucket of the bus, or a file. An error of kind `revision-conflict` means that another process has changed the entry
 * first.
 */
export interface VaultStore {
  get(key: string): Promise<{ readonly value: string; readonly revision: number } | undefined>;
  create(key: string, value: string): Promise<number>;
  update(key: string, value: string, revision: number): Promise<number>;
  delete(key: string, revision?: number): Promise<void>;
  watch(observer: (change: { readonly key: string }) => void): Promise<{ close(): void }>;
}

export interface Kept<Value> {
  readonly value: Value;
  readonly revision: number;
}

/** An entry that no key can decrypt. */
export interface Lost {
  readonly place: Place;
  /** Name of the key that is missing; undefined for a text that is no envelope. */
  readonly key: string | undefined;
  readonly issuer: string | undefined;
}

/** The state of a vault, without secrets. */
export interface Survey {
  /** Name of the key that everything is encrypted under; undefined when the store names none. */
  readonly current: string | undefined;
  /** The keys of this process, the newest first, with the number of entries under each. */
  readonly keys: readonly (KeyName & { readonly entries: number })[];
  readonly lost: readonly Lost[];
}

export interface Resealed {
  /** Entries that were encrypted again. */
  readonly renewed: number;
  /** Entries that no key can decrypt; they are left as they are. */
  readonly lost: number;
}

export interface Following {
  /** Called when entries were encrypted again, or cannot be decrypted. */
  readonly resealed: (done: Resealed, key: string) => void;
  readonly failed: (error: unknown) => void;
}

/** Attempts at a change while others change the same entry. */
const maxAttempts = 8;
/** The key of the store under which the current key's name is stored. Keys of places have dots. */
const currentKey = 'current-key';

export class Vault {
  readonly #store: VaultStore;
  readonly #envelopes: Envelopes;
  readonly #unreadable: (key: string) => void;
  readonly #observers = new Set<(place: Place) => void>();
  /** Entries that could not be decrypted when they were read last, by key; there are as many as users have connected servers, at most. */
  readonly #lost = new Map<string, Lost>();
  /** The latest round of re-encryption; the next one begins after it. */
  #resealing: Promise<unknown> = Promise.resolve();

  /** @param unreadable called for each entry that no key can decrypt. */
  constructor(store: VaultStore, envelopes: Envelopes, unreadable: (key: string) => void) {
    this.#store = store;
    this.#envelopes = envelopes;
    this.#unreadable = unreadable;
  }

  /** Reads an entry. One that cannot be decrypted, since its key is gone, counts as missing. */
  async get<Value>(place: Place): Promise<Kept<Value> | undefined> {
    const key = keyOf(place);
    const entry = await this.#store.get(key);
    if (entry === undefined) return undefined;
    const text = this.#envelopes.open(place, entry.value);
    if (text === undefined) this.#noteLost(key, place, entry.value);
    else this.#lost.delete(key);
    return text === undefined ? undefined : { value: JSON.parse(text) as Value, revision: entry.revision };
  }

  /** Replaces the entry of a given revision. @returns the new revision; undefined when another process has changed the entry meanwhile. */
  update(place: Place, issuer: string, value: unknown, revision: number): Promise<number | undefined> {
    return won(this.#store.update(keyOf(place), this.#envelopes.seal(place, issuer, JSON.stringify(value)), revision));
  }

  /** Writes an entry, whether or not there is one. */
  async put(place: Place, issuer: string, value: unknown): Promise<void> {
    const key = keyOf(place);
    const sealed = this.#envelopes.seal(place, issuer, JSON.stringify(value));
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const entry = await this.#store.get(key);
      if (
        (await won(
          entry === undefined ? this.#store.create(key, sealed) : this.#store.update(key, sealed, entry.revision),
        )) === undefined
      )
        continue;
      this.#lost.delete(key);
      return;
    }
    throw new Error('the value was changed by others each time');
  }

  /** Reads and removes an entry that may be used once. @param revision that the entry must have. @returns undefined when another process has taken it. */
  async take<Value>(place: Place, revision?: number): Promise<Value | undefined> {
    const kept = await this.get<Value>(place);
    if (kept === undefined || (revision !== undefined && kept.revision !== revision)) return undefined;
    return (await won(this.#store.delete(keyOf(place), kept.revision).then(() => 1))) === undefined
      ? undefined
      : kept.value;
  }

  async remove(place: Place): Promise<void> {
    await this.#store.delete(keyOf(place));
    this.#lost.delete(keyOf(place));
  }

  /** Removes an entry that no key can decrypt. @returns its unencrypted parts; undefined when there is none, or it can be decrypted. */
  async discard(place: Place): Promise<Lost | undefined> {
    const key = keyOf(place);
    const entry = await this.#store.get(key);
    if (entry === undefined || this.#envelopes.open(place, entry.value) !== undefined) return undefined;
    if ((await won(this.#store.delete(key, entry.revision).then(() => 1))) === undefined) return undefined;
    this.#lost.delete(key);
    return { place, key: undefined, issuer: undefined, ...this.#envelopes.labelOf(entry.value) };
  }

  /** Calls the observer for each place with an entry, at each change, and when other keys can or cannot decrypt it. */
  async watch(observer: (place: Place) => void): Promise<{ close(): void }> {
    const watching = await this.#store.watch(({ key }) => {
      const place = placeOf(key);
      if (place !== undefined) observer(place);
    });
    this.#observers.add(observer);
    return {
      close: () => {
        this.#observers.delete(observer);
        watching.close();
      },
    };
  }

  /** All places with an entry. */
  async places(): Promise<readonly Place[]> {
    const places: Place[] = [];
    (await this.watch((place) => places.push(place))).close();
    return places;
  }

  /** Entries that could not be decrypted when they were read last. */
  get lost(): readonly Lost[] {
    return [...this.#lost.values()];
  }

  /** The entry of a place, where it cannot be decrypted. */
  async lostAt(place: Place): Promise<Lost | undefined> {
    return (await this.get(place)) === undefined ? this.#lost.get(keyOf(place)) : undefined;
  }

  /**
   * Encrypts under the current key of the store, now and after each change of it, and re-encrypts entries under older keys, including those of an
   * interrupted process.
   */
  async follow(following: Following): Promise<{ close(): void }> {
    const turn = async (): Promise<void> => {
      const named = await this.#store.get(currentKey);
      if (named === undefined) return;
      this.#envelopes.keys.turnTo(named.value);
      following.resealed(await this.#resealAfterLast(), this.#envelopes.keys.sealing.id);
    };
    await won(this.#store.create(currentKey, this.#envelopes.keys.newest.id));
    await turn();
    let seen = this.#envelopes.keys.current;
    return this.#store.watch(({ key }) => {
      const place = placeOf(key);
      if (place !== undefined && this.#lost.has(key)) this.get(place).catch(following.failed);
      if (key !== currentKey) return;
      this.#store
        .get(currentKey)
        .then((named) => {
          if (named === undefined || named.value === seen) return undefined;
          seen = named.value;
          return turn();
        })
        .catch(following.failed);
    });
  }

  /** Applies the keys of a changed configuration. Watchers are notified of entries that can be decrypted again, and of those that no longer can. */
  async takeKeys(keys: VaultKeys): Promise<Resealed> {
    const before = new Map(this.#lost);
    this.#envelopes.keys.take(keys);
    const done = await this.#resealAfterLast();
    const changed = [
      ...[...before].filter(([key]) => !this.#lost.has(key)),
      ...[...this.#lost].filter(([key]) => !before.has(key)),
    ];
    for (const [, { place }] of changed) for (const observer of this.#observers) observer(place);
    return done;
  }

  /**
   * Makes a key the current one for all processes, and re-encrypts all entries. It may be repeated at any time, which continues an interrupted round.
   * @throws {Error} in words for the operator when this process does not have that key.
   */
  async rotate(id: string): Promise<Resealed> {
    if (this.#envelopes.keys.find(id) === undefined) throw new Error(`the vault has no key ${JSON.stringify(id)} here`);
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const named = await this.#store.get(currentKey);
      if (
        named?.value === id ||
        (await won(
          named === undefined ? this.#store.create(currentKey, id) : this.#store.update(currentKey, id, named.revision),
        )) !== undefined
      ) {
        this.#envelopes.keys.turnTo(id);
        return this.#resealAfterLast();
      }
    }
    throw new Error('another process changes the key of the vault at the same time');
  }

  async survey(): Promise<Survey> {
    const counts = new Map<string, number>();
    const lost: Lost[] = [];
    for (const place of await this.places()) {
      const entry = await this.#store.get(keyOf(place));
      if (entry === undefined) continue;
      const label = this.#envelopes.labelOf(entry.value);
      if (label === undefined || this.#envelopes.open(place, entry.value) === undefined)
        lost.push({ place, key: label?.key, issuer: label?.issuer });
      else counts.set(label.key, (counts.get(label.key) ?? 0) + 1);
    }
    const { current, names } = this.#envelopes.keys;
    return { current, keys: names.map((name) => ({ ...name, entries: counts.get(name.id) ?? 0 })), lost };
  }

  #resealAfterLast(): Promise<Resealed> {
    const done = this.#resealing.then(() => this.#reseal());
    this.#resealing = done.catch(() => undefined);
    return done;
  }

  async #reseal(): Promise<Resealed> {
    let [renewed, lost] = [0, 0];
    for (const place of await this.places()) {
      const key = keyOf(place);
      const entry = await this.#store.get(key);
      if (entry === undefined) continue;
      const text = this.#envelopes.renewed(place, entry.value);
      // If the entry is changed meanwhile, that change encrypts it under the current key.
      if (text !== undefined && (await won(this.#store.update(key, text, entry.revision))) !== undefined) renewed += 1;
      if (text !== undefined || this.#envelopes.open(place, entry.value) !== undefined) this.#lost.delete(key);
      else {
        lost += 1;
        this.#noteLost(key, place, entry.value);
      }
    }
    return { renewed, lost };
  }

  #noteLost(key: string, place: Place, value: string): void {
    this.#lost.set(key, { place, key: undefined, issuer: undefined, ...this.#envelopes.labelOf(value) });
    this.#unreadable(key);
  }
}

async function won(write: Promise<number>): Promise<number | undefined> {
  try {
    return await write;
  } catch (error) {
    if ((error as { readonly kind?: unknown }).kind === 'revision-conflict') return undefined;
    throw error;
  }
}

/** The place of an entry that can be found only with the complete secret. */
export function placeOfSecret(purpose: Place['purpose'], secret: string): Place {
  return { purpose, server: '-', principal: hash('sha256', secret, 'base64url') };
}

function keyOf({ purpose, server, principal }: Place): string {
  return `${purpose}.${server}.${principal}`;
}

function placeOf(key: string): Place | undefined {
  const [purpose, server, principal, ...more] = key.split('.');
  return server === undefined || principal === undefined || more.length > 0
    ? undefined
    : { purpose: purpose as Place['purpose'], server, principal };
}
