/**
 * Calls that wait for approvers: kept in a bucket that session workers share, so that whoever approves may ask any of them. What changes there is
 * changed by compare-and-set, so one decision counts, and is used once.
 */
import type { ApprovalRecord, ApprovalState } from '@omnibus/protocol';
import type { Bus, KeyValue, KeyValueEntry, Watch } from './bus.ts';
import { BusError } from './errors.ts';
import { approvalsBucket } from './subjects.ts';

/** What is decided of a call that waits. */
export interface ApprovalDecision {
  readonly state: 'approved' | 'refused';
  readonly by: string;
  readonly reason?: string | undefined;
}

/** Several may change one at once; each try sees what the last one wrote. */
const maxTries = 5;

export class ApprovalBoard {
  readonly #bucket: KeyValue<ApprovalRecord>;

  static async open(bus: Bus): Promise<ApprovalBoard> {
    return new ApprovalBoard(await bus.keyValue<ApprovalRecord>(approvalsBucket));
  }

  private constructor(bucket: KeyValue<ApprovalRecord>) {
    this.#bucket = bucket;
  }

  async post(record: ApprovalRecord): Promise<void> {
    await this.#bucket.create(record.id, record);
  }

  /** Hears of every change, and of what is there. */
  watch(observer: (record: ApprovalRecord) => void): Promise<Watch> {
    return this.#bucket.watch((change) => {
      if (change.kind === 'put') observer(change.value);
    });
  }

  async get(id: string): Promise<ApprovalRecord | undefined> {
    return (await this.#bucket.get(id))?.value;
  }

  /** Those of the last day, the oldest first. */
  async all(): Promise<readonly ApprovalRecord[]> {
    const found: ApprovalRecord[] = [];
    const watch = await this.watch((record) => found.push(record));
    watch.close();
    return found.toSorted((one, other) => one.at - other.at);
  }

  /**
   * Decides what waits, once.
   * @param refusalOf why it may not be decided so, in words.
   * @throws {Error} in words for whoever decides.
   */
  async decide(id: string, { state, by, reason }: ApprovalDecision, refusalOf: (record: ApprovalRecord) => string | undefined): Promise<ApprovalRecord> {
    return this.#change(id, (record) => {
      if (record.state !== 'waiting') throw new Error(`${id} does not wait any more: ${record.state}${record.by === undefined ? '' : ` by ${record.by}`}`);
      if (record.until <= Date.now()) throw new Error(`${id} does not wait any more: its time was over at ${new Date(record.until).toISOString()}`);
      const refusal = refusalOf(record);
      if (refusal !== undefined) throw new Error(refusal);
      return { ...record, state, by, ...(reason === undefined ? {} : { reason }) };
    });
  }

  /** Says what became of it. @returns false where it is not in the state it has to be in: somebody else was first. */
  async close(id: string, from: ApprovalState, to: ApprovalState): Promise<boolean> {
    let isChanged = false;
    await this.#change(id, (record) => {
      isChanged = record.state === from;
      return isChanged ? { ...record, state: to } : record;
    });
    return isChanged;
  }

  async #change(id: string, changed: (record: ApprovalRecord) => ApprovalRecord): Promise<ApprovalRecord> {
    for (let tries = 1; ; tries += 1) {
      const entry: KeyValueEntry<ApprovalRecord> | undefined = await this.#bucket.get(id);
      if (entry === undefined) throw new Error(`there is no call ${id} that waits for an approval`);
      const next = changed(entry.value);
      if (next === entry.value) return next;
      try {
        await this.#bucket.update(id, next, entry.revision);
        return next;
      } catch (error) {
        if (!(error instanceof BusError) || error.kind !== 'revision-conflict' || tries >= maxTries) throw error;
      }
    }
  }
}
