/**
 * Buckets on JetStream. A value that is larger than one NATS message is stored in parts in a second bucket, under a generation that its manifest in the
 * first bucket names, so that readers never see half of it. Each value names the format it is written in; a value in a format that cannot be read here
 * counts as present, and is not overwritten.
 */
import { JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomBytes } from 'node:crypto';
import { formatProblem, isObject, isRead, isToken, ownFormats } from '@omnibus/protocol';
import { decode, encode, maxMessageBytes } from '../codec.ts';
import { BusError, isConflict } from '../errors.ts';
import type { Shape } from '../shapes/shape.ts';
import { minPayloadBytes } from './blobs.ts';
import type { Streams } from './jetstream.ts';
import { Marks } from './marks.ts';
import type { NatsPlace } from './place.ts';
import { Store, type StoredEntry } from './store.ts';
import { bucketStreams, partsOf } from './streams.ts';
import { followStore } from './tail.ts';
import type { Bucket, KeyValue, KeyValueChange, KeyValueEntry, OnFault, Watch } from '../bus.ts';

/** JetStream's "wrong last sequence", for the two ways in which it is known: another changed the key. */
const wrongLastSequence: readonly number[] = [10_071, 10_164];
/** JetStream's "maximum bytes exceeded", and its failure of a store. */
const storeFailed: readonly number[] = [10_047, 10_077];
/** Leaves room for the manifest and headers under the default `max_payload` of 1 MiB, also where NATS writes a value as base64. */
const largestPartBytes = 512 * 1024;
/** Bound on the parts of one value: as many bytes as one message may have. */
const maxParts = maxMessageBytes / (minPayloadBytes / 2);

type Stored = { readonly value: unknown } | { readonly generation: string; readonly parts: number };

/** The value was replaced while it was read. */
const missing = Symbol('missing');

/** @throws {BusError} `newer-format`; `undecodable` for a message that is neither a value nor a manifest of one. */
function readStored(stored: unknown): Stored {
  if (isObject(stored)) {
    const { format, generation, parts } = stored;
    if (!Number.isSafeInteger(format)) throw new BusError('undecodable', 'it does not name its format');
    if (!isRead(format as number))
      throw new BusError('newer-format', formatProblem(`it is written in format ${String(format)}`));
    if ('value' in stored) return { value: stored['value'] };
    if (
      typeof generation === 'string' &&
      isToken(generation) &&
      Number.isInteger(parts) &&
      (parts as number) > 0 &&
      (parts as number) <= maxParts
    )
      return { generation, parts: parts as number };
  }
  throw new BusError('undecodable', 'it is neither a value nor a manifest of one');
}

/** A part of a value is not there, though the value was not replaced: its stream was lost, or is being restored. */
class MissingPart extends BusError {
  constructor(what: string) {
    super('undecodable', what);
  }
}

interface Opening {
  readonly connection: NatsConnection;
  readonly place: NatsPlace;
  readonly streams: Streams;
  readonly onFault: OnFault;
}

/** Opens a bucket. Its streams are created, where they are missing and this process may; else it waits for the set-up. */
export async function openKeyValue<Value>(
  { connection, place, streams, onFault }: Opening,
  bucket: Bucket<Value>,
): Promise<KeyValue<Value>> {
  const { name, isSmall = false, shape, forgetsMs, isRewritten = false } = bucket;
  for (const wanted of bucketStreams(place, bucket as Bucket<never>)) await streams.open(wanted);
  const storeOf = (of: string): Store => new Store({ connection, place, streams, bucket: of });
  const values = storeOf(name);
  const opened = new NatsKeyValue<Value>({
    name,
    connection,
    values,
    parts: isSmall ? undefined : storeOf(partsOf(name)),
    marks: forgetsMs === undefined ? undefined : new Marks(values, forgetsMs),
    isRewritten,
    shape,
    partBytes: Math.min(largestPartBytes, (connection.info?.max_payload ?? largestPartBytes) / 2),
    onFault,
  });
  if (isRewritten) streams.onRenewed(values.stream, () => void opened.writeAgain());
  return opened;
}

/** When many values are read, an unreadable one does not keep the others from being passed on. */
function passOverNewer(error: unknown): undefined {
  if (!(error instanceof BusError && error.kind === 'newer-format')) throw error;
}

