/** Calls that wait for approvers, as the API of any process shows and decides them: it asks the processes that hold calls. */
import type { Approval, ApprovalPage, Approvals, Decided, Decision } from '@omnibus/admin-api';
import { z } from 'zod';
import { type Administrator, mayDo } from '../roles.ts';
import { mayLook, obstacleOf, type Approver } from '../approval-rules.ts';
import { ApiProblem } from './api-problem.ts';
import { sentApproval, type SentApproval } from './approval-desk.ts';
import { positionOf } from './board.ts';
import type { CallHolders } from './call-holders.ts';

/** Records of one answer: each has at most 4,000 characters of arguments, and a message of the bus at most a megabyte. */
const pageLength = 50;

const listed = z.object({ approvals: z.array(sentApproval), waiting: z.number(), total: z.number() });
const found = z.object({ approval: sentApproval.optional() });
const outcome = z.union([
  z.object({ approval: sentApproval }),
  z.object({ kind: z.enum(['over', 'changed', 'forbidden', 'unsigned']), problem: z.string() }),
]);

/** Records without a caller yet. */
export interface RawApprovals extends Omit<Approvals, 'approvals'> {
  readonly approvals: readonly SentApproval[];
}

export class ApprovalsOfAll {
  readonly #holders: CallHolders;

  constructor(holders: CallHolders) {
    this.#holders = holders;
  }

  /** @param of the caller; if left out, all records. */
  async list({
    of,
    state,
    cursor,
  }: {
    readonly of?: Approver | undefined;
    readonly state?: 'waiting' | 'over' | undefined;
    readonly cursor?: string | undefined;
  }): Promise<RawApprovals> {
    const from = positionOf(cursor);
    const { answer, missing } = await this.#holders.first(
      'approvals',
      {
        ...(of === undefined ? {} : { of: sent(of) }),
        ...(state === undefined ? {} : { state }),
        from,
        limit: pageLength,
      },
      listed,
    );
    const next = from + pageLength;
    return { at: new Date().toISOString(), ...answer, ...(answer.total > next ? { next: String(next) } : {}), missing };
  }

  async one(id: string, by: Administrator): Promise<ApprovalPage> {
    const {
      answer: { approval },
    } = await this.#holders.first('approval', { id }, found);
    if (approval === undefined || !mayLook(by, approval)) throw unknown(id);
    return { at: new Date().toISOString(), approval: this.shown(approval, by) };
  }

  /** @throws {ApiProblem} when the decision does not count; `forbidden` if the caller may not make it, `unknown` without such a call. */
  async decide(
    id: string,
    { digest, approve, reason, forMs, withdraw }: Decision & { readonly withdraw?: true },
    by: Administrator,
  ): Promise<Decided & { readonly approval: SentApproval }> {
    const { process, answer: known } = await this.#holders.first('approval', { id }, found);
    if (known.approval === undefined) throw unknown(id);
    const answer = await this.#holders.decide(
      process,
      'approval-decide',
      {
        id,
        digest,
        approve,
        ...(withdraw === undefined ? {} : { withdraw }),
        ...(reason === undefined ? {} : { reason }),
        ...(forMs === undefined ? {} : { forMs }),
        by: by.name,
        ...(by.facts === undefined ? {} : { facts: by.facts }),
      },
      outcome,
    );
    if ('approval' in answer)
      return { id, state: stateOf(answer.approval, approve), by: by.name, approval: answer.approval };
    if (answer.kind === 'forbidden') throw new ApiProblem('forbidden', answer.problem);
    throw new ApiProblem(
      'conflict',
      answer.problem,
      answer.kind === 'unsigned'
        ? 'do all processes have the same sealing key, and clocks that are right?'
        : 'look at it again',
    );
  }

  /** A record as a caller may see it. */
  shown(record: SentApproval, by: Approver): Approval {
    const { votes, ...rest } = record;
    const isVoted =
      by.facts !== undefined &&
      votes?.some(({ person }) => person === `${by.facts?.issuer}|${by.facts?.subject}`) === true;
    const obstacle =
      record.state !== 'waiting'
        ? undefined
        : mayDo('approvals.decide', by.roles)
          ? (obstacleOf(by, record) ?? (isVoted ? votedWords(record) : this.#holders.unable))
          : 'you may look at it, and not decide it';
    return {
      ...rest,
      ...(votes === undefined ? {} : { votes: votes.map((vote) => ({ by: vote.by, at: vote.at })) }),
      ...(isVoted && record.state === 'waiting' ? { isVoted } : {}),
      mayDecide: record.state === 'waiting' && obstacle === undefined,
      ...(obstacle === undefined ? {} : { obstacle }),
    };
  }
}

function unknown(id: string): ApiProblem {
  return new ApiProblem(
    'unknown',
    `no call ${JSON.stringify(id.slice(0, 64))} waits that you may see`,
    'look at the list: it has those of the last day',
  );
}

function sent({ roles, facts }: Approver): Approver {
  return { roles, facts };
}

/** What became of a call by one decision: with a quorum it may wait for further approvers. */
function stateOf({ state }: SentApproval, approve: boolean): Decided['state'] {
  if (state === 'waiting') return state;
  return approve ? 'approved' : 'refused';
}

function votedWords({ quorum = 1, votes = [] }: SentApproval): string {
  return `you have approved it, and it waits for ${quorum - votes.length} more`;
}
