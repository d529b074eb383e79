/** What an exchange has to know of adapters: where to send, who is there, and who looks after it. `exchange-watch.ts` knows. */
import type { Subject } from '@omnibus/bus';
import type { CallCommand, ExchangeEvent, ExchangeId, ServerName, WorkerId } from '@omnibus/protocol';
import type { Exchange } from './exchange.ts';
import type { ExchangeRequest } from './exchange-request.ts';

/** Where a call goes. */
export interface Way {
  readonly to: Subject<CallCommand, ExchangeEvent>;
  /** The worker whose adapter it is; undefined for whichever NATS chooses. */
  readonly worker: WorkerId | undefined;
  readonly isBound: boolean;
}

/** An exchange that was given up while its worker may still be at it. */
export interface Abandoned {
  readonly server: ServerName;
  readonly exchange: ExchangeId;
}

export interface Adapters {
  /** From now on it is looked after: whoever has it may vanish. */
  add(exchange: Exchange): void;
  remove(exchange: Exchange): void;
  /**
   * @param affinity the worker of the adapter that keeps something for the caller.
   * @param except a worker that turned out not to be there.
   */
  route(server: ServerName, affinity: WorkerId | undefined, context: ExchangeRequest['context'], except?: WorkerId): Way;
  /** It is proven that a worker is not there. */
  isLost(worker: WorkerId): boolean;
  /** Stops what was given up at the worker that may still work on it, now and when it is heard of again. */
  stopAt(worker: WorkerId, abandoned: Abandoned): void;
}
