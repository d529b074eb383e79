/**
 * Buckets on JetStream. A value larger than one NATS message is stored in parts in a second bucket, under a generation
 * that its manifest in the first one names, so that readers never see half of it.
 */
import { Kvm, type KV, type KvEntry } from '@nats-io/kv';
import { JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { randomBytes } from 'node:crypto';
import { decode, encode } from '../codec.ts';
import { BusError } from '../errors.ts';
import { withReplicas } from './jetstream.ts';
import type { Bucket, KeyValue, KeyValueChange, KeyValueEntry, OnFault, Watch } from '../bus.ts';

/** JetStream's "wrong last sequence": somebody else changed the key. */
const wrongLastSequence = 10_071;
/** Leaves room for the manifest's JSON and headers under the default `max_payload` of 1 MiB. */
const partBytes = 512 * 1024;
const clockTtlMs = 60_000;

type Stored = { readonly value: unknown } | { readonly generation: string; readonly parts: number };

export async function openKeyValue<Value>(connection: NatsConnection, { name, isSmall = false, maxAgeMs }: Bucket<Value>, onFault: OnFault): Promise<KeyValue<Value>> {
  const manager = new Kvm(connection);
  const options = { history: 1, ...(maxAgeMs === undefined ? {} : { ttl: maxAgeMs }) };
  const create = (bucketName: string): Promise<KV> => withReplicas(connection, streamOf(bucketName), (replicas) => manager.create(bucketName, { ...options, replicas }));
  const bucket = await create(name);
  const parts = isSmall ? undefined : await create(`${name}-parts`);
  return new NatsKeyValue<Value>(bucket, parts, onFault);
}

/** The stream a bucket is (NATS, ADR-8). */
function streamOf(bucket: string): string {
  return `KV_${bucket}`;
}

/** Milliseconds by which the server's clock is ahead of ours: it stamps what it stores. Half of the way there is taken off. */
export async function readClockSkew(connection: NatsConnection): Promise<number> {
  const bucket = await withReplicas(connection, streamOf('omnibus-clock'), (replicas) => new Kvm(connection).create('omnibus-clock', { history: 1, ttl: clockTtlMs, replicas }));
  const before = Date.now();
  await bucket.put('clock', '');
  const after = Date.now();
  const entry = await bucket.get('clock');
  return entry === null ? 0 : entry.created.getTime() - (before + after) / 2;
}

class NatsKeyValue<Value> implements KeyValue<Value> {
  readonly #bucket: KV;
  /** Undefined for a bucket of small values. */
  readonly #parts: KV | undefined;
  readonly #onFault: OnFault;

  constructor(bucket: KV, parts: KV | undefined, onFault: OnFault) {
    this.#bucket = bucket;
    this.#parts = parts;
    this.#onFault = onFault;
  }

  async get(key: string): Promise<KeyValueEntry<Value> | undefined> {
    const entry = await this.#bucket.get(key);
    return entry === null || entry.operation !== 'PUT' ? undefined : this.#load(entry);
  }

  put(key: string, value: Value): Promise<number> {
    return this.#store(key, value, (bytes) => this.#bucket.put(key, bytes));
  }

  create(key: string, value: Value): Promise<number> {
    return this.#store(key, value, (bytes) => this.#bucket.create(key, bytes));
  }

  update(key: string, value: Value, revision: number): Promise<number> {
    return this.#store(key, value, (bytes) => this.#bucket.update(key, bytes, revision));
  }

  async delete(key: string): Promise<void> {
    await this.#bucket.delete(key);
    await this.#purgeParts(key, '');
  }

  async watch(observer: (change: KeyValueChange<Value>) => void): Promise<Watch> {
    let present = await this.#countKeys();
    const watch = await this.#bucket.watch();
    let allHeard: () => void;
    const initial = new Promise<void>((resolve) => {
      allHeard = resolve;
    });
    if (present === 0) allHeard!();
    const follow = async (): Promise<void> => {
      for await (const entry of watch) {
        try {
          const change = await this.#change(entry);
          if (change !== undefined) observer(change);
        } catch (error) {
          this.#onFault({ kind: 'store', what: `a change of key ${entry.key} could not be read`, error });
        }
        present -= 1;
        if (present <= 0) allHeard();
      }
    };
    follow().catch((error: unknown) => this.#onFault({ kind: 'store', what: 'a watch ended', error }));
    await initial;
    return { close: () => watch.stop() };
  }

  async #countKeys(): Promise<number> {
    let count = 0;
    for await (const _key of await this.#bucket.keys()) count += 1;
    return count;
  }

  async #change(entry: KvEntry): Promise<KeyValueChange<Value> | undefined> {
    if (entry.operation !== 'PUT') return { kind: 'delete', key: entry.key };
    const loaded = await this.#load(entry);
    return loaded === undefined ? undefined : { kind: 'put', ...loaded };
  }

  /** Undefined when the value was replaced while its parts were read: its successor's entry is on the way. */
  async #load(entry: KvEntry): Promise<KeyValueEntry<Value> | undefined> {
    const stored = decode(entry.value) as Stored;
    if ('value' in stored) return { key: entry.key, value: stored.value as Value, revision: entry.revision };
    if (this.#parts === undefined) return undefined;
    const parts: Uint8Array[] = [];
    for (let index = 0; index < stored.parts; index += 1) {
      const part = await this.#parts.get(`${entry.key}.${stored.generation}.${index}`);
      if (part === null || part.operation !== 'PUT') return undefined;
      parts.push(part.value);
    }
    return { key: entry.key, value: decode(Buffer.concat(parts)) as Value, revision: entry.revision };
  }

  async #store(key: string, value: Value, write: (bytes: Uint8Array) => Promise<number>): Promise<number> {
    const inline = encode({ value } satisfies Stored);
    try {
      if (inline.length <= partBytes) return await write(inline);
      if (this.#parts === undefined) throw new BusError('payload-too-large', `the value of key ${key} has ${inline.length} bytes, more than a bucket of small values takes`);
      const bytes = encode(value);
      const generation = randomBytes(9).toString('base64url');
      const parts = Math.ceil(bytes.length / partBytes);
      for (let index = 0; index < parts; index += 1) {
        await this.#parts.put(`${key}.${generation}.${index}`, bytes.subarray(index * partBytes, (index + 1) * partBytes));
      }
      const revision = await write(encode({ generation, parts } satisfies Stored));
      await this.#purgeParts(key, generation);
      return revision;
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === wrongLastSequence) {
        throw new BusError('revision-conflict', `key ${key} was changed by somebody else`, error);
      }
      throw error;
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
