/**
 * The labels of conversations. All session workers share one bucket, so labels survive the worker that added them, and requests without a session meet them at
 * any worker. Changes are made by compare-and-set, so that two results at once add both of their labels.
 */
import type { ConversationLabel, ConversationRecord } from '@omnibus/protocol';
import type { Bus, KeyValue } from './bus.ts';
import { BusError } from './errors.ts';
import { conversationsBucket } from './subjects.ts';

/** Several workers may change a record at once; each try starts from the latest value. */
const maxTries = 10;

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
    return record === undefined || isFresh(record, keepMs) ? record : this.add(of, [], keepMs);
  }

  /**
   * Adds labels; one that is there keeps its first source. Without a new label, a record is written only if a quarter of its time is over.
   * @param keepMs milliseconds after which the conversation is forgotten unless labels are added or it is kept again.
   * @returns the record with them.
   */
  async add(of: ConversationOf, labels: readonly ConversationLabel[], keepMs: number): Promise<ConversationRecord> {
    for (let tries = 1; ; tries += 1) {
      const entry = await this.#bucket.get(of.id);
      const present = entry !== undefined && entry.value.until > Date.now() ? entry.value : undefined;
      const carried = present?.labels ?? [];
      const added = labels.filter(({ label }) => !carried.some((each) => each.label === label));
      if (present !== undefined && added.length === 0 && isFresh(present, keepMs)) return present;
      const next: ConversationRecord = { ...of, labels: [...carried, ...added], until: Date.now() + keepMs };
      try {
        if (entry === undefined) await this.#bucket.create(of.id, next);
        else await this.#bucket.update(of.id, next, entry.revision);
        return next;
      } catch (error) {
        if (!(error instanceof BusError) || error.kind !== 'revision-conflict' || tries >= maxTries) throw error;
      }
    }
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
