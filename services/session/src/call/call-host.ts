/** What carries requests of clients to servers works with; one worker has one. */
import type { Caller, ExchangeId, Facts, Limits, ServerName, Who } from '@omnibus/protocol';
import type { Metrics, Tracing } from '@omnibus/telemetry';
import type { Sealer } from '../public-ids/sealer.ts';
import type { Approvals } from './approvals/approvals.ts';
import type { CallGate } from './limits/call-gate.ts';
import type { Access } from './access.ts';
import type { ExchangeHost, TimeLimits } from './exchange-request.ts';
import type { CallRecords } from './records.ts';
import type { CallTelling } from './telling.ts';

export interface CallHost extends ExchangeHost {
  readonly metrics: Metrics;
  readonly limits: Limits;
  /** Undefined where nobody traces. */
  readonly tracing: Tracing | undefined;
  /** Undefined where nothing is put on record. */
  readonly records?: CallRecords | undefined;
  /** What is said of calls to those who watch, in the log and among failures. */
  readonly telling: CallTelling;
  readonly sealer: Sealer;
  /** What a caller may by the rules as they are now; undefined where there are none. */
  readonly accessOf: (caller: Caller) => Access | undefined;
  /** What is proven of a caller, for a server that has to know. */
  readonly whoFor: (server: ServerName, caller: Caller) => { readonly who?: Who };
  readonly nextExchangeId: () => ExchangeId;
  /** What is proven of a caller; undefined where it is nobody in particular. */
  readonly factsOf: (caller: Caller) => Facts | undefined;
  /** What calls pass on their way to a server; left out where nothing is limited, counted or blocked. */
  readonly callGate?: CallGate;
  /** Calls that rules have approved first. */
  readonly approvals?: Approvals;
  readonly timeLimits: (server: ServerName, tool: string | undefined) => TimeLimits;
}
