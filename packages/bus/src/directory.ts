/**
 * The users and groups that providers keep up to date by SCIM. Every process that knows callers watches the bucket, and finds each user by its names in
 * memory. Only edges write it.
 */
import type { DirectoryEntry, DirectoryGroup, DirectoryUser } from '@omnibus/protocol';
import type { Bus, KeyValue, KeyValueChange, KeyValueEntry, Watch } from './bus.ts';
import { BusError } from './errors.ts';
import { directoryBucket } from './subjects.ts';

/** Longest wait for what another edge has stored: the provider waits for its answer. */
const knownMs = 10_000;

export interface Stored<Entry> {
  readonly entry: Entry;
  /** Grows with every change. */
  readonly revision: number;
}
export type StoredUser = Stored<DirectoryUser>;
export type StoredGroup = Stored<DirectoryGroup>;

/** The entries of one directory, by their ids and by the names that requests and tokens have. */
class Entries {
  readonly users = new Map<string, StoredUser>();
  readonly groups = new Map<string, StoredGroup>();
  readonly #byUserName = new Map<string, string>();
  readonly #byExternalId = new Map<string, string>();
  readonly #members = new Map<string, Set<string>>();

  put(stored: Stored<DirectoryEntry>): void {
    const { entry, revision } = stored;
    this.remove(entry.id);
    if (entry.kind === 'group') {
      this.groups.set(entry.id, { entry, revision });
      return;
    }
    this.users.set(entry.id, { entry, revision });
    this.#byUserName.set(entry.userName.toLowerCase(), entry.id);
    if (entry.externalId !== undefined) this.#byExternalId.set(entry.externalId, entry.id);
    for (const group of entry.groups) {
      const members = this.#members.get(group) ?? new Set();
      this.#members.set(group, members.add(entry.id));
    }
  }