function ofConflict(key: string, error: unknown): unknown {
  if (!(error instanceof JetStreamApiError)) return error;
  if (wrongLastSequence.includes(error.code))
    return new BusError('revision-conflict', `another writer has changed key ${key}`, error);
  return storeFailed.includes(error.code)
    ? new BusError('overloaded', `there is no room for key ${key}`, error)
    : error;
}

interface Stores<Value> {
  readonly name: string;
  readonly connection: NatsConnection;
  readonly values: Store;
  /** Undefined for a bucket of small values. */
  readonly parts: Store | undefined;
  /** Undefined for a bucket that keeps its marks. */
  readonly marks: Marks | undefined;
  readonly isRewritten: boolean;
  readonly shape: Shape<Value> | undefined;
  /** A value up to this size is stored whole, a larger one in parts of this size. */
  readonly partBytes: number;
  readonly onFault: OnFault;
}

class NatsKeyValue<Value> implements KeyValue<Value> {
  readonly #name: string;
  readonly #connection: NatsConnection;
  readonly #values: Store;
  readonly #parts: Store | undefined;
  readonly #marks: Marks | undefined;
  /** What this process has written last under each key, to be written again if the store is lost. */
  readonly #written: Map<string, Value> | undefined;
  readonly #shape: Shape<Value> | undefined;
  readonly #partBytes: number;
  readonly #onFault: OnFault;

  constructor({ name, connection, values, parts, marks, isRewritten, shape, partBytes, onFault }: Stores<Value>) {
    this.#name = name;
    this.#connection = connection;
    this.#values = values;
    this.#parts = parts;
    this.#marks = marks;
    this.#written = isRewritten ? new Map() : undefined;
    this.#shape = shape;
    this.#partBytes = partBytes;
    this.#onFault = onFault;
  }

  async get(key: string): Promise<KeyValueEntry<Value> | undefined> {
    const entry = await this.#values.get(key);
    return entry === undefined || entry.isDeleted ? undefined : this.#load(entry);
  }

