/** Shapes of messages about limits, and of stored records of quotas, use, blocks and approvals. */
import {
  approvalStates,
  blockKinds,
  type ApprovalRecord,
  type ApprovalVote,
  type BlockRecord,
  type LimitsNews,
  type QuotaRecord,
  type UsageRecord,
  type UsageRow,
} from '@omnibus/protocol';
import {
  count,
  fields,
  flag,
  list,
  oneOf,
  optional,
  pair,
  shape,
  text,
  token,
  variants,
  type Predicate,
} from './shape.ts';

const whole: Predicate = (value) => Number.isSafeInteger(value);
const counts = list(pair(text, whole));
export const limitsNews = variants<LimitsNews, 'kind'>('kind', {
  taken: { worker: token, taken: counts, running: counts, isAll: optional(flag) },
});
export const quotaRecord = shape<QuotaRecord>(fields<QuotaRecord>({ used: count }));
const row = fields<UsageRow>({
  caller: text,
  tenant: optional(text),
  groups: list(text),
  server: text,
  tool: text,
  calls: count,
  failed: count,
  bytes: count,
});
export const usageRecord = shape<UsageRecord>(fields<UsageRecord>({ day: text, rows: list(row) }));
export const blockRecord = shape<BlockRecord>(
  fields<BlockRecord>({
    kind: oneOf(...blockKinds),
    name: text,
    by: text,
    at: count,
    until: optional(count),
    because: optional(text),
    isPause: optional(flag),
    isGone: optional(flag),
    isAnyCase: optional(flag),
    tenant: optional(text),
  }),
);
const vote = fields<ApprovalVote>({ person: text, by: text, at: count, forMs: optional(count) });
export const approvalRecord = shape<ApprovalRecord>(
  fields<ApprovalRecord>({
    id: token,
    state: oneOf(...approvalStates),
    worker: token,
    at: count,
    until: count,
    rule: text,
    because: optional(text),
    server: token,
    kind: optional(oneOf('prompt', 'resource')),
    tool: text,
    arguments: text,
    hidden: optional(count),
    digest: text,
    principal: text,
    who: list(text),
    tenant: optional(text),
    client: optional(text),
    approvers: optional(list(text)),
    quorum: optional(count),
    votes: optional(list(vote)),
    lasts: optional(count),
    forMs: optional(count),
    by: optional(text),
    reason: optional(text),
  }),
);
