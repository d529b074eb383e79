/**
 * Rights that approvers have given for a time. Every session worker watches the bucket with the records, so that grants and their ends take effect everywhere
 * at once. Only session workers write it. Grants survive restarts.
 */
import type { BlockRecord, GrantRecord } from '@omnibus/protocol';
import type { Bus, KeyValue, Watch } from './bus.ts';
import { changeValue } from './change-value.ts';
import { deleteUnchanged, Room } from './room.ts';
import { grantsBucket } from './subjects.ts';

/** Records that are over stay visible for a day. */
const shownMs = 86_400_000;

interface Kept {
  readonly record: GrantRecord;
  /** Undefined until the watch has passed it on. */
  readonly revision: number | undefined;
}

export class Grants {
  readonly #bucket: KeyValue<GrantRecord>;
  readonly #records = new Map<string, Kept>();
  readonly #listeners = new Set<() => void>();
  readonly #room = new Room(() => this.#sweep());
  #watch: Watch | undefined;

  static async open(bus: Bus): Promise<Grants> {
    const grants = new Grants(await bus.keyValue<GrantRecord>(grantsBucket));
    grants.#watch = await grants.#bucket.watch((change) => {
      if (change.kind === 'put') grants.#records.set(change.key, { record: change.value, revision: change.revision });
      else grants.#records.delete(change.key);
      grants.#changed();
    });
    return grants;
  }

  private constructor(bucket: KeyValue<GrantRecord>) {
    this.#bucket = bucket;
  }

  /** The records that are active, and those of the last day that are over. */
  get all(): readonly GrantRecord[] {
    const since = Date.now() - shownMs;
    return [...this.#records.values()].flatMap(({ record }) => (record.until >= since ? [record] : []));
  }

  /** The first active record that fits. */
  find(fits: (record: GrantRecord) => boolean): GrantRecord | undefined {
    for (const { record } of this.#records.values()) if (isActive(record) && fits(record)) return record;
    return undefined;
  }

  active(fits: (record: GrantRecord) => boolean): readonly GrantRecord[] {
    return [...this.#records.values()].flatMap(({ record }) => (isActive(record) && fits(record) ? [record] : []));
  }

  /** Calls back after every change. */
  onChanged(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Adds a record. One that is there stays: a session worker that is gone has stored it for the same approval. */
  async add(record: GrantRecord): Promise<void> {
    if (this.#records.has(record.id)) return;
    // At once, so that the next call meets it.
    this.#put(record);
    try {
      await this.#room.write(() => this.#bucket.create(record.id, record));
    } catch (error) {
      this.#records.delete(record.id);
      throw error;
    }
    this.#room.tidy();
  }

  /** Removes records that are not shown any more. */
  async #sweep(): Promise<void> {
    const since = Date.now() - shownMs;
    for (const [id, { record, revision }] of [...this.#records]) {
      if (record.until >= since || revision === undefined) continue;
      await deleteUnchanged(this.#bucket, id, revision);
      // Also if the bucket has removed it by age, which the watch does not pass on.
      if (this.#records.get(id)?.revision === revision) this.#records.delete(id);
    }
  }

  /**
   * Changes a record, from its latest value.
   * @param changed the next value. It throws an error with a message for the person if the change is not possible.
   * @throws {Error} with a message for the person.
   */
  async change(id: string, changed: (record: GrantRecord) => GrantRecord): Promise<GrantRecord> {
    const next = await changeValue(this.#bucket, id, (record) => {
      if (record === undefined) throw new Error(`there is no grant ${id}`);
      return changed(record);
    });
    this.#put(next);
    return next;
  }

  /**
   * Ends the active grants of a user that its directory has deactivated or deleted. Every session worker does so; the first one writes. Never rejects.
   * @param gone with the name `ISSUER|SUBJECT`; a user that signs in at this issuer through the gateway has that as its subject.
   */
  async endOf(gone: Pick<BlockRecord, 'name' | 'tenant' | 'isAnyCase'>): Promise<void> {
    const same = (text: string): string => (gone.isAnyCase === true ? text.toLowerCase() : text);
    const name = same(gone.name);
    const isOf = ({ who: [user = ''], tenant }: GrantRecord): boolean =>
      tenant === gone.tenant && (same(user) === name || same(user).endsWith(`|${name}`));
    for (const { id } of this.active(isOf))
      await this.change(id, (record) => {
        if (!isActive(record)) throw new Error('another worker has ended it');
        return { ...record, state: 'ended', endedBy: 'scim' };
      }).catch(() => undefined);
  }

  close(): void {
    this.#watch?.close();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  #put(record: GrantRecord): void {
    this.#records.set(record.id, { record, revision: undefined });
  }
}

function isActive({ state, until }: GrantRecord): boolean {
  return state === 'active' && Date.now() < until;
}