  async wasDeleted(key: string): Promise<boolean> {
    return (await this.#values.get(key))?.isDeleted === true;
  }

  async put(key: string, value: Value): Promise<number> {
    const revision = await this.#store(key, value, (bytes) => this.#values.write(key, bytes));
    this.#written?.set(key, value);
    return revision;
  }

  async create(key: string, value: Value): Promise<number> {
    try {
      return await this.restore(key, value);
    } catch (error) {
      const present = isConflict(error) ? await this.#values.get(key) : undefined;
      if (present === undefined) throw error;
      // The mark of a deleted key is no value, and neither is one that no version can read; one that a newer version can read stays.
      if (!present.isDeleted && (await this.#load(present)) !== undefined) throw error;
      return this.update(key, value, present.revision);
    }
  }

  update(key: string, value: Value, revision: number): Promise<number> {
    return this.#store(key, value, (bytes) => this.#values.write(key, bytes, revision));
  }

  /** A deleted key leaves a mark with a sequence number; an expired key leaves none. */
  restore(key: string, value: Value): Promise<number> {
    return this.#store(key, value, (bytes) => this.#values.write(key, bytes, 0));
  }

  async delete(key: string, revision?: number): Promise<void> {
    this.#written?.delete(key);
    try {
      const mark = await this.#values.mark(key, revision);
      this.#marks?.add(mark);
    } catch (error) {
      throw ofConflict(key, error);
    }
    await this.#forgetParts(key, '');
  }

  async watch(observer: (change: KeyValueChange<Value>) => void): Promise<Watch> {
    return followStore({
      connection: this.#connection,
      store: this.#values,
      forgetsMs: this.#marks?.keepMs,
      observer: async (entry) => {
        if (entry.isDeleted && entry.revision > 0) this.#marks?.add(entry.revision); // Else its mark is gone.
        // Its parts may not be readable now; then it is passed on later.
        const change = await this.#change(entry);
        try {
          if (change !== undefined) observer(change);
        } catch (error) {
          this.#onFault({ kind: 'observer', what: `a watcher of ${this.#name} threw`, error });
        }
      },
      failed: (error) =>
        this.#onFault({ kind: 'store', what: `${this.#name} could not be read on; it is tried again`, error }),
    });
  }

  /** Writes what this process has written, where another process has not done that: the store was lost. */
  async writeAgain(): Promise<void> {
    for (const [key, value] of this.#written ?? []) {
      try {
        await this.restore(key, value);
      } catch (error) {
        if (isConflict(error)) continue;
        this.#onFault({ kind: 'store', what: `${this.#name} was lost, and could not be written again`, error });
      }
    }
  }

  async #change(entry: StoredEntry): Promise<KeyValueChange<Value> | undefined> {
    if (entry.isDeleted) return { kind: 'delete', key: entry.key };
    const loaded = await this.#load(entry, true).catch(passOverNewer);
    return loaded === undefined ? undefined : { kind: 'put', ...loaded };
  }

  /**
   * Undefined for a value that cannot be read, which is reported; and for one that was replaced while its parts were read, since the watcher will receive
   * its successor.
   * @param needsParts whether it throws where a part is not there.
   * @throws {BusError} `newer-format`, which is reported too.
   */
  async #load(entry: StoredEntry, needsParts = false): Promise<KeyValueEntry<Value> | undefined> {
    try {
      const value = await this.#read(entry);
      if (value === missing) return undefined;
      const verdict = this.#shape?.(value) ?? 'fits';
      if (verdict !== 'fits') throw new BusError('undecodable', 'the value does not have the shape of its bucket');
      return { key: entry.key, value: value as Value, revision: entry.revision };
    } catch (error) {
      if (needsParts && error instanceof MissingPart) throw error;
      if (error instanceof BusError && error.kind === 'newer-format')
        this.#onFault({
          kind: 'format',
          what: `a value in ${this.#name} was left alone: ${error.message}`,
          family: this.#name,
        });
      if (!(error instanceof BusError && error.kind === 'undecodable')) throw error;
      this.#onFault({ kind: 'message', what: `a value in ${this.#name} could not be read`, family: this.#name, error });
      return undefined;
    }
  }

  /** @throws {BusError} `undecodable`, `newer-format` */
  async #read(entry: StoredEntry): Promise<unknown> {
    const stored = readStored(decode(entry.value));
    if ('value' in stored) return stored.value;
    const parts: Uint8Array[] = [];
    for (let index = 0; index < stored.parts; index += 1) {
      const part = await this.#parts?.get(`${entry.key}.${stored.generation}.${index}`);
      if (part === undefined || part.isDeleted) {
        const now = await this.#values.get(entry.key);
        if (now?.revision !== entry.revision) return missing;
        throw new MissingPart(`part ${index} of ${stored.parts} is not there`);
      }
      parts.push(part.value);
    }
    return decode(Buffer.concat(parts));
  }

  async #store(key: string, value: Value, write: (bytes: Uint8Array) => Promise<number>): Promise<number> {
    const format = ownFormats.says;
    const inline = encode({ format, value });
    try {
      if (inline.length <= this.#partBytes) return await write(inline);
      if (this.#parts === undefined)
        throw new BusError(
          'payload-too-large',
          `the value of key ${key} has ${inline.length} bytes, more than a bucket of small values takes`,
        );
      const bytes = encode(value);
      const generation = randomBytes(9).toString('base64url');
      const parts = Math.ceil(bytes.length / this.#partBytes);
      for (let index = 0; index < parts; index += 1) {
        await this.#parts.write(
          `${key}.${generation}.${index}`,
          bytes.subarray(index * this.#partBytes, (index + 1) * this.#partBytes),
        );
      }
      const revision = await write(encode({ format, generation, parts }));
      await this.#forgetParts(key, generation);
      return revision;
    } catch (error) {
      throw ofConflict(key, error);
    }
  }

  /** Parts that stay cost room and change nothing: the write before them has succeeded. */
  async #forgetParts(key: string, keepGeneration: string): Promise<void> {
    try {
      await this.#purgeParts(key, keepGeneration);
    } catch (error) {
      this.#onFault({ kind: 'store', what: `old parts of ${this.#name} could not be removed`, error });
    }
  }

  async #purgeParts(key: string, keepGeneration: string): Promise<void> {
    if (this.#parts === undefined) return;
    const generations = new Set(
      (await this.#parts.keys(`${key}.>`)).map((part) => part.slice(key.length + 1).split('.')[0] ?? ''),
    );
    generations.delete(keepGeneration);
    for (const stale of generations) await this.#parts.purge(`${key}.${stale}.>`);
  }
}
