/** Calls that wait for approvers, as the API of any process shows and decides them: it asks the processes that hold calls. */
import type { Approval, ApprovalPage, Approvals, Decided, Decision, Missing } from '@omnibus/admin-api';
import { consoleMode, type Config } from '@omnibus/config';
import type { JsonObject } from '@omnibus/protocol';
import { z } from 'zod';
import type { SealingKeys } from '@omnibus/identity';
import { type Administrator, mayDo } from '../roles.ts';
import { mayLook, obstacleOf, type Approver } from '../approval-rules.ts';
import { ApiProblem } from './api-problem.ts';
import { sentApproval, type SentApproval } from './approval-desk.ts';
import { actMs, surveyMs, type Assembly, type Heard } from './assembly.ts';
import { positionOf } from './board.ts';
import { signDecision } from './decision-seal.ts';

export interface ApprovalBoardOptions {
  readonly assembly: Assembly;
  readonly config: () => Config;
  readonly keys: SealingKeys | undefined;
  /** Whether the bus has other processes, which accept signed decisions only. */
  readonly isShared: boolean;
}

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
  readonly #options: ApprovalBoardOptions;

  constructor(options: ApprovalBoardOptions) {
    this.#options = options;
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
    const { answer, missing } = await this.#first(
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
    } = await this.#first('approval', { id }, found);
    if (approval === undefined || !mayLook(by, approval))
      throw new ApiProblem(
        'unknown',
        `no call ${JSON.stringify(id.slice(0, 64))} waits that you may see`,
        'look at the list: it has those of the last day',
      );
    return { at: new Date().toISOString(), approval: this.shown(approval, by) };
  }

  /** @throws {ApiProblem} when the decision does not count; `forbidden` if the caller may not make it. */
  async decide(
    id: string,
    { digest, approve, reason }: Decision,
    by: Administrator,
  ): Promise<Decided & { readonly approval: SentApproval }> {
    const unable = this.#unable;
    if (unable !== undefined)
      throw new ApiProblem('conflict', unable, 'decide at the console of an edge or of a session worker');
    const { process } = await this.#first('approval', { id }, found);
    const said = JSON.stringify({
      id,
      digest,
      approve,
      ...(reason === undefined ? {} : { reason }),
      by: by.name,
      facts: by.facts,
      at: Date.now(),
    });
    const { keys } = this.#options;
    const heard = await this.#options.assembly.ask(
      'approval-decide',
      { to: process, said, ...(keys === undefined ? {} : { signature: signDecision(keys, said) }) },
      outcome,
      actMs,
    );
    const answer = heard.said.find((each) => each.process === process)?.body;
    if (answer === undefined)
      throw new ApiProblem(
        'conflict',
        'the process that writes it down did not answer: whether it is decided is not known',
        'look at the call again',
      );
    if ('approval' in answer)
      return { id, state: approve ? 'approved' : 'refused', by: by.name, approval: answer.approval };
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
    const obstacle =
      record.state !== 'waiting'
        ? undefined
        : mayDo('approvals.decide', by.roles)
          ? (obstacleOf(by, record) ?? this.#unable)
          : 'you may look at it, and not decide it';
    return {
      ...record,
      mayDecide: record.state === 'waiting' && obstacle === undefined,
      ...(obstacle === undefined ? {} : { obstacle }),
    };
  }

  /** Why no decision can be sent from this process. */
  get #unable(): string | undefined {
    const { config, keys, isShared } = this.#options;
    if (consoleMode(config()) !== 'full') return 'the console may only be looked at here';
    const { auth } = config();
    return isShared && auth !== undefined && auth !== 'none' && keys === undefined
      ? 'this process has no sealing key, so the others do not accept from it who decides'
      : undefined;
  }

  /** The answer of one of those that hold calls: all of them have the same. */
  async #first<Body>(
    about: string,
    args: JsonObject,
    shape: z.ZodType<Body>,
  ): Promise<{ readonly process: string; readonly answer: Body; readonly missing: Missing }> {
    const { said, missing }: Heard<Body> = await this.#options.assembly.ask(about, args, shape, surveyMs);
    const [first] = said.toSorted((one, other) => one.process.localeCompare(other.process));
    if (first === undefined)
      throw new ApiProblem(
        'starting',
        'no process with the role session answers, and those hold calls that wait',
        'is one there, of this version, and does it reach NATS? omnibus status says',
      );
    return {
      process: first.process,
      answer: first.body,
      missing: missing.filter(({ role }) => role === 'session' || role === 'all'),
    };
  }
}

function sent({ roles, facts }: Approver): JsonObject {
  return { roles: [...roles], ...(facts === undefined ? {} : { facts: facts as unknown as JsonObject }) };
}
