/** Labels of conversations (`label` and `after` in rules), as records on the bus. */
import { isObject } from './json-rpc.ts';
import type { ServerName } from './ids.ts';

/** The member of `_meta` by which a client without sessions tells its conversations apart: a text of at most 128 characters. */
export const conversationKey = 'dev.omnibus/conversation';

/** One label, and the result that added it first. */
export interface ConversationLabel {
  readonly label: string;
  readonly server: ServerName;
  /** The server's own name of a tool or prompt, a URI, or the method of another message; cut to 200 characters. */
  readonly item: string;
  /** The rule or guardrail that labels. */
  readonly rule: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A session, or the requests of one caller and client without sessions. */
export interface ConversationRecord {
  readonly id: string;
  readonly kind: 'session' | 'caller';
  readonly principal: string;
  /** Name that the client gives itself, or the id that its token has. */
  readonly client?: string | undefined;
  readonly endpoint: string;
  readonly labels: readonly ConversationLabel[];
  /** When the record is not valid any more, in milliseconds since 1970. */
  readonly until: number;
}

/** The labels of one conversation, with their sources. */
export interface Labels {
  readonly has: (label: string) => boolean;
  /** @returns the result that added a label, for a person: "web/fetch at 10:02 UTC"; undefined if the conversation does not carry it. */
  readonly sourceOf: (label: string) => string | undefined;
}

/**
 * Stands for labels that are not read yet. Conditions on them hold in the caller's favour: a gate reads the labels, and the request is planned again with them
 * before it is sent. Where no gate follows, labels are `undefined` instead, and conditions count against the caller.
 */
export const laterLabels: Labels = { has: () => false, sourceOf: () => undefined };

/** A conversation without labels. */
export const noLabels: Labels = { has: () => false, sourceOf: () => undefined };

/** @param meta `_meta` of a request. @returns the key by which its client tells its conversations apart. */
export function conversationIn(meta: unknown): string | undefined {
  const key = isObject(meta) ? meta[conversationKey] : undefined;
  return typeof key === 'string' ? key.slice(0, 128) : undefined;
}
