/** Rights to see and decide a call that waits for approvers. */
import { approvalObstacle, isNamed, type Approvable } from '@omnibus/identity';
import { isObject, type ApprovalRecord, type Facts } from '@omnibus/protocol';
import { z } from 'zod';
import { adminRoles, type Administrator } from './roles.ts';

/** What of a person counts for that. */
export type Approver = Pick<Administrator, 'roles'> & Partial<Pick<Administrator, 'facts'>>;

/** The facts of a person, as processes send them to each other. */
export const sentFacts = z
  .custom<Facts>(
    (value) =>
      isObject(value) &&
      ['issuer', 'subject', 'principal'].every((name) => typeof value[name] === 'string') &&
      ['actors', 'groups'].every((name) => Array.isArray(value[name])),
  )
  .optional();
/** A person, likewise. */
export const sentApprover = { roles: z.array(z.enum(adminRoles)), facts: sentFacts };

/** A caller that has only the roles `approver` and `viewer` sees only the calls that it may decide. */
export function mayLook({ roles, facts }: Approver, { approvers }: Pick<Approvable, 'approvers'>): boolean {
  return (
    roles.some((role) => role !== 'approver' && role !== 'viewer') ||
    approvers === undefined ||
    (facts !== undefined && isNamed(facts, approvers))
  );
}

/** The record with its true state: one of a dead worker may still say `waiting` after its time is over. */
export function asItIs(record: ApprovalRecord): ApprovalRecord {
  return record.state === 'waiting' && record.until <= Date.now() ? { ...record, state: 'expired' } : record;
}

/** Why a user may not decide a call. */
export function obstacleOf({ facts }: Pick<Approver, 'facts'>, call: Approvable): string | undefined {
  return approvalObstacle(facts, call);
}

/** Why a decision does not count. @param digest of the shown call. */
export function refusalOf(by: Pick<Approver, 'facts'>, record: ApprovalRecord, digest: string): string | undefined {
  return record.digest === digest ? obstacleOf(by, record) : 'this is not the call that was shown: look at it again';
}
