/**
 * Calls that wait for an approval. All session workers share one bucket, so an approver may ask any of them. Changes are made by
 * compare-and-set, so only one decision counts, and it is used once.
 */
import { shortApproval, type ApprovalRecord, type ApprovalState, type WorkerId } from '@omnibus/protocol';
import type { Bus, KeyValue, Watch } from './bus.ts';
import { changeValue } from './change-value.ts';
import { approvalsBucket } from './subjects.ts';

/** The decision about a waiting call. */
export interface ApprovalDecision {
  readonly state: 'approved' | 'refused';
  readonly by: string;
  /** `ISSUER|SUBJECT` of the approver; undefined for an unknown one, which cannot be one of several. */
  readonly person?: string | undefined;
  readonly reason?: string | undefined;
  /** With `approved`: milliseconds for which further calls are allowed; left out for this call alone. */
  readonly forMs?: number | undefined;
}

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

  /** Calls back with every present record, and then with every change. */
  watch(observer: (record: ApprovalRecord) => void): Promise<Watch> {
    return this.#bucket.watch((change) => {
      if (change.kind === 'put') observer(change.value);
    });
  }

  async get(id: string): Promise<ApprovalRecord | undefined> {
    return (await this.#bucket.get(id))?.value;
  }

  /** The records of the last day, the oldest first, without most of long arguments. */
  async all(): Promise<readonly ApprovalRecord[]> {
    const found: ApprovalRecord[] = [];
    const watch = await this.watch((record) => found.push(shortApproval(record)));
    watch.close();
    return found.toSorted((one, other) => one.at - other.at);
  }

  /**
   * Decides about a waiting call, once.
   * @param refusalOf the reason why this decision is not allowed, in words; undefined when it is.
   * @throws {Error} with a message for the approver.
   */
  async decide(
    id: string,
    decision: ApprovalDecision,
    refusalOf: (record: ApprovalRecord) => string | undefined,
  ): Promise<ApprovalRecord> {
    return this.#change(id, (record) => {
      const { state, by, reason, forMs } = decision;
      refuseUnlessWaiting(record);
      const refusal = refusalOf(record) ?? timeProblem(record, forMs);
      if (refusal !== undefined) throw new Error(refusal);
      const { quorum = 1 } = record;
      if (state === 'approved' && quorum > 1) return voted(record, quorum, decision);
      return {
        ...record,
        state,
        by,
        ...(reason === undefined ? {} : { reason }),
        ...(state === 'approved' && forMs !== undefined ? { forMs } : {}),
      };
    });
  }

  /** Takes back the approval of one of several approvers while the call waits for the others. @throws {Error} with a message for the approver. */
  async withdrawVote(id: string, person: string | undefined): Promise<ApprovalRecord> {
    return this.#change(id, (record) => {
      refuseUnlessWaiting(record);
      const votes = record.votes?.filter((vote) => vote.person !== person) ?? [];
      if (votes.length === (record.votes?.length ?? 0)) throw new Error(`you have not approved ${id}`);
      return { ...record, votes };
    });
  }

  /**
   * Changes the state of a record whose call waits no more, and cuts long arguments: waiting calls need the room.
   * @param worker the session worker that held the call when it learned the outcome.
   * @returns false when the record is not in the expected state, because another process was first, or when another worker holds the call by now.
   */
  async close(id: string, from: ApprovalState, to: ApprovalState, worker?: WorkerId): Promise<boolean> {
    let isChanged = false;
    await this.#change(id, (record) => {
      isChanged = record.state === from && (worker === undefined || record.worker === worker);
      return isChanged ? { ...shortApproval(record), state: to } : record;
    });
    return isChanged;
  }

  /** Removes the record of a call that waits no more. */
  async remove(id: string): Promise<void> {
    await this.#bucket.delete(id);
  }

  /** Another session worker holds the call from now on. @returns the record as it is then. @throws {Error} when there is none. */
  take(id: string, worker: WorkerId): Promise<ApprovalRecord> {
    return this.#change(id, (record) => ({ ...record, worker }));
  }

  #change(id: string, changed: (record: ApprovalRecord) => ApprovalRecord): Promise<ApprovalRecord> {
    return changeValue(this.#bucket, id, (record) => {
      if (record === undefined) throw new Error(`there is no call ${id} that waits for an approval`);
      return changed(record);
    });
  }
}

/** Why an approval cannot be for a time. */
function timeProblem({ rule, lasts }: ApprovalRecord, forMs: number | undefined): string | undefined {
  if (forMs === undefined || (lasts !== undefined && forMs <= lasts)) return undefined;
  return lasts === undefined
    ? `the rule ${JSON.stringify(rule)} needs an approval of each call (it has no \`lasts\`): approve this call alone`
    : `the rule ${JSON.stringify(rule)} allows further calls for at most ${Math.floor(lasts / 1_000)} s (\`lasts\`)`;
}

/** @throws {Error} with a message for the approver. */
function refuseUnlessWaiting({ id, state, by, until }: ApprovalRecord): void {
  if (state !== 'waiting')
    throw new Error(`${id} does not wait any more: ${state}${by === undefined ? '' : ` by ${by}`}`);
  if (until <= Date.now())
    throw new Error(`${id} does not wait any more: its time was over at ${new Date(until).toISOString()}`);
}

/** The record with one more approval; it is approved with the last one that it needs. Further calls are allowed for the shortest of the times. */
function voted(record: ApprovalRecord, quorum: number, { by, person, forMs }: ApprovalDecision): ApprovalRecord {
  const { votes = [] } = record;
  if (person === undefined)
    throw new Error(`this needs ${quorum} approvers, and who approves is not known here (auth.admin)`);
  if (votes.some((vote) => vote.person === person))
    throw new Error(`you have approved it: it needs ${quorum} different approvers`);
  const all = [...votes, { person, by, at: Date.now(), ...(forMs === undefined ? {} : { forMs }) }];
  if (all.length < quorum) return { ...record, votes: all };
  const times = all.map((vote) => vote.forMs ?? 0);
  const shortest = Math.min(...times);
  return {
    ...record,
    votes: all,
    state: 'approved',
    by: all.map((vote) => vote.by).join(', '),
    ...(shortest > 0 ? { forMs: shortest } : {}),
  };
}
