/** What an exchange needs to know about adapters: where to send, and which are gone. Implemented by `exchange-watch.ts`. */
import type { Bus, PresenceWatch, Subject } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { BackendPresence, CallCommand, ExchangeEvent, ExchangeId, ServerName, WorkerId } from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import type { Link, Ring } from '@omnibus/collections';
import type { ExchangeRequest } from './exchange-request.ts';

/** The subject and worker that a call is sent to. */
export interface CallTarget {
  readonly to: Subject<CallCommand, ExchangeEvent>;
  /** The worker with the adapter; undefined where NATS chooses one. */
  readonly worker: WorkerId | undefined;
  /** Whether no other worker will do, because this one keeps state. */
  readonly isBound: boolean;
  /**
   * Set if this process was just started and must hear of a worker first: for a call of a session that adapters may keep state for, since NATS would send the calls
   * of one session to several; and if the catalogue says that only a worker that gave no sign yet has the server. It resolves when such a worker is known, or
   * when that takes too long; then the caller must choose another target.
   */
  readonly heard?: Promise<void> | undefined;
}

/** A cancelled exchange that its worker may still execute. */
export interface Abandoned {
  readonly server: ServerName;
  readonly exchange: ExchangeId;
}

/** An open exchange, as far as adapters concern it. */
export interface SentExchange extends Link {
  readonly id: ExchangeId;
  readonly server: ServerName;
  /** How often it was sent. */
  readonly attempts: number;
  /** The worker that it was sent to, or that has said that it has it; undefined where NATS chose one. */
  sentTo: WorkerId | undefined;
  /** Whether that worker has said that it has it. */
  isConfirmed: boolean;
  /** Whether it waits for a worker that has it and may come back; false if it can be repeated at another worker without loss. */
  readonly waits: boolean;
  /** The adapter that had it is gone. */
  adapterLost(): void;
}

export interface Adapters {
  /** The open exchanges: `adapterLost` is called on one when the worker that has it is gone. */
  readonly open: Ring<SentExchange>;
  /**
   * @param affinity the worker of the adapter that keeps state for the caller.
   * @param except a worker that turned out not to be there.
   * @param chosen the worker that the last request of the same client was sent to.
   */
  route(
    server: ServerName,
    affinity: WorkerId | undefined,
    context: ExchangeRequest['context'],
    except?: WorkerId,
    chosen?: WorkerId,
  ): CallTarget;
  /** @returns a promise of a sign of a worker with the server, for a while after the last one vanished; undefined if a call that no worker received cannot wait. */
  untilBack(server: ServerName): Promise<void> | undefined;
  /** @returns a promise of the time at which a call is sent again to a worker that does not listen and may return. */
  untilNextTry(): Promise<void>;
  /** See `PresenceWatch.since`. */
  since(ageMs: number): readonly WorkerId[] | undefined;
  /** See `PresenceWatch.hasLostSince`. */
  hasLostSince(ageMs: number): boolean;
  /** Workers that are there or may be. */
  readonly expected: readonly WorkerId[];
  state(worker: WorkerId): ReturnType<PresenceWatch<BackendPresence>['state']>;
  /** See `PresenceWatch.mayReturn`. */
  mayReturn(worker: WorkerId): boolean;
  /** Whether it is proven that a worker is gone. */
  isLost(worker: WorkerId): boolean;
  /** Cancels a given-up exchange at the worker that may still work on it, now and when that worker comes back. */
  stopAt(worker: WorkerId, abandoned: Abandoned): void;
}

/** The part of the host that an exchange needs. */
export interface ExchangeHost {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly adapters: Adapters;
  readonly metrics: Pick<Metrics, 'dropped'>;
  /** The name of this worker as the owner of calls that another one may continue; undefined in one process, where none can be gone alone. */
  readonly owner?: WorkerId | undefined;
}
