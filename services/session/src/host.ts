/** What the client sides of one worker share. */
import type { Bus, Journal, PresenceWatch } from '@omnibus/bus';
import type { View } from '@omnibus/catalog';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Caller, EndpointName, ExchangeId, GatewayFault, LateReply, Limits, PostedMessage, Presence, QuestionId, ServerName, SessionKey, StreamEntry, WorkerId, Declared, JsonObject } from '@omnibus/protocol';
import type { Logger, Metrics, Tracing } from '@omnibus/telemetry';
import type { ExchangeWatch } from './call/exchange-watch.ts';
import type { TimeLimits } from './call/exchange.ts';
import type { FrameBudget } from './streams/kept-frames.ts';
import type { Offers } from './views/offers.ts';
import type { Sealer } from './public-ids/sealer.ts';

export interface SessionHost {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly limits: Limits;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** What is kept of streams that clients may come back to. */
  readonly frames: FrameBudget;
  /** Whether signs of life of an edge are heard. */
  readonly isEdgeThere: (edge: WorkerId) => boolean;
  /** Signs of life of the session workers. */
  readonly sessionWorkers: Pick<PresenceWatch<Presence>, 'state'>;
  /** Undefined where nobody traces. */
  readonly tracing: Tracing | undefined;
  readonly sealer: Sealer;
  /** Why a caller is not believed to be who a command says. */
  readonly callerProblem: (caller: Caller) => GatewayFault | undefined;
  /** Milliseconds a worker that leaves goes on with what it has begun. */
  readonly drainMs: () => number;
  /** Looks after what is on its way to servers. */
  readonly watch: ExchangeWatch;
  /** What was sent on streams that clients may come back to; undefined where nothing outlives the process. */
  readonly streams: Journal<StreamEntry> | undefined;
  readonly nextExchangeId: () => ExchangeId;
  readonly nextQuestionId: () => QuestionId;
  /**
   * Gives what a client said to a worker that held its session before.
   * @param worker as a client names it: only one that is known is asked.
   * @param heldBefore the one that the session's record named.
   */
  readonly passOn: (key: SessionKey, worker: WorkerId, heldBefore: WorkerId | undefined, posted: PostedMessage) => Promise<LateReply['outcome'] | 'silence'>;
  /** Whether the process may keep so many bytes more of what clients want kept. */
  readonly hasRoomFor: (bytes: number) => boolean;
  /** Undefined when the endpoint has left the configuration. */
  readonly view: (caller: Caller, declared?: Declared) => View | undefined;
  /** The same for a request that stands alone. */
  readonly viewAlone: (caller: Caller, capabilities: JsonObject) => View | undefined;
  readonly offers: Offers;
  /** A client without a session asks something at an endpoint that exists. */
  readonly used: (endpoint: EndpointName) => void;
  readonly timeLimits: (server: ServerName, tool: string | undefined) => TimeLimits;
}
