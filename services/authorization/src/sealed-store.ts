/** A bucket with encrypted values, under keys that reveal nothing. */
import { hash } from 'node:crypto';
import { changeValue, isConflict, type KeyValue } from '@omnibus/bus';
import type { JsonObject } from '@omnibus/protocol';
import type { Secrets } from './secrets.ts';

export interface Kept<Value> {
  readonly value: Value;
  readonly revision: number;
}

export class SealedStore {
  readonly #bucket: KeyValue<string>;
  readonly #name: string;
  readonly #secrets: Secrets;

  constructor(name: string, bucket: KeyValue<string>, secrets: Secrets) {
    this.#name = name;
    this.#bucket = bucket;
    this.#secrets = secrets;
  }

  /** A value that cannot be decrypted, for example because its key was removed, counts as missing. */
  async get<Value = JsonObject>(kind: string, id: string): Promise<Kept<Value> | undefined> {
    const key = keyOf(kind, id);
    const entry = await this.#bucket.get(key);
    const text = entry === undefined ? undefined : this.#secrets.open(this.#place(key), entry.value);
    return entry === undefined || text === undefined
      ? undefined
      : { value: JSON.parse(text) as Value, revision: entry.revision };
  }

  async put(kind: string, id: string, value: unknown): Promise<void> {
    const key = keyOf(kind, id);
    await this.#bucket.put(key, this.#sealed(key, value));
  }

  /** @returns false when another has changed it meanwhile. */
  async update(kind: string, id: string, value: unknown, revision: number): Promise<boolean> {
    const key = keyOf(kind, id);
    return won(() => this.#bucket.update(key, this.#sealed(key, value), revision));
  }

  /** Changes a value, and tries again when others change it at the same time. @param make gives the new value; undefined leaves the old one. */
  async change<Value>(kind: string, id: string, make: (value: Value | undefined) => Value | undefined): Promise<void> {
    const key = keyOf(kind, id);
    await changeValue(this.#bucket, key, (sealed) => {
      const text = sealed === undefined ? undefined : this.#secrets.open(this.#place(key), sealed);
      const value = make(text === undefined ? undefined : (JSON.parse(text) as Value));
      return value === undefined ? sealed : this.#sealed(key, value);
    });
  }

  async delete(kind: string, id: string): Promise<void> {
    await this.#bucket.delete(keyOf(kind, id));
  }

  #sealed(key: string, value: unknown): string {
    return this.#secrets.seal(this.#place(key), JSON.stringify(value));
  }

  /** The value's place is part of the encryption, so a value that is moved to another key cannot be decrypted. */
  #place(key: string): string {
    return `${this.#name} ${key}`;
  }
}

async function won(write: () => Promise<number>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}

/** Ids may be secrets, such as codes, or addresses of clients, which do not fit into a key; so keys have digests. */
function keyOf(kind: string, id: string): string {
  return `${kind}.${hash('sha256', id, 'base64url')}`;
}
