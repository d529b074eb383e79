/**
 * The labels of conversations. All session workers share one bucket, so labels survive the worker that added them, and requests without a session meet them at
 * any worker. Changes are made by compare-and-set, so that two results at once add both of their labels.
 */
import type { ConversationLabel, ConversationRecord } from '@omnibus/protocol';
import type { Bus, KeyValue } from './bus.ts';
import { changeValue } from './change-value.ts';
import { deleteUnchanged } from './room.ts';
import { conversationsBucket } from './subjects.ts';

/** A label is not there, or may not be removed; the message is for a person. */
export class LabelProblem extends Error {
  readonly kind: 'unknown' | 'forbidden';

  constructor(kind: LabelProblem['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** A conversation without its labels. */
export type ConversationOf = Omit<ConversationRecord, 'labels' | 'until'>;

export class ConversationBoard {
  readonly #bucket: KeyValue<ConversationRecord>;

  /** @throws {BusError} as the bus does. */
  static async open(bus: Bus): Promise<ConversationBoard> {
    return new ConversationBoard(await bus.keyValue<ConversationRecord>(conversationsBucket));
  }

  private constructor(bucket: KeyValue<ConversationRecord>) {
    this.#bucket = bucket;
  }

  /** @returns undefined for a conversation that carries nothing, or has expired. */
  async #get(id: string): Promise<ConversationRecord | undefined> {
    const record = (await this.#bucket.get(id))?.value;
    return record !== undefined && record.until > Date.now() ? record : undefined;
  }

  /** The record before a call, which keeps its conversation from being forgotten. */
  async keep(of: ConversationOf, keepMs: number): Promise<ConversationRecord | undefined> {
    const record = await this.#get(of.id);
    return record === undefined || isFresh(record, keepMs) ? record : (await this.add(of, [], keepMs)).record;
  }

  /**
   * Adds labels; one that is there keeps its first source. Without a new label, a record is written only if a quarter of its time is over.
   * @param keepMs milliseconds after which the conversation is forgotten unless labels are added or it is kept again.
   * @returns the record with them, and those that it did not have before.
   */
  async add(
    of: ConversationOf,
    labels: readonly ConversationLabel[],
    keepMs: number,
  ): Promise<{ readonly record: ConversationRecord; readonly added: readonly ConversationLabel[] }> {
    let added: readonly ConversationLabel[] = [];
    const record = await changeValue(this.#bucket, of.id, (kept): ConversationRecord => {
      const present = kept !== undefined && kept.until > Date.now() ? kept : undefined;
      const carried = present?.labels ?? [];
      added = labels.filter(({ label }) => !carried.some((each) => each.label === label));
      if (present !== undefined && added.length === 0 && isFresh(present, keepMs)) return present;
      return { ...of, labels: [...carried, ...added], until: Date.now() + keepMs };
    });
    return { record, added };
  }

  /** Calls back with each conversation that has labels. */
  async each(visit: (record: ConversationRecord) => void): Promise<void> {
    const now = Date.now();
    const watch = await this.#bucket.watch((change) => {
      if (change.kind === 'put' && change.value.until > now && change.value.labels.length > 0) visit(change.value);
    });
    watch.close();
  }

  /**
   * Removes a label of a conversation, for all requests from now on. A result that comes later may add it again.
   * @param refusal the reason why the person may not; undefined if the person may.
   * @returns the record before, and the label with its source.
   * @throws {LabelProblem}
   */
  async clear(
    id: string,
    label: string,
    refusal: (record: ConversationRecord) => LabelProblem | undefined,
  ): Promise<{ readonly record: ConversationRecord; readonly cleared: ConversationLabel }> {
    let found!: { readonly record: ConversationRecord; readonly cleared: ConversationLabel };
    await changeValue(this.#bucket, id, (record) => {
      if (record === undefined || record.until <= Date.now())
        throw new LabelProblem('unknown', `there is no conversation ${id} with labels`);
      const refused = refusal(record);
      if (refused !== undefined) throw refused;
      const cleared = record.labels.find((each) => each.label === label);
      if (cleared === undefined)
        throw new LabelProblem('unknown', `conversation ${id} does not have the label ${JSON.stringify(label)}`);
      found = { record, cleared };
      return { ...record, labels: record.labels.filter((each) => each !== cleared) };
    });
    return found;
  }

  /** Removes the record of a conversation that has expired. @returns when it expires; undefined if it is gone. */
  async drop(id: string): Promise<number | undefined> {
    const entry = await this.#bucket.get(id);
    if (entry === undefined || entry.value.until > Date.now()) return entry?.value.until;
    await deleteUnchanged(this.#bucket, id, entry.revision);
    return undefined;
  }

  /** Removes the records of all conversations that have expired. @returns how many. */
  async sweep(): Promise<number> {
    const now = Date.now();
    const expired: { readonly key: string; readonly revision: number }[] = [];
    const watch = await this.#bucket.watch((change) => {
      if (change.kind === 'put' && change.value.until <= now) expired.push(change);
    });
    watch.close();
    for (const { key, revision } of expired) await deleteUnchanged(this.#bucket, key, revision);
    return expired.length;
  }

  /** Removes the record of a conversation that has ended. */
  async forget(id: string): Promise<void> {
    if ((await this.#bucket.get(id)) !== undefined) await this.#bucket.delete(id);
  }
}

/** Whether less than a quarter of its time is over. */
function isFresh({ until }: ConversationRecord, keepMs: number): boolean {
  return until >= Date.now() + (3 / 4) * keepMs;
}
