/**
 * Buckets on JetStream. A value that is larger than one NATS message is stored in parts in a second bucket, under a generation that its manifest in the
 * first bucket names, so that readers never see half of it. Each value names the format it is written in; a value in a format that cannot be read here
 * counts as present, and is not overwritten.
 */
import type { KV, KvEntry } from '@nats-io/kv';
import { JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomBytes } from 'node:crypto';
import { formatProblem, isObject, isRead, isToken, ownFormats } from '@omnibus/protocol';
import { decode, encode, maxMessageBytes } from '../codec.ts';
import { BusError } from '../errors.ts';
import type { Shape } from '../shapes/shape.ts';
import { minPayloadBytes } from './blobs.ts';
import { withReplicas } from './jetstream.ts';
import { bucketsAt, nameAt, type NatsPlace } from './place.ts';
import { PresentKeys } from './present-keys.ts';
import type { Bucket, KeyValue, KeyValueChange, KeyValueEntry, OnFault, Watch } from '../bus.ts';

/** JetStream's "wrong last sequence": somebody else changed the key. */
const wrongLastSequence = 10_071;
/** JetStream's failure of a store, such as "maximum bytes exceeded". */
const storeFailed = 10_077;
/** Leaves room for the manifest and headers under the default `max_payload` of 1 MiB. */
const largestPartBytes = 512 * 1024;
/** Bound on the parts of one value: as many bytes as one message may have. */
const maxParts = maxMessageBytes / (minPayloadBytes / 2);

/** `format` is missing in values from before 0.2.0. */
type Stored = { readonly format?: number } & (
  | { readonly value: unknown }
  | { readonly generation: string; readonly parts: number }
);

/** The value was replaced while it was read. */
const missing = Symbol('missing');

