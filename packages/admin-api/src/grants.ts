/** The operations about rights that approvers have given for a time. */
import { z } from 'zod';
import { missing } from './state.ts';

const ms = z.number().describe('Milliseconds since 1970.');

const grant = z.object({
  id: z.string(),
  state: z
    .enum(['requested', 'active', 'expired', 'refused', 'withdrawn', 'ended'])
    .describe(
      '`requested`: it waits for an approver; `ended`: before its time, by a person or a changed configuration.',
    ),
  at: ms,
  until: ms.describe(
    'Milliseconds since 1970: its end; of a `requested` one, the time until which an approver may decide.',
  ),
  principal: z.string(),
  who: z.array(z.string()).describe('The caller, `ISSUER|SUBJECT`, followed by those who act for it.'),
  tenant: z.string().optional(),
  client: z.string().optional(),
  calls: z
    .object({
      rule: z.string().describe('The rule that asks.'),
      server: z.string(),
      kind: z.enum(['prompt', 'resource']).optional().describe('Left out for a tool.'),
      tool: z.string().describe("The server's own name of the tool or prompt, or the URI."),
    })
    .optional()
    .describe('Calls that need no further approval.'),
  access: z
    .object({ name: z.string(), forMs: z.number().describe('Milliseconds that the caller asked for.') })
    .optional()
    .describe('A grant under `access.grants`.'),
  because: z.string().optional().describe('The reason of the caller that asked.'),
  by: z.string().optional().describe('The approver.'),
  reason: z.string().optional(),
  endedBy: z.string().optional(),
  isOwn: z.boolean().describe('Whether the caller of this operation has it, or asked for it.'),
  mayDecide: z.boolean().describe('Whether the caller of this operation may approve or refuse it now.'),
  obstacle: z.string().optional().describe('Why not, of one that is `requested`.'),
});
export type Grant = z.output<typeof grant>;
const grants = z.object({
  at: z.string().describe('ISO 8601: the time by the clock of the gateway.'),
  grants: z.array(grant).describe('Those in force, the latest first, then those of the last day that are over.'),
  offers: z
    .array(
      z.object({
        name: z.string(),
        group: z.string().optional().describe('The group that it gives.'),
        lastsMs: z.number().describe('Milliseconds at most.'),
        because: z.string().optional().describe('What the configuration says to the caller that asks.'),
      }),
    )
    .describe('Grants that the caller of this operation may ask for.'),
  missing,
});
export type GrantList = z.output<typeof grants>;

export const grantOperations = {
  grants: {
    method: 'get',
    path: '/grants',
    summary:
      'Rights that approvers give for a time: those that wait, those in force, and those of the last day that are over. Callers without a role get their own.',
    answer: grants,
  },
  requestGrant: {
    method: 'post',
    path: '/grants',
    summary: 'Asks for a grant (`access.grants`) for a time, with a reason. Any known caller may ask for itself.',
    body: z.strictObject({
      name: z.string().max(64),
      forMs: z.int().min(1_000).describe('Milliseconds.'),
      because: z.string().min(1).max(500).describe('The reason, which the approver reads.'),
    }),
    answer: z.object({ id: z.string(), state: z.literal('requested') }),
  },
  decideGrant: {
    method: 'post',
    path: '/grants/{id}',
    summary: 'Approves or refuses a request for a grant. No user approves their own.',
    body: z.strictObject({
      approve: z.boolean(),
      forMs: z.int().min(1_000).optional().describe('Milliseconds. Default: what the caller asked for.'),
      reason: z.string().max(500).optional(),
    }),
    answer: z.object({ id: z.string(), state: z.enum(['active', 'refused']), until: ms.optional() }),
  },
  endGrant: {
    method: 'delete',
    path: '/grants/{id}',
    summary:
      'Ends a right before its time, in every process at once, or withdraws a request. Callers without a role can do so for themselves.',
    answer: z.object({ id: z.string(), state: z.enum(['ended', 'withdrawn', 'refused']) }),
  },
} as const;
