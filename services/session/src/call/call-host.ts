/** The parts of a worker that are needed to carry requests of clients to servers; a worker has one. */
import type { Caller, ExchangeId, Facts, Limits, ServerName, Who } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { Sealer } from '../public-ids/sealer.ts';
import type { Barrier } from './barrier.ts';
import type { Gates } from './gates.ts';
import type { OwnResults } from './own-results.ts';
import type { ResultGate } from './result-gate.ts';
import type { CallTransformer } from './transforms.ts';
import type { AccessSource } from './access.ts';
import type { ExchangeHost } from './adapters.ts';
import type { TimeLimits } from './exchange-request.ts';
import type { Watchers } from './watchers.ts';

export interface CallHost extends ExchangeHost {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly limits: Limits;
  /** What decides before a call is sent, in this order. */
  readonly gates: Gates;
  /** What changes messages of calls, in this order. */
  readonly transforms: { readonly on: readonly CallTransformer[] };
  readonly barrier: Barrier;
  /** Undefined if nothing bounds answers of own tools. */
  readonly ownResults?: OwnResults | undefined;
  /** Limits on calls of own tools that make calls. */
  readonly runGate?: ResultGate | undefined;
  readonly watchers: Watchers;
  readonly sealer: Sealer;
  /** The rights of callers by the rules in force; undefined without rules. */
  readonly access: { readonly on: AccessSource | undefined };
  /** The identity of a caller, for a server that is called with credentials of its users; empty for others. */
  readonly whoFor: (server: ServerName, caller: Caller) => { readonly who?: Who };
  readonly nextExchangeId: () => ExchangeId;
  /** The proven facts about a caller; undefined for an anonymous one. */
  readonly factsOf: (caller: Caller) => Facts | undefined;
  readonly timeLimits: (server: ServerName, tool: string | undefined) => TimeLimits;
}
