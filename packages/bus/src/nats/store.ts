/**
 * One bucket in JetStream (NATS, ADR-8), by the two requests that each role may make: to write a key, and to read a message of the stream. Reading directly
 * and consumers would let a role have stored bytes delivered on any subject, also on those that it may not publish on; the answer to these two has a form of
 * its own.
 */
import { JetStreamApiError, jetstream, type JetStreamClient, type StoredMsg } from '@nats-io/jetstream';
import { headers, RequestError, TimeoutError, type NatsConnection } from '@nats-io/transport-node';
import { BusError } from '../errors.ts';
import { isMessageMissing, isStreamMissing, type Streams } from './jetstream.ts';
import { apiAt, managerOptions, nameAt, type NatsPlace } from './place.ts';
import { storedSubject, streamOfBucket } from './streams.ts';

/** A stored value of a key. */
export interface StoredEntry {
  readonly key: string;
  readonly value: Uint8Array;
  readonly revision: number;
  /** Whether it is the mark of a deleted key. */
  readonly isDeleted: boolean;
}

export interface StoreState {
  /** When the stream was created. A stream that was lost and created again has another time. */
  readonly created: string;
  readonly first: number;
  readonly last: number;
  readonly messages: number;
}

/** The header of marks (NATS, ADR-8). */
const operation = 'KV-Operation';
/** Keys that NATS takes as part of a subject. */
const validKey = /^[-/=\w]+(?:\.[-/=\w]+)*$/;
/** Messages that are read at the same time, and how many there have to be for that. */
const lanes = { count: 16, from: 64 };
/** Attempts to read a message, and the pause between them: while a stream has no leader, as after the loss of a node, no node answers. */
const reads = { tries: 6, pauseMs: 200 };

export interface StoreOptions {
  readonly connection: NatsConnection;
  readonly place: NatsPlace;
  readonly streams: Streams;
  /** Its name in our own tables. */
  readonly bucket: string;
}

export class Store {
  readonly stream: string;
  readonly #connection: NatsConnection;
  readonly #streams: Streams;
  readonly #client: JetStreamClient;
  /** The beginning of the subjects of its keys. */
  readonly #prefix: string;
  /** The same, to publish on: behind a leaf node, they are published in the API of the domain. */
  readonly #writes: string;
  readonly changedSubject: string;

  constructor({ connection, place, streams, bucket }: StoreOptions) {
    const name = nameAt(place, bucket);
    this.#connection = connection;
    this.#streams = streams;
    this.#client = jetstream(connection, managerOptions(place));
    this.stream = streamOfBucket(name);
    this.#prefix = `$KV.${name}.`;
    this.#writes = place.domain === undefined ? this.#prefix : `${apiAt(place)}.${this.#prefix}`;
    this.changedSubject = nameAt(place, storedSubject(bucket));
  }

  /** @returns undefined for a name that can be no key, so also if it comes from outside. */
  async get(key: string): Promise<StoredEntry | undefined> {
    return validKey.test(key) ? this.#read({ last_by_subj: this.#prefix + key }) : undefined;
  }

  /**
   * @param previous revision that the key must have, 0 for none at all; without it, any.
   * @returns the revision.
   */
  write(key: string, value: Uint8Array, previous?: number): Promise<number> {
    return this.#publish(key, value, previous, undefined);
  }

  /** Deletes a key and leaves a mark. @returns its revision. */
  mark(key: string, previous?: number): Promise<number> {
    return this.#publish(key, new Uint8Array(0), previous, 'DEL');
  }

  /** Removes a mark, so that nothing is left of its key. Does nothing if it was replaced. */
  async remove(revision: number): Promise<void> {
    const manager = await this.#streams.manager;
    await manager.streams.deleteMessage(this.stream, revision, false);
  }

