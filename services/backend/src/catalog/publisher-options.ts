/** Inputs of the entry of one server in the catalogue. */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Limits, ServerName, WorkerId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { ConnectionPool } from '../connection/pool.ts';
import type { CallersInCatalog } from '../connection/server-callers.ts';
import type { ReaderOptions } from './reader.ts';
import type { RecordFilter } from './record-of.ts';

export interface PublisherOptions extends ReaderOptions, CallersInCatalog {
  readonly server: ServerName;
  readonly worker: WorkerId;
  readonly connection: () => UpstreamConnection;
  readonly connections: () => ConnectionPool;
  /** Undefined where everything is published that the server says. */
  readonly filter: RecordFilter | undefined;
  /** The option `rereadLists` of the server. */
  readonly rereadMs: number;
  readonly wheel: DeadlineWheel;
  readonly limits: Limits;
  readonly log: Logger;
  readonly metrics: Metrics;
}
