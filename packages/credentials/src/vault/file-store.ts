/**
 * A vault in a file that only its owner can read, rewritten as a whole with each change. Several processes of one user may use it: each takes the lock beside
 * the file, reads the changes of others, and writes.
 */
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import { objectIn } from '@omnibus/protocol';
import { renameDurably, writeDurably } from './durable.ts';
import { FileLock } from './file-lock.ts';
import type { VaultStore } from './vault.ts';

class Conflict extends Error {
  readonly kind = 'revision-conflict';
}

interface Entry {
  readonly value: string;
  /** Revision of the entry, counted in this process only: other processes have other numbers. */
  readonly revision: number;
}

type Observer = (change: { readonly key: string }) => void;

export class FileStore implements VaultStore {
  readonly #path: string;
  readonly #entries = new Map<string, Entry>();
  readonly #watchers = new Set<Observer>();
  #revision = 0;
  /** Stamp of the file that was read last: if it differs, another process has written the file. */
  #seen = '';
  /** The last change, after which the next one begins: one at a time in this process. */
  #last: Promise<unknown> = Promise.resolve();
  #following: FSWatcher | undefined;

  /**
   * @param path of the file; a symbolic link to it stays one.
   * @throws {Error} with a message for the operator when there is a file that cannot be read.
   */
  constructor(path: string) {
    this.#path = existsSync(path) ? realpathSync(path) : path;
    this.#refresh();
  }

  async get(key: string): Promise<Entry | undefined> {
    this.#refresh();
    return Promise.resolve(this.#entries.get(key));
  }

  create(key: string, value: string): Promise<number> {
    return this.#change(key, (entry) => {
      if (entry !== undefined) throw new Conflict(`${key} exists`);
      return value;
    });
  }

  update(key: string, value: string, revision: number): Promise<number> {
    return this.#change(key, (entry) => {
      if (entry?.revision !== revision) throw new Conflict(`${key} is not at revision ${revision}`);
      return value;
    });
  }

  async delete(key: string, revision?: number): Promise<void> {
    await this.#change(key, (entry) => {
      if (revision !== undefined && entry?.revision !== revision)
        throw new Conflict(`${key} is not at revision ${revision}`);
      return undefined;
    });
  }

  watch(observer: Observer): Promise<{ close(): void }> {
    this.#watchers.add(observer);
    this.#follow();
    for (const key of [...this.#entries.keys()]) observer({ key });
    return Promise.resolve({
      close: () => {
        this.#watchers.delete(observer);
        if (this.#watchers.size > 0) return;
        this.#following?.close();
        this.#following = undefined;
      },
    });
  }

  /** @param make the new value, made from the current entry; undefined removes it. @returns the revision. @throws {Error} {Conflict} */
  #change(key: string, make: (entry: Entry | undefined) => string | undefined): Promise<number> {
    const changing = this.#last.then(() => this.#changeNow(key, make));
    this.#last = changing.catch(() => undefined);
    return changing;
  }

  async #changeNow(key: string, make: (entry: Entry | undefined) => string | undefined): Promise<number> {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    for (;;) {
      const lock = await FileLock.take(`${this.#path}.lock`);
      try {
        this.#refresh();
        const before = this.#entries.get(key);
        const value = make(before);
        if (value === undefined && before === undefined) return this.#revision;
        const all = new Map([...this.#entries].map(([name, entry]) => [name, entry.value]));
        if (value === undefined) all.delete(key);
        else all.set(key, value);
        // If another process took the lock meanwhile, since this one was delayed, it repeats the change on the other's state.
        if (this.#write(all, lock)) return this.#note(key, value);
      } finally {
        lock.leave();
      }
    }
  }

  #write(all: ReadonlyMap<string, string>, lock: FileLock): boolean {
    const written = `${this.#path}.${process.pid}.new`;
    // A rotated refresh token that a loss of power takes away is lost for good: its issuer takes the previous one no more.
    writeDurably(written, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
    const isHeld = lock.isHeld;
    if (isHeld) renameDurably(written, this.#path);
    else rmSync(written, { force: true });
    if (isHeld) this.#seen = stampOf(this.#path);
    return isHeld;
  }

  /** Reads what another process has written. @throws {Error} as long as the file cannot be read: entries in memory must not replace it. */
  #refresh(): void {
    const stamp = stampOf(this.#path);
    if (stamp === this.#seen) return;
    const all = new Map(Object.entries(read(this.#path)).map(([key, value]) => [key, String(value)]));
    this.#seen = stamp;
    for (const [key, value] of all) if (this.#entries.get(key)?.value !== value) this.#note(key, value);
    for (const key of [...this.#entries.keys()]) if (!all.has(key)) this.#note(key, undefined);
  }

  #note(key: string, value: string | undefined): number {
    this.#revision += 1;
    if (value === undefined) this.#entries.delete(key);
    else this.#entries.set(key, { value, revision: this.#revision });
    for (const watcher of this.#watchers) queueMicrotask(() => watcher({ key }));
    return this.#revision;
  }

  /** Watches the file for changes by others. On systems without file watches they are seen at the next read. */
  #follow(): void {
    if (this.#following !== undefined) return;
    const name = basename(this.#path);
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      this.#following = watch(dirname(this.#path), { persistent: false }, (_event, changed) => {
        if (changed !== name) return;
        try {
          this.#refresh();
        } catch {
          // The next read reports the error.
        }
      }).on('error', () => undefined);
    } catch {
      this.#following = undefined; // For example, the system has no more file watches.
    }
  }
}

/** Identifies the file at a path: each write makes a new file, with another stamp. */
function stampOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? 'none' : `${found.ino} ${found.mtimeNs} ${found.size}`;
}

function read(path: string): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error(`the vault ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`, {
      cause: error,
    });
  }
  const value = objectIn(text);
  if (value !== undefined) return value;
  throw new Error(`the vault ${path} is no file of a vault: move it away, and everybody signs in again`);
}
