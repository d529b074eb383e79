/** What the client sides of one worker share. */
import type { Bus } from '@omnibus/bus';
import type { View } from '@omnibus/catalog';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Caller, ExchangeId, Limits, ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { ExchangeWatch } from './exchange/exchange-watch.ts';
import type { TimeLimits } from './exchange/exchange.ts';
import type { Sealer } from './sealer.ts';

export interface SessionHost {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly limits: Limits;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly sealer: Sealer;
  /** Looks after what is on its way to servers. */
  readonly watch: ExchangeWatch;
  readonly nextExchangeId: () => ExchangeId;
  /** Undefined when the endpoint has left the configuration. */
  readonly view: (caller: Caller) => View | undefined;
  readonly timeLimits: (server: ServerName, tool: string | undefined) => TimeLimits;
}
