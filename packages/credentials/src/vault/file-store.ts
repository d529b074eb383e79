/** A vault of one process: a file for its owner alone, written anew as a whole with each change. */
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isObject } from '@omnibus/protocol';
import type { VaultStore } from './vault.ts';

class Conflict extends Error {
  readonly kind = 'revision-conflict';
}

export class FileStore implements VaultStore {
  readonly #path: string;
  readonly #entries = new Map<string, { readonly value: string; readonly revision: number }>();
  readonly #watchers = new Set<(change: { readonly key: string }) => void>();
  #revision = 0;

  /** @throws {Error} in words, when there is a file that cannot be read. */
  constructor(path: string) {
    this.#path = path;
    for (const [key, value] of Object.entries(read(path))) this.#entries.set(key, { value: String(value), revision: ++this.#revision });
  }

  get(key: string): Promise<{ readonly value: string; readonly revision: number } | undefined> {
    return Promise.resolve(this.#entries.get(key));
  }

  async create(key: string, value: string): Promise<number> {
    if (this.#entries.has(key)) throw new Conflict(`${key} exists`);
    return Promise.resolve(this.#put(key, value));
  }

  async update(key: string, value: string, revision: number): Promise<number> {
    if (this.#entries.get(key)?.revision !== revision) throw new Conflict(`${key} is not at revision ${revision}`);
    return Promise.resolve(this.#put(key, value));
  }

  async delete(key: string, revision?: number): Promise<void> {
    if (revision !== undefined && this.#entries.get(key)?.revision !== revision) throw new Conflict(`${key} is not at revision ${revision}`);
    if (this.#entries.delete(key)) this.#write(key);
    return Promise.resolve();
  }

  watch(observer: (change: { readonly key: string }) => void): Promise<{ close(): void }> {
    this.#watchers.add(observer);
    for (const key of [...this.#entries.keys()]) observer({ key });
    return Promise.resolve({ close: () => void this.#watchers.delete(observer) });
  }

  #put(key: string, value: string): number {
    this.#revision += 1;
    this.#entries.set(key, { value, revision: this.#revision });
    this.#write(key);
    return this.#revision;
  }

  #write(key: string): void {
    const written = `${this.#path}.new`;
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    writeFileSync(written, `${JSON.stringify(Object.fromEntries([...this.#entries].map(([name, { value }]) => [name, value])), null, 2)}\n`, { mode: 0o600 });
    chmodSync(written, 0o600);
    renameSync(written, this.#path);
    for (const watcher of this.#watchers) queueMicrotask(() => watcher({ key }));
  }
}

function read(path: string): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error(`the vault ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`, { cause: error });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Said below.
  }
  throw new Error(`the vault ${path} is no file of a vault: move it away, and everybody signs in again`);
}
