/**
 * Calls that wait for approvers, of all session workers, for the MCP clients of approvers that are connected to this one (`access.approvals.clients`). A
 * decision goes to the board, where the first one counts, whichever way it came.
 */
import { approvalObstacle, isApprover } from '@omnibus/identity';
import { shortApproval, type ApprovalRecord, type Facts } from '@omnibus/protocol';
import type { ApprovalFormOutcome, Logger, Metrics } from '@omnibus/telemetry';
import type { Board } from './board.ts';

/** One client, as far as the desk knows it. */
export interface ApproversClient {
  /** There may be something to show. */
  look(): void;
  /** A call does not wait any more. */
  ended(id: string): void;
}

/** A user's decision in a form. */
export interface FormVerdict {
  readonly state: 'approved' | 'refused';
  readonly reason?: string | undefined;
  /** Milliseconds for which further calls are approved. */
  readonly forMs?: number | undefined;
}

export interface ApproverDeskOptions {
  readonly board: Pick<Board, 'follow' | 'decide'>;
  /** `auth.admin.roles`. */
  readonly roles: Parameters<typeof isApprover>[1];
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'approvalForm'>;
}

/** Bound on stored calls for forms, of about four kilobytes each. Further ones wait for approvers at the admin port, and are counted. */
const maxKept = 2_000;

export class ApproverDesk {
  readonly #options: ApproverDeskOptions;
  readonly #waiting = new Map<string, ApprovalRecord>();
  readonly #clients = new Set<ApproversClient>();

  constructor(options: ApproverDeskOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    return this.#options.board.follow((record) => this.#hear(record));
  }

  /** Calls that wait, the oldest first. */
  get waiting(): ReadonlyMap<string, ApprovalRecord> {
    return this.#waiting;
  }

  join(client: ApproversClient): void {
    this.#clients.add(client);
  }

  leave(client: ApproversClient): void {
    this.#clients.delete(client);
  }

  /** Whether a user may decide a call now. */
  isFor(facts: Facts | undefined, record: ApprovalRecord): boolean {
    return this.#problemOf(facts, record, record.digest) === undefined && record.until > Date.now();
  }

  /**
   * Decides about a call, if it still waits and the person may.
   * @param shown the call as the person saw it.
   */
  async decide(
    facts: Facts | undefined,
    shown: ApprovalRecord,
    { state, reason, forMs }: FormVerdict,
  ): Promise<'approved' | 'refused' | 'late'> {
    const person = facts === undefined ? undefined : `${facts.issuer}|${facts.subject}`;
    const by = person ?? 'nobody';
    try {
      await this.#options.board.decide(shown.id, { state, by, person, reason, forMs }, (record) =>
        this.#problemOf(facts, record, shown.digest),
      );
      return state;
    } catch (error) {
      this.#options.log.info(
        { approval: shown.id, by, problem: (error as Error).message },
        'what an approver has decided in a form has no effect',
      );
      return 'late';
    }
  }

  count(outcome: ApprovalFormOutcome): void {
    this.#options.metrics.approvalForm(outcome);
  }

  #problemOf(facts: Facts | undefined, record: ApprovalRecord, digest: string): string | undefined {
    if (facts === undefined || !isApprover(facts, this.#options.roles))
      return 'this is for users with the role approver, operator or admin';
    if (facts.expiresAt !== undefined && facts.expiresAt <= Date.now()) return 'the credential has expired';
    return record.digest === digest ? approvalObstacle(facts, record) : 'this is not the call that was shown';
  }

  #hear(record: ApprovalRecord): void {
    const { id, state, until } = record;
    if (state !== 'waiting') {
      if (this.#waiting.delete(id)) for (const client of this.#clients) client.ended(id);
      return;
    }
    if (this.#waiting.has(id) || until <= Date.now()) return;
    if (this.#waiting.size >= maxKept) this.#forgetOverdue();
    if (this.#waiting.size >= maxKept) {
      this.count('skipped');
      return;
    }
    this.#waiting.set(id, shortApproval(record));
    for (const client of this.#clients) client.look();
  }

  /** Calls of a worker that is gone stay where they are until their time is over. */
  #forgetOverdue(): void {
    const now = Date.now();
    for (const [id, { until }] of this.#waiting) {
      if (until > now) continue;
      this.#waiting.delete(id);
      for (const client of this.#clients) client.ended(id);
    }
  }
}
