/**
 * Labels of a conversation: names that results add (`untrusted`, `confidential: crm`), and that rules require, forbid or ask about (`after`).
 * A session is a conversation; so are the requests of one caller and client without a session, within a time.
 */
import { laterLabels, type Labels } from '@omnibus/protocol';
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

/** The reason of a refusal, with the results that added the labels. */
export function becauseOfLabels(
  because: string | undefined,
  after: readonly string[] | undefined,
  labels: Labels | undefined,
): string | undefined {
  if (after === undefined || labels === undefined) return because;
  const sources = after.flatMap((label) => {
    const source = labels.sourceOf(label);
    return source === undefined ? [] : [`this conversation is labelled "${label}" since the result of ${source}`];
  });
  return [...(because === undefined ? [] : [because]), ...sources].join('; ') || undefined;
}