  /** Removes everything of some keys, marks included. @param keys of them, with NATS' wildcards. */
  async purge(keys: string): Promise<void> {
    const manager = await this.#streams.manager;
    await manager.streams.purge(this.stream, { filter: this.#prefix + keys });
  }

  /** The keys that there is anything of, marks included. @param keys with NATS' wildcards. */
  async keys(keys: string): Promise<readonly string[]> {
    return this.#again(async () => {
      const manager = await this.#streams.manager;
      const { state } = await manager.streams.info(this.stream, { subjects_filter: this.#prefix + keys });
      return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(this.#prefix.length));
    });
  }

  state(): Promise<StoreState> {
    return this.#again(async () => {
      const manager = await this.#streams.manager;
      const { created, state } = await manager.streams.info(this.stream);
      return {
        created,
        first: state.first_seq,
        last: state.last_seq,
        messages: state.messages,
      };
    });
  }

  /** The stored messages from a revision on, in order. @param last the last revision that there is. */
  async *from(revision: number, { first, last, messages }: StoreState): AsyncGenerator<StoredEntry> {
    const start = Math.max(first, revision);
    const count = Math.min(last - start + 1, messages) < lanes.from ? 1 : lanes.count;
    const length = Math.ceil((last - start + 1) / count);
    const parts = Array.from({ length: count }, (_, lane) =>
      this.#range(start + lane * length, Math.min(last, start + (lane + 1) * length - 1)),
    );
    // A part that fails while an earlier one is passed on is noticed when it is its turn.
    for (const part of parts) part.catch(() => undefined);
    for (const part of parts) yield* await part;
  }

  async #range(start: number, end: number): Promise<readonly StoredEntry[]> {
    const entries: StoredEntry[] = [];
    for (let next = start; next <= end;) {
      const entry = await this.#read({ seq: next, next_by_subj: `${this.#prefix}>` });
      if (entry === undefined || entry.revision > end) break;
      entries.push(entry);
      next = entry.revision + 1;
    }
    return entries;
  }

  /** Asks the stream's leader, which knows the latest message; the client's types have the second form for replicas only. */
  #read(
    which: { readonly last_by_subj: string } | { readonly seq: number; readonly next_by_subj: string },
  ): Promise<StoredEntry | undefined> {
    return this.#again(async () => {
      const manager = await this.#streams.reader;
      for (let tried = 1; ; tried += 1) {
        try {
          const found = await manager.streams.getMessage(this.stream, which);
          return found === null ? undefined : this.#entryOf(found);
        } catch (error) {
          if (isMessageMissing(error)) return undefined;
          if (tried >= reads.tries || !isLeaderless(error)) throw error;
          await new Promise<void>((resume) => void setTimeout(resume, reads.pauseMs).unref());
        }
      }
    });
  }

  #entryOf({ subject, seq, data, header }: StoredMsg): StoredEntry {
    const mark = header.get(operation);
    return {
      key: subject.slice(this.#prefix.length),
      value: data,
      revision: seq,
      isDeleted: mark === 'DEL' || mark === 'PURGE',
    };
  }

  #publish(key: string, value: Uint8Array, previous: number | undefined, mark: 'DEL' | undefined): Promise<number> {
    const subject = this.#writes + checked(key);
    return this.#again(async () => {
      const said = headers();
      if (mark !== undefined) said.set(operation, mark);
      const { seq } = await this.#client.publish(subject, value, {
        headers: said,
        ...(previous === undefined ? {} : { expect: { lastSubjectSequence: previous } }),
      });
      if (!this.#connection.isClosed() && !this.#connection.isDraining()) this.#connection.publish(this.changedSubject);
      return seq;
    });
  }

  /** Does it again once, when the stream was lost and is there again. */
  async #again<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!isStreamMissing(error) && !isUnheard(error)) throw error;
      await this.#streams.again(this.stream);
      return work();
    }
  }
}

function isLeaderless(error: unknown): boolean {
  return error instanceof TimeoutError || (error instanceof JetStreamApiError && error.status === 503);
}

/** Whether no stream accepts the published message. */
function isUnheard(error: unknown): boolean {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof RequestError && each.isNoResponders()) return true;
  return false;
}

/** @throws {BusError} `undecodable` for a key that could change the structure of the subject. */
function checked(key: string): string {
  if (!validKey.test(key)) throw new BusError('undecodable', `${JSON.stringify(key)} is no valid key of a bucket`);
  return key;
}
