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
  async get(id: string): Promise<ConversationRecord | undefined> {
    const record = (await this.#bucket.get(id))?.value;
    return record !== undefined && record.until > Date.now() ? record : undefined;
  }

  /**
   * Adds labels; one that is there keeps its first source.
   * @param keepMs milliseconds after which the conversation is forgotten unless labels are added or it is kept again.
   * @returns the record with them.
   */
  add(of: ConversationOf, labels: readonly ConversationLabel[], keepMs: number): Promise<ConversationRecord> {
    return this.#change(of.id, (present) => {
      const carried = present?.labels ?? [];
      const added = labels.filter(({ label }) => !carried.some((each) => each.label === label));
      return { ...of, labels: [...carried, ...added], until: Date.now() + keepMs };
    });
  }

  /** Removes the record of a conversation that has ended. */
  async forget(id: string): Promise<void> {
    if ((await this.#bucket.get(id)) !== undefined) await this.#bucket.delete(id);
  }

  async #change(
    id: string,
    changed: (record: ConversationRecord | undefined) => ConversationRecord,
  ): Promise<ConversationRecord> {
    for (let tries = 1; ; tries += 1) {
      const entry = await this.#bucket.get(id);
      const present = entry !== undefined && entry.value.until > Date.now() ? entry.value : undefined;
      const next = changed(present);
      if (next === present) return next;
      try {
        if (entry === undefined) await this.#bucket.create(id, next);
        else await this.#bucket.update(id, next, entry.revision);
        return next;
      } catch (error) {
        if (!(error instanceof BusError) || error.kind !== 'revision-conflict' || tries >= maxTries) throw error;
      }
    }
  }
}
