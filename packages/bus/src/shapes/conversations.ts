/** Shapes of labelled conversations. */
import type { ConversationLabel, ConversationRecord } from '@omnibus/protocol';
import { count, endpoint, fields, list, oneOf, optional, shape, text, token } from './shape.ts';

const label = fields<ConversationLabel>({ label: text, server: token, item: text, rule: text, at: count });
export const conversationRecord = shape<ConversationRecord>(
  fields<ConversationRecord>({
    id: token,
    kind: oneOf('session', 'caller'),
    principal: text,
    who: optional(list(text)),
    tenant: optional(text),
    client: optional(text),
    endpoint,
    session: optional(text),
    labels: list(label),
    until: count,
  }),
);
