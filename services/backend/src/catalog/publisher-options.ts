/** What the entry of one server in the catalogue is made with. */
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Limits, Principal, ServerName, WorkerId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { UpstreamConnection } from '../connection/connection.ts';
import type { ConnectionPool } from '../connection/pool.ts';
import type { ReaderOptions } from './reader.ts';
import type { Definitions } from './definitions/definitions.ts';

export interface PublisherOptions extends ReaderOptions {
  readonly server: ServerName;
  readonly worker: WorkerId;
  readonly connection: () => UpstreamConnection;
  readonly connections: () => ConnectionPool;
  /** Undefined where nothing is held against what was approved. */
  readonly definitions: Definitions | undefined;
  readonly wantsSignIn: () => boolean;
  /** Whether the server is called with tokens made from those of its callers. */
  readonly isMadeFromCallers: boolean;
  /** Of a user, where each is called for in his own name; undefined elsewhere. */
  readonly ownerWantsSignIn: ((principal: Principal) => boolean) | undefined;
  /** Whether the server is told in headers who calls it. */
  readonly isToldCallers: boolean;
  /** The option `rereadLists` of the server. */
  readonly rereadMs: number;
  readonly wheel: DeadlineWheel;
  readonly limits: Limits;
  readonly log: Logger;
  readonly metrics: Metrics;
}
