/** What rules redact (`redact` under `access`) in the outcome of a request. */
import type { Redaction } from '@omnibus/policy';
import type { ExchangeOutcome } from '@omnibus/protocol';

export function redactedOutcome(outcome: ExchangeOutcome, redaction: Redaction): ExchangeOutcome {
  switch (outcome.kind) {
    case 'result':
      return { ...outcome, result: redaction.result(outcome.result) };
    case 'error': {
      const { code, message, data } = outcome.error;
      return {
        kind: 'error',
        error: {
          code,
          message: redaction.said(message),
          ...(data === undefined ? {} : { data: redaction.said(data) }),
        },
      };
    }
    case 'fault': {
      // The message of a fault may repeat the server's answer.
      const { message, data } = outcome.fault;
      return {
        kind: 'fault',
        fault: {
          ...outcome.fault,
          message: redaction.said(message),
          ...(data === undefined ? {} : { data: redaction.said(data) }),
        },
      };
    }
  }
}
