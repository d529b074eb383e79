/** Labels of conversations (`label` and `after` in rules), as records on the bus. */
import { isObject, type JsonObject } from './json-rpc.ts';
import type { ServerName } from './ids.ts';

/** The member of `_meta` by which a client without sessions tells its conversations apart: a text of at most 128 characters. */
export const conversationKey = 'dev.omnibus/conversation';

/** Characters of a session's key that people see: they name the session, and open nothing. */
export const shownKeyLength = 12;

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
  /** The caller, `ISSUER|SUBJECT`, followed by the parties that act for it; left out for an anonymous one. */
  readonly who?: readonly string[] | undefined;
  readonly tenant?: string | undefined;
  /** Name that the client gives itself, or the id that its token has. */
  readonly client?: string | undefined;
  readonly endpoint: string;
  /** The beginning of its session's key, as lists of sessions show it; left out of a conversation without a session. */
  readonly session?: string | undefined;
  readonly labels: readonly ConversationLabel[];
  /** When the record is not valid any more, in milliseconds since 1970. */
  readonly until: number;
}

/** A decision that depends on labels: each label, and the result that added it. */
export interface LabelReason {
  readonly labels: readonly {
    readonly label: string;
    /** "web/fetch at 10:02 UTC". */
    readonly source: string;
  }[];
  /** Names the conversation to an approver that may clear labels. */
  readonly conversation?: string | undefined;
}

/** The labels of one conversation, with their sources. */
export interface Labels {
  /** Its id on record; left out if it has none. */
  readonly conversation?: string | undefined;
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

/** @returns members of a fault's data that name the labels, their sources and the conversation. */
export function labelData(reason: LabelReason | undefined): JsonObject {
  if (reason === undefined || reason.labels.length === 0) return {};
  const { labels, conversation } = reason;
  return {
    labels: labels.map(({ label, source }) => ({ label, source })),
    ...(conversation === undefined ? {} : { conversation }),
  };
}

/** @returns the next step of a client whose request was refused by labels, to be added to a message; empty if no label was the reason. */
export function labelAdvice(reason: LabelReason | undefined): string {
  if (reason === undefined || reason.labels.length === 0) return '';
  const one = reason.labels.length === 1 ? 'the label' : 'a label';
  const conversation = reason.conversation === undefined ? '' : ` of conversation ${reason.conversation}`;
  return `. To go on, start a new conversation without this content, or have an approver clear ${one}${conversation} (omnibus labels clear)`;
}

/** @param meta `_meta` of a request. @returns the key by which its client tells its conversations apart. */
export function conversationIn(meta: unknown): string | undefined {
  const key = isObject(meta) ? meta[conversationKey] : undefined;
  return typeof key === 'string' ? key.slice(0, 128) : undefined;
}
