/** What the span of a call says of it. */
import type { ExchangeOutcome } from '@omnibus/protocol';

export function traceOf(trace: string | undefined): { readonly trace?: string } {
  return trace === undefined ? {} : { trace };
}

/** What went wrong, in a word of a closed set (semantic conventions, MCP: `error.type`). */
export function errorOf(outcome: ExchangeOutcome): string | undefined {
  switch (outcome.kind) {
    case 'result':
      return outcome.result['isError'] === true ? 'tool_error' : undefined;
    case 'error':
      return String(outcome.error.code);
    case 'fault':
      return outcome.fault.reason;
  }
}
