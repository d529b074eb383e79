/** What a server says in a call, without what rules take out of it (`redact` under `access`). Where no rule does, nothing of it is looked at. */
import type { Redaction } from '@omnibus/policy';
import type { ExchangeOutcome, ProgressEvent } from '@omnibus/protocol';

export function redactedOutcome(outcome: ExchangeOutcome, redaction: Redaction | undefined): ExchangeOutcome {
  if (redaction === undefined) return outcome;
  switch (outcome.kind) {
    case 'result':
      return { ...outcome, result: redaction.result(outcome.result) };
    case 'error': {
      const { code, message, data } = outcome.error;
      return { kind: 'error', error: { code, message: redaction.said(message), ...(data === undefined ? {} : { data: redaction.said(data) }) } };
    }
    case 'fault': {
      // What a server answered may stand in it.
      const { message, data } = outcome.fault;
      return { kind: 'fault', fault: { ...outcome.fault, message: redaction.said(message), ...(data === undefined ? {} : { data: redaction.said(data) }) } };
    }
  }
}

/** Of whatever else it says. */
export function redactedWords<Said>(said: Said, redaction: Redaction | undefined): Said {
  return redaction === undefined ? said : redaction.said(said);
}

export function redactedProgress(event: ProgressEvent, redaction: Redaction | undefined): ProgressEvent {
  if (redaction === undefined) return event;
  const { message, more } = event;
  return { ...event, ...(message === undefined ? {} : { message: redaction.said(message) }), ...(more === undefined ? {} : { more: redaction.said(more) }) };
}
