/**
 * Labels of a conversation: names that results add (`untrusted`, `confidential: crm`), and that rules require, forbid or ask about (`after`).
 * A session is a conversation; so are the requests of one caller and client without a session, within a time.
 */
import { laterLabels, type LabelReason, type Labels } from '@omnibus/protocol';
import { verdictOf, type Verdict } from './verdict.ts';
import type { Condition } from './conditions.ts';

const labelForm = /^[\p{L}\p{N}](?:[\p{L}\p{N} :._/-]{0,62}[\p{L}\p{N}])?$/u;

/** @returns the reason why a text is no label; undefined for a label. */
export function labelProblem(text: string): string | undefined {
  return labelForm.test(text)
    ? undefined
    : `expected a label of 1 to 64 letters, digits, spaces and ":._/-", such as "confidential: crm", got ${JSON.stringify(text)}`;
}

/** @param isAllowing whether the rule allows. @returns a condition that holds for a conversation with all of the labels. */
export function labelCondition(wanted: readonly string[], isAllowing: boolean): Condition {
  return ({ labels, isBegun, method }): Verdict => {
    // The labels were looked at when the task began. Answers to its questions are written later.
    if ((isBegun === true && method !== 'tasks/update') || labels === laterLabels) return isAllowing ? 'yes' : 'no';
    return labels === undefined ? 'unknown' : verdictOf(wanted.every((label) => labels.has(label)));
  };
}

/** @returns the labels on which a decision depends, with the results that added them; undefined if it depends on none. */
export function labelReason(after: readonly string[] | undefined, labels: Labels | undefined): LabelReason | undefined {
  if (after === undefined || labels === undefined) return undefined;
  const found = after.flatMap((label) => {
    const source = labels.sourceOf(label);
    return source === undefined ? [] : [{ label, source }];
  });
  return { labels: found, ...(labels.conversation === undefined ? {} : { conversation: labels.conversation }) };
}

/** The reason of a refusal, with the results that added the labels. */
export function becauseOfLabels(because: string | undefined, reason: LabelReason | undefined): string | undefined {
  const sources = (reason?.labels ?? []).map(
    ({ label, source }) => `this conversation is labelled "${label}" since the result of ${source}`,
  );
  return [...(because === undefined ? [] : [because]), ...sources].join('; ') || undefined;
}