  remove(id: string): void {
    this.groups.delete(id);
    const user = this.users.get(id)?.entry;
    if (user === undefined) return;
    this.users.delete(id);
    const name = user.userName.toLowerCase();
    if (this.#byUserName.get(name) === id) this.#byUserName.delete(name);
    const { externalId } = user;
    if (externalId !== undefined && this.#byExternalId.get(externalId) === id) this.#byExternalId.delete(externalId);
    for (const group of user.groups) {
      const members = this.#members.get(group);
      members?.delete(id);
      if (members?.size === 0) this.#members.delete(group);
    }
  }

  /** User names are the same in capital and small letters (RFC 7643, 4.1.1); ids of the provider are not. */
  find(by: 'userName' | 'externalId', value: string): StoredUser | undefined {
    const id = by === 'userName' ? this.#byUserName.get(value.toLowerCase()) : this.#byExternalId.get(value);
    return id === undefined ? undefined : this.users.get(id);
  }

  members(group: string): readonly string[] {
    return [...(this.#members.get(group) ?? [])];
  }
}

export class Directory {
  readonly #bucket: KeyValue<DirectoryEntry>;
  readonly #directories = new Map<string, Entries>();
  readonly #listeners = new Set<(change: KeyValueChange<DirectoryEntry>) => void>();
  #watch: Watch | undefined;

  static async open(bus: Bus): Promise<Directory> {
    const directory = new Directory(await bus.keyValue<DirectoryEntry>(directoryBucket));
    directory.#watch = await directory.#bucket.watch((change) => {
      if (change.kind === 'put') directory.#put(change);
      else {
        const [of = '', id = ''] = change.key.split('.');
        directory.#of(of).remove(id);
      }
      for (const listener of directory.#listeners) listener(change);
    });
    return directory;
  }

  private constructor(bucket: KeyValue<DirectoryEntry>) {
    this.#bucket = bucket;
  }

  /** Calls back after every change. */
  onChanged(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** In the order of their creation. */
  users(directory: string): readonly StoredUser[] {
    return inOrder(this.#of(directory).users.values());
  }

  groups(directory: string): readonly StoredGroup[] {
    return inOrder(this.#of(directory).groups.values());
  }

  /** Users and groups, to compare with bounds. */
  sizesOf(directory: string): { readonly users: number; readonly groups: number } {
    const { users, groups } = this.#of(directory);
    return { users: users.size, groups: groups.size };
  }

  find(directory: string, by: 'userName' | 'externalId', value: string): DirectoryUser | undefined {
    return this.#of(directory).find(by, value)?.entry;
  }

  /** The name of a group in rules; undefined for one that was deleted. */
  groupName(directory: string, id: string): string | undefined {
    return this.#of(directory).groups.get(id)?.entry.displayName;
  }

  userNamed(directory: string, id: string): string | undefined {
    return this.#of(directory).users.get(id)?.entry.userName;
  }

  /** Ids of the users of a group. */
  members(directory: string, group: string): readonly string[] {
    return this.#of(directory).members(group);
  }

  /** The latest value, from the store: another edge may have written it a moment ago. */
  async get(directory: string, id: string): Promise<Stored<DirectoryEntry> | undefined> {
    const found = await this.#bucket.get(`${directory}.${id}`);
    return found === undefined ? undefined : { entry: found.value, revision: found.revision };
  }

  /**
   * Resolves when this process knows an entry as it was stored with a revision, and with it what all edges have stored before.
   * @throws {BusError} `timeout`; `revision-conflict` when the entry was deleted since.
   */
  async known(directory: string, id: string, revision: number): Promise<void> {
    const { users, groups } = this.#of(directory);
    const isKnown = (): boolean => ((groups.get(id) ?? users.get(id))?.revision ?? 0) >= revision;
    if (isKnown()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const deleted = (): void => reject(new BusError('revision-conflict', `the entry ${id} was deleted meanwhile`));
    const look = (change: KeyValueChange<DirectoryEntry>): void => {
      if (isKnown()) resolve();
      else if (change.kind === 'delete' && change.key === `${directory}.${id}`) deleted();
    };
    const late = (): void =>
      reject(new BusError('timeout', `the entry ${id} is stored, and this process has not heard of it`));
    const timer = setTimeout(late, knownMs);
    this.#listeners.add(look);
    // This process may have heard of the deletion before it waits.
    this.get(directory, id).then((found) => {
      if (found === undefined) deleted();
    }, reject);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#listeners.delete(look);
    }
  }

  /** @throws {BusError} `revision-conflict` when the id is taken. */
  async create(entry: DirectoryEntry): Promise<number> {
    return this.#wrote(entry, await this.#bucket.create(keyOf(entry), entry));
  }

  /** @throws {BusError} `revision-conflict` when another edge has changed the entry. */
  async update(entry: DirectoryEntry, revision: number): Promise<number> {
    return this.#wrote(entry, await this.#bucket.update(keyOf(entry), entry, revision));
  }

  async delete(entry: DirectoryEntry, revision: number): Promise<void> {
    await this.#bucket.delete(keyOf(entry), revision);
    this.#of(entry.directory).remove(entry.id);
  }

  close(): void {
    this.#watch?.close();
  }

  /** At once, so that the next request at this edge meets it. */
  #wrote(value: DirectoryEntry, revision: number): number {
    this.#put({ key: keyOf(value), value, revision });
    return revision;
  }

  #put({ value, revision }: KeyValueEntry<DirectoryEntry>): void {
    const entries = this.#of(value.directory);
    const before = (entries.users.get(value.id) ?? entries.groups.get(value.id))?.revision ?? 0;
    // What this edge wrote may be newer than what the watch has passed on.
    if (revision >= before) entries.put({ entry: value, revision });
  }

  #of(directory: string): Entries {
    let entries = this.#directories.get(directory);
    if (entries === undefined) this.#directories.set(directory, (entries = new Entries()));
    return entries;
  }
}

const keyOf = ({ directory, id }: DirectoryEntry): string => `${directory}.${id}`;

function inOrder<Entry extends DirectoryEntry>(all: Iterable<Stored<Entry>>): readonly Stored<Entry>[] {
  return [...all].toSorted(
    (one, other) => one.entry.created - other.entry.created || (one.entry.id < other.entry.id ? -1 : 1),
  );
}
