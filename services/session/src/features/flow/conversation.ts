/** The conversation that a request belongs to, and the labels of a record. */
import type { ConversationOf } from '@omnibus/bus';
import { hash } from 'node:crypto';
import {
  anonymous,
  noLabels,
  shownKeyLength,
  type ConversationRecord,
  type Facts,
  type Labels,
  type SessionKey,
} from '@omnibus/protocol';
import type { ServedClient } from '../../call/transforms.ts';

/** A client, as far as its conversation depends on it. */
export type Speaker = Pick<ServedClient, 'asking' | 'session' | 'info' | 'conversation'>;

/**
 * A session is a conversation. Requests without a session belong together if they are of one caller and one client at one endpoint, with the same key if the
 * client sends one; anonymous callers are told apart by their address.
 * @param facts that its edge has proven; undefined for an anonymous caller.
 */
export function conversationOf(
  { asking, session, info, conversation }: Speaker,
  facts: Facts | undefined,
): ConversationOf {
  const { principal, endpoint, origin } = asking;
  const client = info?.name.slice(0, 200);
  const who = principal === anonymous ? (origin ?? principal) : principal;
  return {
    id: session === undefined ? idOf('c', [who, endpoint, client, conversation]) : idOfSession(session),
    kind: session === undefined ? 'caller' : 'session',
    principal,
    endpoint,
    ...(session === undefined ? {} : { session: session.slice(0, shownKeyLength) }),
    ...(facts === undefined
      ? {}
      : { who: [facts, ...facts.actors].map(({ issuer, subject }) => `${issuer}|${subject}`) }),
    ...(facts?.tenant === undefined ? {} : { tenant: facts.tenant }),
    ...(client === undefined ? {} : { client }),
  };
}

export function idOfSession(session: SessionKey): string {
  return idOf('s', session);
}

/** An id that opens nothing: neither a session nor what a client has sent. */
function idOf(kind: 's' | 'c', of: unknown): string {
  return `${kind}${hash('sha256', JSON.stringify(of), 'base64url').slice(0, 22)}`;
}

export function labelsOf(record: ConversationRecord | undefined): Labels {
  if (record === undefined || record.labels.length === 0) return noLabels;
  const find = (label: string) => record.labels.find((each) => each.label === label);
  return {
    conversation: record.id,
    has: (label) => find(label) !== undefined,
    sourceOf: (label) => {
      const found = find(label);
      return found === undefined
        ? undefined
        : `${found.server}/${found.item} at ${new Date(found.at).toISOString().slice(11, 16)} UTC`;
    },
  };
}
