/**
 * Ledgers on JetStream: a stream with a subject for each writer, below one of its role, from which nothing is removed before its time. NATS checks that an entry follows the last
 * one of its writer, so a writer notices what another process writes under its name, and an entry that comes twice is stored once. Entries carry no
 * `Nats-Msg-Id`: another process that guesses the next id would make NATS drop the entry as a duplicate.
 */
import { jetstream, JetStreamApiError, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Ledger, LedgerDefinition, LedgerEntry } from '../bus.ts';
import { BusError } from '../errors.ts';
import { root } from '../subject.ts';
import type { BusRole } from '../families.ts';
import { isMessageMissing, type Streams } from './jetstream.ts';
import { busRoles } from './permissions.ts';
import { managerOptions, nameAt, type NatsPlace } from './place.ts';
import { ledgerStream } from './streams.ts';

/** JetStream's "no message found", "wrong last sequence" and "maximum bytes exceeded". */
const codes = { wrongLast: [10_071, 10_164], full: [10_047, 10_077] } as const;
const answerMs = 5_000;

/** Opens a ledger. Its stream is created, where it is missing and this process may; else it waits for the set-up. */
export async function openLedger(
  connection: NatsConnection,
  place: NatsPlace,
  streams: Streams,
  definition: LedgerDefinition,
): Promise<Ledger> {
  const wanted = ledgerStream(place, definition);
  await streams.open(wanted);
  return new NatsLedger(
    wanted.name,
    nameAt(place, `${root}.${definition.family}`),
    streams,
    await streams.manager,
    jetstream(connection, managerOptions(place)),
  );
}

class NatsLedger implements Ledger {
  readonly #stream: string;
  /** The beginning of all subjects, without a dot. */
  readonly #family: string;
  readonly #streams: Streams;
  readonly #manager: JetStreamManager;
  readonly #client: JetStreamClient;
  /** Sequence number of the last entry of each writer of this process. */
  readonly #last = new Map<string, number>();

  constructor(stream: string, family: string, streams: Streams, manager: JetStreamManager, client: JetStreamClient) {
    this.#stream = stream;
    this.#family = family;
    this.#streams = streams;
    this.#manager = manager;
    this.#client = client;
  }

  async append(writer: string, text: string): Promise<number> {
    const subject = this.#subjectOf(writer);
    try {
      const { seq } = await this.#client.publish(subject, text, {
        timeout: answerMs,
        expect: { lastSubjectSequence: this.#last.get(writer) ?? 0 },
      });
      this.#last.set(writer, seq);
      return seq;
    } catch (error) {
      const code = error instanceof JetStreamApiError ? error.code : 0;
      if ((codes.full as readonly number[]).includes(code))
        throw new BusError('overloaded', `the stream ${this.#stream} is full`, error);
      if (!(codes.wrongLast as readonly number[]).includes(code)) {
        // Nothing takes it: the store may have been lost. The entry comes again.
        if (code === 0) this.#streams.again(this.#stream).catch(() => undefined);
        throw new BusError('timeout', `the stream ${this.#stream} has not taken an entry: ${String(error)}`, error);
      }
      return this.#findOwn(writer, subject, text);
    }
  }

  /** The entry may be stored already, if only the answer was lost. */
  async #findOwn(writer: string, subject: string, text: string): Promise<number> {
    const last = await this.#stored({ last_by_subj: subject });
    if (last === undefined) {
      // All that this writer has written has expired.
      this.#last.delete(writer);
      throw new BusError('timeout', `the stream ${this.#stream} has nothing of ${writer} any more`);
    }
    if (last.string() !== text)
      throw new BusError('revision-conflict', `another process has written to the stream ${this.#stream} as ${writer}`);
    this.#last.set(writer, last.seq);
    return last.seq;
  }

  async *read(writer?: string, after = 0): AsyncGenerator<LedgerEntry> {
    const subject = writer === undefined ? `${this.#family}.>` : this.#subjectOf(writer);
    for (let next = after + 1; ;) {
      const message = await this.#stored({ seq: next, next_by_subj: subject });
      if (message === undefined) return;
      yield { writer: writerOf(message.subject, this.#family), text: message.string(), number: message.seq };
      next = message.seq + 1;
    }
  }

  async *readBack(before?: number): AsyncGenerator<LedgerEntry> {
    // Texts expire from the oldest on, so that the first one that is missing is the end.
    for (let next = before === undefined ? undefined : before - 1; next === undefined || next > 0;) {
      const message = await this.#stored(next === undefined ? { last_by_subj: `${this.#family}.>` } : { seq: next });
      if (message === undefined) return;
      yield { writer: writerOf(message.subject, this.#family), text: message.string(), number: message.seq };
      next = message.seq - 1;
    }
  }

  async #stored(
    which: { readonly seq: number; readonly next_by_subj?: string } | { readonly last_by_subj: string },
  ): Promise<{ readonly seq: number; readonly subject: string; string(): string } | undefined> {
    // Asked of the stream's leader, which knows the latest entry; the client's types know `seq` with a subject for replicas only.
    try {
      return (await this.#manager.streams.getMessage(this.#stream, which as { readonly seq: number })) ?? undefined;
    } catch (error) {
      if (isMessageMissing(error)) return undefined;
      throw error;
    }
  }

  #subjectOf(writer: string): string {
    return `${this.#family}.${roleOf(writer)}.${writer}`;
  }
}

/** The writer that a subject names. Under the subject of a role that is not the writer's, another process has written: then both are the name, which no writer has. */
function writerOf(subject: string, family: string): string {
  const name = subject.slice(family.length + 1);
  const [role = '', writer] = name.split('.');
  return writer !== undefined && roleOf(writer) === role ? writer : name;
}

/** The role that may write under a name, which begins with it; a process of all roles has the permissions of each. */
function roleOf(writer: string): BusRole {
  const role = writer.slice(0, writer.indexOf('-'));
  return busRoles.find((each) => each === role) ?? 'session';
}
