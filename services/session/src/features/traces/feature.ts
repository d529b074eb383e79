/** The span of a call, and its attributes. */
import type { ExchangeOutcome } from '@omnibus/protocol';
import type { Tracing } from '@omnibus/telemetry';
import type { CallWatcher } from '../../call/watchers.ts';
import type { SessionFeature } from '../../feature.ts';

/** Traces each call within the trace of its client. */
export function traces(tracing: Tracing): SessionFeature {
  return { name: 'traces', watchers: [callTraces(tracing)] };
}

function callTraces(tracing: Tracing): CallWatcher {
  return {
    sent({ client, call: { method }, to: { server, params, subject }, trace }) {
      const span = tracing.start(
        'internal',
        {
          method,
          params: method === 'tools/call' ? { name: subject[1] } : params,
          attributes: { 'mcp.session.id': client.key, 'omnibus.server': server },
        },
        trace,
      );
      return {
        trace: span.traceparent,
        takesAway: true,
        ended: (outcome) => span.end(typeof outcome === 'string' ? outcome : errorOf(outcome)),
      };
    },
  };
}

/** The attribute `error.type` of the semantic conventions for MCP: `tool_error`, a JSON-RPC code, or a reason of the error table; undefined for success. */
function errorOf(outcome: ExchangeOutcome): string | undefined {
  switch (outcome.kind) {
    case 'result':
      return outcome.result['isError'] === true ? 'tool_error' : undefined;
    case 'error':
      return String(outcome.error.code);
    case 'fault':
      return outcome.fault.reason;
  }
}
