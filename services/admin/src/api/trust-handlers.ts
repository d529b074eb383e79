/** The operations of the API about calls that wait for approvers and about definitions of servers. */
import type { Approvals } from '@omnibus/admin-api';
import { mayLook, type Approver } from '../approval-rules.ts';
import { ApiProblem } from './api-problem.ts';
import type { ApprovalsOfAll, RawApprovals } from './approval-board.ts';
import type { DefinitionsOfAll } from './definition-board.ts';
import type { ApiOptions } from './options.ts';
import type { Handlers } from './site.ts';

interface TrustOptions extends Pick<ApiOptions, 'access' | 'note' | 'denied'> {
  readonly approvals: () => ApprovalsOfAll;
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
  'approvals' | 'approval' | 'decide' | 'definitions' | 'serverDefinitions' | 'approve'
> {
  return {
    approvals: async ({ request, query }) => {
      const by = access.of(request);
      return approvalsFor(by, await approvals().list({ of: by, ...query }), approvals());
    },
    approval: ({ request, given }) => approvals().one(given, access.of(request)),
    decide: async ({ request, given, body }) => {
      const act = body.approve ? 'approvals.approve' : 'approvals.refuse';
      try {
        const {
          approval: { server, tool, rule, digest },
          ...decided
        } = await approvals().decide(given, body, access.of(request));
        note(request, act, { approval: given, approval_digest: digest, server, tool, rule, reason: body.reason });
        return decided;
      } catch (error) {
        // A decision that has no effect is on record too: about a call that does not wait any more, or differs from the shown one.
        if (error instanceof ApiProblem && (error.reason === 'forbidden' || error.reason === 'conflict'))
          denied(request, act, { approval: given, problem: error.message });
        throw error;
      }
    },
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

/** The visible records of a caller, out of all. */
export function approvalsFor(by: Approver, { approvals, ...rest }: RawApprovals, board: ApprovalsOfAll): Approvals {
  const seen = approvals.filter((record) => mayLook(by, record));
  return {
    ...rest,
    approvals: seen.map((record) => board.shown(record, by)),
    ...(seen.length === approvals.length
      ? {}
      : { waiting: seen.filter(({ state }) => state === 'waiting').length, total: seen.length }),
  };
}
