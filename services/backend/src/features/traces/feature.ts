/** The spans of calls to one server, and the trace context for the server (semantic conventions, MCP: context travels in `params._meta`). */
import type { JsonObject, ServerName } from '@omnibus/protocol';
import type { Tracing } from '@omnibus/telemetry';
import type { CallWatcher } from '../../call/steps.ts';

export function spansOf(tracing: Tracing, server: ServerName): CallWatcher {
  const attributes = { 'omnibus.server': server };
  return {
    begun({ command: { method, params, context } }) {
      const span = tracing.start('client', { method, params, attributes }, context.trace);
      return {
        params: (given) => ({
          ...given,
          _meta: { ...(given['_meta'] as JsonObject | undefined), traceparent: span.traceparent },
        }),
        ended(_result, outcome) {
          if (outcome === undefined) span.end('cancelled');
          else if (outcome.kind === 'fault') span.end(outcome.fault.reason);
          else span.end(outcome.kind === 'error' ? String(outcome.error.code) : undefined);
        },
      };
    },
  };
}
