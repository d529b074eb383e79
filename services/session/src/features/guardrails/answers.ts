/** External verdicts, read as the results of SEP-2624: `ValidationResult` denies and labels, `MutationResult` changes. */
import { isObject, printable, type JsonObject } from '@omnibus/protocol';
import type { Verdict } from './message.ts';

/** Messages of one answer that become labels, and characters of each: they travel with the message to the client. */
const maxLabels = 10;
const maxLabelLength = 200;
const severities = ['info', 'warn', 'error'] as const;

/** @param answer a `ValidationResult` or a `MutationResult`. Anything else is a failed check. */
export function verdictOf(answer: unknown): Verdict {
  if (!isObject(answer)) return failed('its answer is no object');
  const { valid, modified } = answer;
  if (valid === undefined && modified === undefined) return failed('its answer has neither "valid" nor "modified"');
  if (valid !== undefined) {
    const verdict = validation(answer);
    if (verdict.kind !== 'allow' || modified === undefined) return verdict;
  }
  if (typeof modified !== 'boolean') return failed('"modified" is neither true nor false');
  if (!modified) return { kind: 'allow' };
  return isObject(answer['payload'])
    ? { kind: 'change', payload: answer['payload'] }
    : failed('it has changed the message, and "payload" is no object');
}

/** Only an invalid verdict with the severity "error" denies; a warning, or a lower severity, labels. */
function validation({ valid, severity, messages = [] }: JsonObject): Verdict {
  if (typeof valid !== 'boolean') return failed('"valid" is neither true nor false');
  const isKnown = (given: unknown): boolean => severities.some((each) => each === given);
  if (severity !== undefined && !isKnown(severity)) return failed('"severity" is none of info, warn and error');
  if (
    !Array.isArray(messages) ||
    messages.some((each: unknown) => !isObject(each) || typeof each['message'] !== 'string')
  )
    return failed('"messages" has an entry without "message"');
  const said = (messages as readonly JsonObject[])
    .slice(0, maxLabels)
    .map((each) => ({ text: printable(String(each['message']), maxLabelLength), severity: each['severity'] }));
  if (!valid && (severity ?? 'error') === 'error') return { kind: 'deny', because: said[0]?.text };
  const warned = said
    .filter((each) => !valid || severity === 'warn' || each.severity === 'warn')
    .map(({ text }) => text);
  if (warned.length > 0) return { kind: 'label', labels: warned };
  return valid && severity !== 'warn' ? { kind: 'allow' } : { kind: 'label', labels: [String(severity)] };
}

const failed = (problem: string): Verdict => ({ kind: 'failed', problem });
