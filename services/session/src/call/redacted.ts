/** Redacts what a server says in a call by the rules (`redact` under `access`). Without such a rule, nothing is searched. */
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
      // The message of a fault may repeat what the server answered.
      const { message, data } = outcome.fault;
      return { kind: 'fault', fault: { ...outcome.fault, message: redaction.said(message), ...(data === undefined ? {} : { data: redaction.said(data) }) } };
    }
  }
}

/** Redacts any other message of the server. */
export function redactedWords<Said>(said: Said, redaction: Redaction | undefined): Said {
  return redaction === undefined ? said : redaction.said(said);
}

export function redactedProgress(event: ProgressEvent, redaction: Redaction | undefined): ProgressEvent {
  if (redaction === undefined) return event;
  const { message, more } = event;
  return { ...event, ...(message === undefined ? {} : { message: redaction.said(message) }), ...(more === undefined ? {} : { more: redaction.said(more) }) };
}
