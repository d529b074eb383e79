/** Inputs of the entry of one server in the catalogue. */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Limits, ServerName, ToolEntry, WorkerId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { ConnectionPool } from '../connection/pool.ts';
import type { OwnerOffers, OwnerOffersOptions } from './owner-offers.ts';
import type { ReaderOptions } from './reader.ts';
import type { RecordFilter } from './record-of.ts';
import type { RecordShape } from './record-shape.ts';

/** How the entry shows a server that knows its callers. */
export interface CallersInCatalog {
  /** The tool in place of lists that the server does not show to unknown users; undefined while it shows them. */
  readonly standIn: () => ToolEntry | undefined;
  /** Makes the lists of single users; undefined for a server that shows all users the same. */
  readonly listsOfUsers: ((parts: Omit<OwnerOffersOptions, 'standIn' | 'wantsSignIn'>) => OwnerOffers) | undefined;
  /** Whether headers name the caller. */
  readonly isToldCallers: boolean;
}

export interface PublisherOptions extends ReaderOptions, CallersInCatalog {
  readonly server: ServerName;
  readonly worker: WorkerId;
  readonly connection: () => UpstreamConnection;
  readonly connections: () => ConnectionPool;
  /** Undefined where everything is published that the server says. */
  readonly filter: RecordFilter | undefined;
  /** Undefined where clients see every tool as the server gives it. */
  readonly shape: RecordShape | undefined;
  /** The option `rereadLists` of the server. */
  readonly rereadMs: number;
  readonly wheel: DeadlineWheel;
  readonly limits: Limits;
  readonly log: Logger;
  readonly metrics: Metrics;
}
