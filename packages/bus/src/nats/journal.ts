/**
 * Journals on JetStream: a stream that captures the subjects. Entries are read one by one, which needs no consumer and so costs the server nothing when
 * thousands of streams are read because a worker is gone.
 */
import type { NatsConnection } from '@nats-io/transport-node';
import { decode, encode } from '../codec.ts';
import type { Bus, Journal, JournalDefinition, OnFault, Watch } from '../bus.ts';
import { BusError } from '../errors.ts';
import type { Shape } from '../shapes/shape.ts';
import type { Subject } from '../subject.ts';
import { isMessageMissing, isStreamMissing, type Streams } from './jetstream.ts';
import { nameAt, type NatsPlace } from './place.ts';
import { journalStream } from './streams.ts';

interface Where {
  readonly connection: NatsConnection;
  readonly place: NatsPlace;
  readonly streams: Streams;
  readonly bus: Bus;
}

/** Opens a journal. Its stream is created, where it is missing and this process may; else it waits for the set-up. */
export async function openJournal<Entry>(
  where: Where,
  definition: JournalDefinition<Entry>,
  onFault: OnFault,
): Promise<Journal<Entry>> {
  await where.streams.open(journalStream(where.place, definition as JournalDefinition<never>));
  return new NatsJournal<Entry>(where, definition, onFault);
}

class NatsJournal<Entry> implements Journal<Entry> {
  readonly #where: Where;
  readonly #stream: string;
  readonly #shape: Shape<Entry> | undefined;
  readonly #onFault: OnFault;
  /** Bytes of a message that the server takes, as it said last. */
  #maxPayload = Infinity;

  constructor(where: Where, { name, shape }: JournalDefinition<Entry>, onFault: OnFault) {
    this.#where = where;
    this.#stream = nameAt(where.place, name);
    this.#shape = shape;
    this.#onFault = onFault;
  }

  append(to: Subject<Entry>, entry: Entry): void {
    const { connection, place } = this.#where;
    const bytes = encode(entry);
    // While the client connects again, it knows nothing of the server.
    this.#maxPayload = connection.info?.max_payload ?? this.#maxPayload;
    // A claim to a large message is valid only as long as its sender lives, and a journal is read when its sender is gone.
    if (bytes.length > this.#maxPayload)
      this.#onFault({
        kind: 'store',
        what: `an entry of ${bytes.length} bytes is too large for the journal ${this.#stream}`,
      });
    else if (!connection.isClosed() && !connection.isDraining()) connection.publish(nameAt(place, to.name), bytes);
  }

  async follow(subject: Subject<Entry>, observer: (entry: Entry) => void): Promise<Watch> {
    // The subscription comes first, so that no entry is missed between the stored ones and new ones; new ones wait until the stored ones were passed on.
    let waiting: Entry[] | undefined = [];
    const subscription = await this.#where.bus.subscribe(subject, (entry) =>
      waiting === undefined ? observer(entry) : void waiting.push(entry),
    );
    try {
      const name = nameAt(this.#where.place, subject.name);
      const last = (await this.#read({ last_by_subj: name }))?.seq ?? 0;
      for (let next = 1; next <= last;) {
        const message = await this.#read({ seq: next, next_by_subj: name });
        if (message === undefined) break;
        const entry = this.#readEntry(message.data);
        if (entry !== undefined) observer(entry);
        next = message.seq + 1;
      }
      for (const entry of waiting) observer(entry);
      waiting = undefined;
      return subscription;
    } catch (error) {
      subscription.close();
      throw error;
    }
  }

  /** Undefined for an invalid entry, which is passed over. */
  #readEntry(bytes: Uint8Array): Entry | undefined {
    try {
      const entry = decode(bytes);
      if (this.#shape !== undefined && this.#shape(entry) !== 'fits')
        throw new BusError('undecodable', 'the entry does not have the shape of its journal');
      return entry as Entry;
    } catch (error) {
      this.#onFault({
        kind: 'message',
        what: `an entry of ${this.#stream} could not be read`,
        family: this.#stream,
        error,
      });
      return undefined;
    }
  }

  /** Asks the stream's leader, which knows the latest entry; the client's types have the second form for replicas only. */
  async #read(
    which: { readonly last_by_subj: string } | { readonly seq: number; readonly next_by_subj: string },
  ): Promise<{ readonly seq: number; readonly data: Uint8Array } | undefined> {
    try {
      return (await (await this.#where.streams.manager).streams.getMessage(this.#stream, which)) ?? undefined;
    } catch (error) {
      if (isStreamMissing(error)) {
        await this.#where.streams.again(this.#stream);
        return undefined;
      }
      if (isMessageMissing(error)) return undefined;
      throw error;
    }
  }
}
