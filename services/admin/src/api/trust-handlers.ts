/** The operations of the API about calls that wait for approvers and about definitions of servers. */
import type { IncomingMessage } from 'node:http';
import type { Approvals, Decided } from '@omnibus/admin-api';
import { mayLook, type Approver } from '../approval-rules.ts';
import { ApiProblem, withoutEffect } from './api-problem.ts';
import type { ApprovalsOfAll, RawApprovals } from './approval-board.ts';
import type { DefinitionsOfAll } from './definition-board.ts';
import type { ApiOptions } from './options.ts';
import type { Handlers } from './site.ts';

interface TrustOptions extends Pick<ApiOptions, 'note' | 'denied'> {
  readonly access: Pick<ApiOptions['access'], 'of'>;
  readonly approvals: () => Pick<ApprovalsOfAll, 'list' | 'one' | 'decide' | 'shown'>;
  readonly definitions: () => DefinitionsOfAll;
}

/** Bound on the definitions that one audit record names. */
const maxRecorded = 500;

export function trustHandlers({
  access,
  approvals,
  definitions,
  note,
  denied,
}: TrustOptions): Pick<
  Handlers,
  'approvals' | 'approval' | 'decide' | 'withdrawVote' | 'definitions' | 'serverDefinitions' | 'approve'
> {
  return {
    approvals: async ({ request, query }) => {
      const by = access.of(request);
      return approvalsFor(by, await approvals().list({ of: by, ...query }), approvals());
    },
    approval: ({ request, given }) => approvals().one(given, access.of(request)),
    ...voteHandlers({ access, approvals, note, denied }),
    definitions: () => definitions().list(),
    serverDefinitions: ({ given }) => definitions().one(given),
    approve: async ({ request, given, body }) => {
      const { chosen, ...done } = await definitions().approve(given, body.approve);
      note(request, 'definitions.approve', {
        server: given,
        approved: chosen.slice(0, maxRecorded),
        count: chosen.length,
      });
      return done;
    },
  };
}

/** Decisions about calls; each is on record. */
function voteHandlers({
  access,
  approvals,
  note,
  denied,
}: Omit<TrustOptions, 'definitions'>): Pick<Handlers, 'decide' | 'withdrawVote'> {
  const recorded = async (
    request: IncomingMessage,
    id: string,
    act: string,
    decision: Parameters<ApprovalsOfAll['decide']>[1],
  ): Promise<Decided> => {
    try {
      const {
        approval: { server, tool, rule, digest },
        ...decided
      } = await approvals().decide(id, decision, access.of(request));
      const { reason, forMs } = decision;
      note(request, act, { approval: id, approval_digest: digest, server, tool, rule, reason, for_ms: forMs });
      return decided;
    } catch (error) {
      // A decision that has no effect is on record too: about a call that does not wait any more, or differs from the shown one.
      if (error instanceof ApiProblem && withoutEffect.has(error.reason))
        denied(request, act, { approval: id, problem: error.message });
      throw error;
    }
  };
  return {
    decide: ({ request, given, body }) =>
      recorded(request, given, body.approve ? 'approvals.approve' : 'approvals.refuse', body),
    withdrawVote: ({ request, given }) =>
      recorded(request, given, 'approvals.withdraw', { digest: '', approve: false, withdraw: true }),
  };
}

/** The visible records of a caller, out of all. */
export function approvalsFor(
  by: Approver,
  { approvals, ...rest }: RawApprovals,
  board: Pick<ApprovalsOfAll, 'shown'>,
): Approvals {
  const seen = approvals.filter((record) => mayLook(by, record));
  return {
    ...rest,
    approvals: seen.map((record) => board.shown(record, by)),
    ...(seen.length === approvals.length
      ? {}
      : { waiting: seen.filter(({ state }) => state === 'waiting').length, total: seen.length }),
  };
}
