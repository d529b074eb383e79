/** Attributes of the span of a call. */
import type { ExchangeOutcome } from '@omnibus/protocol';

export function traceOf(trace: string | undefined): { readonly trace?: string } {
  return trace === undefined ? {} : { trace };
}

/** The attribute `error.type` of the semantic conventions for MCP: `tool_error`, a JSON-RPC code, or a reason of the error table; undefined for success. */
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
