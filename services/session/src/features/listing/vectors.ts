/**
 * The vectors of tools' texts: kept by digest, shared with other session workers on the bus, and computed in the background for texts that are new. Nothing
 * waits for them: a tool without a vector is ranked by words.
 */
import { createHash } from 'node:crypto';
import { setLast } from '@omnibus/collections';
import { vectorsBucket, type Bus, type KeyValue } from '@omnibus/bus';
import { toolVectors, type EmbeddingModel, type PackedVector } from '@omnibus/search';

/** Bounds on vectors that are kept, and on texts that wait; a vector takes about 500 bytes. */
const maxKept = 50_000;
const maxWanted = 50_000;
/** Time limit for a batch; the first one loads the model. */
const batchMs = 60_000;
/** Bytes of the scale before the numbers. */
const scaleBytes = 8;

export interface VectorsOptions {
  readonly bus: Bus;
  readonly model: EmbeddingModel;
  /** Reports how a request to the model went. */
  readonly went: (problem: Error | undefined) => void;
  /** Asks a model that has failed whether it answers other texts; reports a failure itself. */
  readonly isWell: () => Promise<boolean>;
  /** Reports a failure of the bus. */
  readonly unstored: (error: unknown) => void;
}

export class Vectors {
  /** Grows with each vector that becomes known. */
  generation = 0;
  readonly #options: VectorsOptions;
  /** By digest of the text; the one that was kept first comes first. */
  readonly #kept = new Map<string, PackedVector>();
  readonly #wanted = new Map<string, string>();
  readonly #closing = new AbortController();
  #store: Promise<KeyValue<string> | undefined> | undefined;
  #isWorking = false;

  constructor(options: VectorsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Texts whose vectors are not known yet. */
  get wanted(): number {
    return this.#wanted.size;
  }

  get(digest: string): PackedVector | undefined {
    return this.#kept.get(digest);
  }

  /** Wants the vectors of texts, by digest. */
  want(texts: Iterable<readonly [digest: string, text: string]>): void {
    for (const [digest, text] of texts)
      if (!this.#kept.has(digest) && this.#wanted.size < maxWanted) this.#wanted.set(digest, text);
    void this.work();
  }

  /** Computes wanted vectors until there are none, or the model fails. */
  async work(): Promise<void> {
    if (this.#isWorking || this.#closing.signal.aborted) return;
    this.#isWorking = true;
    const { model, went } = this.#options;
    try {
      while (this.#wanted.size > 0 && !this.#closing.signal.aborted) {
        const batch = await this.#unknown(this.#next(model.batch));
        if (batch.length === 0) continue;
        const found = await this.#embedded(batch.map(([, text]) => text));
        if (found === undefined) return;
        went(undefined);
        batch.forEach(([digest], at) => {
          const vector = found[at];
          if (vector === undefined) this.#wanted.delete(digest);
          else this.#keep(digest, vector);
        });
        await this.#save(batch.map(([digest]) => digest));
      }
    } catch (error) {
      if (!this.#closing.signal.aborted) went(error as Error);
    } finally {
      this.#isWorking = false;
    }
  }

  /**
   * Asks for the vectors of a batch.
   * If the model refuses it, each text is sent alone, so that one refused text does not keep the others without vectors.
   * @returns undefined if the model is away; in it, undefined for a refused text.
   */
  async #embedded(texts: readonly string[]): Promise<readonly (PackedVector | undefined)[] | undefined> {
    const { model, isWell } = this.#options;
    try {
      return await toolVectors(model, texts, AbortSignal.any([AbortSignal.timeout(batchMs), this.#closing.signal]));
    } catch {
      if (this.#closing.signal.aborted || !(await isWell())) return undefined;
    }
    if (texts.length === 1) return [undefined];
    const all: (PackedVector | undefined)[] = [];
    for (const text of texts) {
      const one = await this.#embedded([text]);
      if (one === undefined) return undefined;
      all.push(...one);
    }
    return all;
  }

  close(): void {
    this.#closing.abort(new Error('the model has left the configuration'));
    this.#wanted.clear();
    this.#kept.clear();
  }

  /** Some of the wanted texts, from a random place on, so that workers that start together share the work. */
  #next(count: number): readonly (readonly [string, string])[] {
    const from = Math.floor(Math.random() * Math.max(1, this.#wanted.size - count + 1));
    const batch: (readonly [string, string])[] = [];
    let at = 0;
    for (const entry of this.#wanted) {
      if (at >= from) batch.push(entry);
      if (batch.length === count) break;
      at += 1;
    }
    return batch;
  }

  /** Those of which no worker has stored a vector; the others are kept now. */
  async #unknown(batch: readonly (readonly [string, string])[]): Promise<readonly (readonly [string, string])[]> {
    const store = await this.#opened();
    if (store === undefined) return batch;
    const stored = await Promise.all(
      batch.map(async ([digest]) => {
        try {
          return unpack((await store.get(this.#keyOf(digest)))?.value);
        } catch (error) {
          this.#options.unstored(error);
          return undefined;
        }
      }),
    );
    return batch.filter(([digest], at) => {
      const vector = stored[at];
      if (vector !== undefined) this.#keep(digest, vector);
      return vector === undefined;
    });
  }

  async #save(digests: readonly string[]): Promise<void> {
    const store = await this.#opened();
    if (store === undefined) return;
    await Promise.all(
      digests.map(async (digest) => {
        const vector = this.#kept.get(digest);
        if (vector === undefined) return;
        try {
          await store.put(this.#keyOf(digest), pack(vector));
        } catch (error) {
          this.#options.unstored(error);
        }
      }),
    );
  }

  #keep(digest: string, vector: PackedVector): void {
    this.#wanted.delete(digest);
    if (this.#closing.signal.aborted) return;
    setLast(this.#kept, digest, vector, maxKept);
    this.generation += 1;
  }

  #keyOf(digest: string): string {
    return `${this.#options.model.id}.${digest}`;
  }

  /** The store that workers share; undefined in one process, where memory is as good, and where the bus has none yet. */
  #opened(): Promise<KeyValue<string> | undefined> {
    const { bus, unstored } = this.#options;
    if (!bus.isShared) return Promise.resolve(undefined);
    this.#store ??= bus.keyValue(vectorsBucket).catch((error: unknown) => {
      unstored(error);
      this.#store = undefined;
      return undefined;
    });
    return this.#store;
  }
}

/** The name of a text among vectors of one model. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function pack({ values, scale }: PackedVector): string {
  const bytes = Buffer.alloc(scaleBytes + values.length);
  bytes.writeDoubleLE(scale);
  bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.length), scaleBytes);
  return bytes.toString('base64');
}

function unpack(stored: string | undefined): PackedVector | undefined {
  if (stored === undefined) return undefined;
  const bytes = Buffer.from(stored, 'base64');
  if (bytes.length <= scaleBytes) return undefined;
  const scale = bytes.readDoubleLE();
  return Number.isFinite(scale)
    ? { scale, values: Int8Array.from(bytes.subarray(scaleBytes).map((each) => each)) }
    : undefined;
}
