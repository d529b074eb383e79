/** Stores the tokens of users in whose names servers are called, and what is needed to get them. Everything in the store is encrypted. */
import { hash } from 'node:crypto';
import type { Envelopes, Place } from './envelope.ts';

/** Where envelopes are stored: a bucket of the bus, or a file. An error of kind `revision-conflict` says that somebody else has changed the entry first. */
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

/** Attempts at a change while others change the same entry. */
const maxAttempts = 8;

export class Vault {
  readonly #store: VaultStore;
  readonly #envelopes: Envelopes;
  readonly #unreadable: (key: string) => void;

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
    if (text === undefined) this.#unreadable(key);
    return text === undefined ? undefined : { value: JSON.parse(text) as Value, revision: entry.revision };
  }

  /** Replaces the entry of a given revision. @returns the new revision; undefined when somebody else has changed the entry meanwhile. */
  update(place: Place, issuer: string, value: unknown, revision: number): Promise<number | undefined> {
    return won(this.#store.update(keyOf(place), this.#envelopes.seal(place, issuer, JSON.stringify(value)), revision));
  }

  /** Writes an entry, whether or not there is one. */
  async put(place: Place, issuer: string, value: unknown): Promise<void> {
    const key = keyOf(place);
    const sealed = this.#envelopes.seal(place, issuer, JSON.stringify(value));
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const entry = await this.#store.get(key);
      if (await won(entry === undefined ? this.#store.create(key, sealed) : this.#store.update(key, sealed, entry.revision)) !== undefined) return;
    }
    throw new Error('the value was changed by others each time');
  }

  /** Reads and removes an entry that may be used once. @param revision that the entry must have. @returns undefined when somebody else has taken it. */
  async take<Value>(place: Place, revision?: number): Promise<Value | undefined> {
    const kept = await this.get<Value>(place);
    if (kept === undefined || (revision !== undefined && kept.revision !== revision)) return undefined;
    return await won(this.#store.delete(keyOf(place), kept.revision).then(() => 1)) === undefined ? undefined : kept.value;
  }

  async remove(place: Place): Promise<void> {
    await this.#store.delete(keyOf(place));
  }

  /** Calls the observer for each place with an entry, and at each change. */
  watch(observer: (place: Place) => void): Promise<{ close(): void }> {
    return this.#store.watch(({ key }) => {
      const place = placeOf(key);
      if (place !== undefined) observer(place);
    });
  }

  /** All places with an entry. */
  async places(): Promise<readonly Place[]> {
    const places: Place[] = [];
    (await this.watch((place) => places.push(place))).close();
    return places;
  }

  /** Encrypts all entries under the newest key. @returns how many were renewed, and how many no key can decrypt. */
  async rotate(): Promise<{ readonly renewed: number; readonly lost: number }> {
    let [renewed, lost] = [0, 0];
    for (const place of await this.places()) {
      const entry = await this.#store.get(keyOf(place));
      if (entry === undefined) continue;
      const text = this.#envelopes.renewed(place, entry.value);
      // If somebody changes the entry meanwhile, it is encrypted under the newest key by that change.
      if (text !== undefined && await won(this.#store.update(keyOf(place), text, entry.revision)) !== undefined) renewed += 1;
      else if (text === undefined && this.#envelopes.open(place, entry.value) === undefined) lost += 1;
    }
    return { renewed, lost };
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

/** The place of an entry that can be found only with the whole secret. */
export function placeOfSecret(purpose: Place['purpose'], secret: string): Place {
  return { purpose, server: '-', principal: hash('sha256', secret, 'base64url') };
}

function keyOf({ purpose, server, principal }: Place): string {
  return `${purpose}.${server}.${principal}`;
}

function placeOf(key: string): Place | undefined {
  const [purpose, server, principal, ...more] = key.split('.');
  return server === undefined || principal === undefined || more.length > 0 ? undefined : { purpose: purpose as Place['purpose'], server, principal };
}
