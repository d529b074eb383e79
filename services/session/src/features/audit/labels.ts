/** Audit records of labels that results add to conversations. */
import type { Audit } from '@omnibus/audit';
import type { Proofs } from '@omnibus/identity';
import type { Caller, ConversationLabel, SessionKey } from '@omnibus/protocol';
import { whoOf } from './records.ts';

/**
 * @returns a function that records each new label of a conversation.
 * The record names the server, and the tool, prompt or resource whose message has added the label.
 */
export function labelRecords(
  audit: Audit,
  proofs: Proofs | undefined,
): (
  client: { readonly asking: Caller; readonly session: SessionKey | undefined },
  conversation: string,
  labels: readonly ConversationLabel[],
) => void {
  return ({ asking, session }, conversation, labels) => {
    for (const { label, server, item, rule } of labels)
      audit.record({
        name: 'flow.labelled',
        weight: 'always',
        who: whoOf(asking, proofs),
        endpoint: asking.endpoint,
        session,
        server,
        target: item,
        rule,
        more: { label, conversation },
      });
  };
}
