/** Stores of approved definitions: on the bus, for all processes, or in a file for one process. */
import { approvedBucket, BusError, type Bus, type KeyValue } from '@omnibus/bus';
import { inTurn } from '@omnibus/lifecycle';
import { isObject, objectIn, type ApprovedDefinitions, type ServerName } from '@omnibus/protocol';
import { readFile, rename, writeFile } from 'node:fs/promises';

export interface Kept {
  readonly approved: ApprovedDefinitions;
  /** Of it, for `write`. */
  readonly revision: number;
}

export interface ApprovedStore {
  /** @throws {Error} if the approved definitions are unknown. */
  read(server: ServerName): Promise<Kept | undefined>;
  /**
   * @param revision of the replaced record; undefined if there is none.
   * @throws {BusError} `revision-conflict` if the store has another.
   */
  write(server: ServerName, approved: ApprovedDefinitions, revision: number | undefined): Promise<number>;
  /** Hears that another process has written something else. */
  watch(observer: (server: string, kept: Kept | undefined) => void): Promise<void>;
  stop(): void;
}

export async function openApprovedStore(bus: Bus, file: string): Promise<ApprovedStore> {
  return bus.isShared ? new BusStore(await bus.keyValue(approvedBucket)) : new FileStore(file);
}

class BusStore implements ApprovedStore {
  readonly #bucket: KeyValue<ApprovedDefinitions>;
  #watch: { close(): void } | undefined;

  constructor(bucket: KeyValue<ApprovedDefinitions>) {
    this.#bucket = bucket;
  }

  async read(server: ServerName): Promise<Kept | undefined> {
    const entry = await this.#bucket.get(server);
    return entry === undefined ? undefined : { approved: entry.value, revision: entry.revision };
  }

  write(server: ServerName, approved: ApprovedDefinitions, revision: number | undefined): Promise<number> {
    return revision === undefined
      ? this.#bucket.create(server, approved)
      : this.#bucket.update(server, approved, revision);
  }

  async watch(observer: (server: string, kept: Kept | undefined) => void): Promise<void> {
    this.#watch = await this.#bucket.watch((change) =>
      observer(change.key, change.kind === 'put' ? { approved: change.value, revision: change.revision } : undefined),
    );
  }

  stop(): void {
    this.#watch?.close();
  }
}

/** The form of the file. */
const fileVersion = 1;

/** One JSON file, for a place next to the configuration and for review of its changes. Each change is a new file in one step. */
class FileStore implements ApprovedStore {
  readonly #file: string;
  /** Changes are written one after the other. */
  readonly #next = inTurn();
  #revision = 0;

  constructor(file: string) {
    this.#file = file;
  }

  async read(server: ServerName): Promise<Kept | undefined> {
    const approved = (await this.#servers()).get(server);
    return approved === undefined ? undefined : { approved, revision: this.#revision };
  }

  write(server: ServerName, approved: ApprovedDefinitions): Promise<number> {
    return this.#next(async () => {
      const servers = await this.#servers();
      servers.set(server, approved);
      const text = JSON.stringify(
        {
          version: fileVersion,
          servers: Object.fromEntries([...servers].toSorted(([one], [other]) => (one < other ? -1 : 1))),
        },
        null,
        2,
      );
      await writeFile(`${this.#file}.new`, `${text}\n`);
      await rename(`${this.#file}.new`, this.#file);
      this.#revision += 1;
      return this.#revision;
    });
  }

  watch(): Promise<void> {
    return Promise.resolve();
  }

  stop(): void {
    // Nothing is followed.
  }

  async #servers(): Promise<Map<string, ApprovedDefinitions>> {
    let text: string;
    try {
      text = await readFile(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
      throw error;
    }
    const kept = objectIn(text);
    if (
      kept?.['version'] !== fileVersion ||
      !isObject(kept['servers']) ||
      !Object.values(kept['servers']).every((each) => approvedBucket.shape?.(each) === 'fits')
    ) {
      throw new BusError('undecodable', `${this.#file} is not a file of approved definitions that this version reads`);
    }
    return new Map(Object.entries(kept['servers']) as unknown as readonly (readonly [string, ApprovedDefinitions])[]);
  }
}
