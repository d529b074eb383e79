/** The shape of stored rights that approvers give for a time. */
import { grantStates, type AccessGrant, type CallGrant, type GrantRecord } from '@omnibus/protocol';
import { count, fields, list, oneOf, optional, shape, text, token } from './shape.ts';

const calls = fields<CallGrant>({
  rule: text,
  version: text,
  server: token,
  kind: optional(oneOf('prompt', 'resource')),
  tool: text,
  definition: text,
});
export const grantRecord = shape<GrantRecord>(
  fields<GrantRecord>({
    id: token,
    state: oneOf(...grantStates),
    at: count,
    until: count,
    principal: text,
    who: list(text),
    tenant: optional(text),
    client: optional(text),
    calls: optional(calls),
    access: optional(fields<AccessGrant>({ name: text, version: text, forMs: count })),
    because: optional(text),
    approvers: optional(list(text)),
    by: optional(text),
    reason: optional(text),
    endedBy: optional(text),
  }),
);
