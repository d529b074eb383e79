/** The operations about labels of conversations (`label` and `after` in rules). */
import { z } from 'zod';
import { missing } from './state.ts';

const ms = z.number().describe('Milliseconds since 1970.');
const text = z.string().min(1).max(300).optional();

const label = z.object({
  label: z.string(),
  server: z.string().describe('The server whose message has added it.'),
  item: z.string().describe('The tool, prompt or resource whose message has added it.'),
  rule: z.string().describe('The rule or guardrail that labels.'),
  at: ms,
});
const conversation = z.object({
  id: z.string(),
  kind: z.enum(['session', 'caller']).describe('`caller`: requests of one caller and client without a session.'),
  session: z.string().optional().describe('The beginning of the key of its session, as the list of sessions shows it.'),
  principal: z.string(),
  who: z
    .array(z.string())
    .describe('The caller, `ISSUER|SUBJECT`, followed by those who act for it; empty for an anonymous one.'),
  tenant: z.string().optional(),
  client: z.string().optional().describe('The name that the client gives itself.'),
  endpoint: z.string(),
  labels: z.array(label),
  until: ms.describe('Milliseconds since 1970: when its labels are forgotten. A later request or label defers it.'),
  mayClear: z.boolean().describe('Whether the caller of this operation may clear its labels.'),
  obstacle: z.string().optional().describe('Why not.'),
});
export type LabelledConversation = z.output<typeof conversation>;
const labels = z.object({
  conversations: z.array(conversation).describe('Those with labels, the latest labelled first; 500 at most.'),
  total: z.number().describe('All that fit.'),
  missing,
});
export type LabelList = z.output<typeof labels>;

export const labelOperations = {
  labels: {
    method: 'get',
    path: '/labels',
    summary:
      'Conversations with labels, and the result that added each. Approvers and administrators of a tenant get those of their tenant.',
    answer: labels,
    query: z.object({
      user: text.describe('A user: `ISSUER|SUBJECT`, its subject alone, or a principal.'),
      client: text.describe('The name that a client gives itself.'),
      conversation: text.describe('The id of one conversation.'),
      session: text.describe('The key of one session, as the list of sessions shows it.'),
      label: text.describe('Conversations with this label.'),
    }),
  },
  clearLabel: {
    method: 'post',
    path: '/labels/{conversation}',
    summary:
      'Removes a label of a conversation, with a reason, for all requests from now on; a later result may add it again. No user clears labels of their own conversations.',
    body: z.strictObject({
      label: z.string().min(1).max(64),
      reason: z.string().min(1).max(500).describe('The reason, which is on record.'),
    }),
    answer: z.object({ conversation: z.string(), label: z.string(), server: z.string(), item: z.string(), at: ms }),
  },
} as const;