/** @throws {BusError} `newer-format`; `undecodable` for what is neither a value nor a manifest of one. */
function readStored(stored: unknown): Stored {
  if (isObject(stored)) {
    const { format, generation, parts } = stored;
    if (Number.isSafeInteger(format) && !isRead(format as number))
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

export async function openKeyValue<Value>(
  connection: NatsConnection,
  place: NatsPlace,
  { name, isSmall = false, maxAgeMs, maxBytes, isCurrent = false, shape }: Bucket<Value>,
  onFault: OnFault,
): Promise<KeyValue<Value>> {
  const manager = bucketsAt(connection, place);
  const options = {
    history: 1,
    ...(maxAgeMs === undefined ? {} : { ttl: maxAgeMs }),
    ...(maxBytes === undefined ? {} : { max_bytes: maxBytes }),
    ...(isCurrent ? { allow_direct: false } : {}),
  };
  const create = (ours: string): Promise<KV> => {
    const bucketName = nameAt(place, ours);
    return withReplicas(connection, place, { stream: streamOf(bucketName), reservedBytes: maxBytes }, (replicas) =>
      manager.create(bucketName, { ...options, replicas }),
    );
  };
  const bucket = await create(name);
  const parts = isSmall ? undefined : await create(`${name}-parts`);
  return new NatsKeyValue<Value>({
    name,
    bucket,
    parts,
    shape,
    partBytes: Math.min(largestPartBytes, (connection.info?.max_payload ?? largestPartBytes) / 2),
    onFault,
  });
}

/** The stream of a bucket (NATS, ADR-8). */
function streamOf(bucket: string): string {
  return `KV_${bucket}`;
}

/** When many values are read, an unreadable one does not keep the others from being passed on. */
function passOverNewer(error: unknown): undefined {
  if (!(error instanceof BusError && error.kind === 'newer-format')) throw error;
}

function ofConflict(key: string, error: unknown): unknown {
  if (!(error instanceof JetStreamApiError)) return error;
  if (error.code === wrongLastSequence)
    return new BusError('revision-conflict', `key ${key} was changed by somebody else`, error);
  return error.code === storeFailed ? new BusError('overloaded', `there is no room for key ${key}`, error) : error;
}

interface Stores<Value> {
  readonly name: string;
  readonly bucket: KV;
  /** Undefined for a bucket of small values. */
  readonly parts: KV | undefined;
  readonly shape: Shape<Value> | undefined;
  /** A value up to this size is stored whole, a larger one in parts of this size. */
  readonly partBytes: number;
  readonly onFault: OnFault;
}

class NatsKeyValue<Value> implements KeyValue<Value> {
  readonly #name: string;
  readonly #bucket: KV;
  readonly #parts: KV | undefined;
  readonly #shape: Shape<Value> | undefined;
  readonly #partBytes: number;
  readonly #onFault: OnFault;

  constructor({ name, bucket, parts, shape, partBytes, onFault }: Stores<Value>) {
    this.#name = name;
    this.#bucket = bucket;
    this.#parts = parts;
    this.#shape = shape;
    this.#partBytes = partBytes;
    this.#onFault = onFault;
  }

  async get(key: string): Promise<KeyValueEntry<Value> | undefined> {
    const entry = await this.#bucket.get(key);
    return entry === null || entry.operation !== 'PUT' ? undefined : this.#load(entry);
  }

  async wasDeleted(key: string): Promise<boolean> {
    const entry = await this.#bucket.get(key);
    return entry !== null && entry.operation !== 'PUT';
  }

  put(key: string, value: Value): Promise<number> {
    return this.#store(key, value, (bytes) => this.#bucket.put(key, bytes));
  }

  async create(key: string, value: Value): Promise<number> {
    try {
      return await this.#store(key, value, (bytes) => this.#bucket.create(key, bytes));
    } catch (error) {
      const present =
        error instanceof BusError && error.kind === 'revision-conflict' ? await this.#bucket.get(key) : null;
      // A value that no version can read counts as missing, and must not occupy a key for ever; one that a newer version can read stays.
      if (present === null || present.operation !== 'PUT' || (await this.#load(present)) !== undefined) throw error;
      return this.update(key, value, present.revision);
    }
  }

  update(key: string, value: Value, revision: number): Promise<number> {
    return this.#store(key, value, (bytes) => this.#bucket.update(key, bytes, revision));
  }

  /** A deleted key leaves a mark with a sequence number; an expired key leaves none. */
  restore(key: string, value: Value): Promise<number> {
    return this.#store(key, value, (bytes) => this.#bucket.put(key, bytes, { previousSeq: 0 }));
  }

  async delete(key: string, revision?: number): Promise<void> {
    try {
      await this.#bucket.delete(key, revision === undefined ? {} : { previousSeq: revision });
    } catch (error) {
      throw ofConflict(key, error);
    }
    await this.#purgeParts(key, '');
  }

  async watch(observer: (change: KeyValueChange<Value>) => void): Promise<Watch> {
    const watch = await this.#bucket.watch();
    const presence = new PresentKeys(() => this.#keys());
    const follow = async (): Promise<void> => {
      for await (const entry of watch) {
        try {
          const change = await this.#change(entry);
          if (change !== undefined) observer(change);
        } catch (error) {
          this.#onFault({ kind: 'observer', what: `whoever watches ${this.#name} threw over a change`, error });
        }
        presence.heard(entry.key);
      }
    };
    follow().catch((error: unknown) =>
      this.#onFault({ kind: 'store', what: `the watch of ${this.#name} ended`, error }),
    );
    await presence.allHeard();
    return { close: () => watch.stop() };
  }

  /**
   * The keys that are present. The client library ends a listing when the server says that nothing is left, or is quiet for a while. When a key is written while the
   * listing begins, the server can go on saying that one is left, and if the key is written again and again, it is never quiet. A key that comes for the second
   * time was written after the listing had begun, and entries come in their order: all that were there before have come.
   */
  async #keys(): Promise<readonly string[]> {
    const keys = new Set<string>();
    const listing = await this.#bucket.keys();
    for await (const key of listing) {
      if (keys.has(key)) break;
      keys.add(key);
    }
    listing.stop();
    return [...keys];
  }

  async #change(entry: KvEntry): Promise<KeyValueChange<Value> | undefined> {
    if (entry.operation !== 'PUT') return { kind: 'delete', key: entry.key };
    const loaded = await this.#load(entry).catch(passOverNewer);
    return loaded === undefined ? undefined : { kind: 'put', ...loaded };
  }

  /**
   * Undefined for a value that cannot be read, which is reported; and for one that was replaced while its parts were read, since the watcher will receive
   * its successor.
   * @throws {BusError} `newer-format`, which is reported too.
   */
  async #load(entry: KvEntry): Promise<KeyValueEntry<Value> | undefined> {
    try {
      const value = await this.#read(entry);
      if (value === missing) return undefined;
      const verdict = this.#shape?.(value) ?? 'fits';
      if (verdict !== 'fits') throw new BusError('undecodable', 'the value does not have the shape of its bucket');
      return { key: entry.key, value: value as Value, revision: entry.revision };
    } catch (error) {
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
  async #read(entry: KvEntry): Promise<unknown> {
    const stored = readStored(decode(entry.value));
    if ('value' in stored) return stored.value;
    const parts: Uint8Array[] = [];
    for (let index = 0; index < stored.parts; index += 1) {
      const part = await this.#parts?.get(`${entry.key}.${stored.generation}.${index}`);
      if (part === undefined || part === null || part.operation !== 'PUT') {
        const now = await this.#bucket.get(entry.key);
        if (now?.revision !== entry.revision) return missing;
        throw new BusError('undecodable', `part ${index} of ${stored.parts} is not there`);
      }
      parts.push(part.value);
    }
    return decode(Buffer.concat(parts));
  }

  async #store(key: string, value: Value, write: (bytes: Uint8Array) => Promise<number>): Promise<number> {
    const format = ownFormats.says;
    const inline = encode({ format, value } satisfies Stored);
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
        await this.#parts.put(
          `${key}.${generation}.${index}`,
          bytes.subarray(index * this.#partBytes, (index + 1) * this.#partBytes),
        );
      }
      const revision = await write(encode({ format, generation, parts } satisfies Stored));
      await this.#purgeParts(key, generation);
      return revision;
    } catch (error) {
      throw ofConflict(key, error);
    }
  }

  async #purgeParts(key: string, keepGeneration: string): Promise<void> {
    if (this.#parts === undefined) return;
    const stale: string[] = [];
    for await (const part of await this.#parts.keys(`${key}.>`)) {
      if (part.split('.')[1] !== keepGeneration) stale.push(part);
    }
    for (const part of stale) await this.#parts.purge(part);
  }
}
