/** Labels for the outcomes of calls. */
import type { Call } from '@omnibus/admin-api';

export const outcomesWords: Readonly<Record<NonNullable<Call['outcome']>, string>> = {
  result: 'result',
  toolError: 'tool failed',
  error: 'error of the server',
  fault: 'gateway error',
  cancelled: 'cancelled',
  timeout: 'time limit',
};
