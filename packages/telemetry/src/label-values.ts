/** Closed sets of values of labels. */
export const dropReasons = [
  'response_unsolicited',
  'notification_unknown',
  'cancel_unknown',
  'cancel_ambiguous',
  'upstream_late',
  'upstream_invalid',
  'upstream_undelivered',
  'queue_full',
  'actor_event',
  'bus_unknown',
  'log_storm',
  'update_storm',
] as const;
export type DropReason = (typeof dropReasons)[number];
/** The boundaries at which bugs are caught. */
export const faultParts = [
  'request',
  'handler',
  'observer',
  'transport',
  'deadline',
  'rejection',
  'exception',
  'audit',
] as const;
export type FaultPart = (typeof faultParts)[number];
const approvalOutcomes = [
  'asked',
  'approved',
  'refused',
  'expired',
  'withdrawn',
  'used',
  'impossible',
  'limit',
  'void',
  'reused',
] as const;
export type ApprovalOutcome = (typeof approvalOutcomes)[number];
/** What became of a form in an approver's client. */
export type ApprovalFormOutcome =
  | 'shown'
  | 'approved'
  | 'refused'
  | 'left'
  | 'withdrawn'
  | 'failed'
  | 'late'
  | 'skipped';
