/** Inputs of a connection. */
import type { BackoffOptions, DeadlineWheel } from '@omnibus/lifecycle';
import type { JsonObject, RepairCounts, ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { ConnectionObserver } from './connection-observer.ts';
import type { Era } from '../dialect/modern/discovery.ts';
import type { QuestionTarget } from './questions.ts';
import type { RunOptions } from './run.ts';
import type { Diary } from '../transport/diary.ts';
import type { Transport, TransportObserver } from '../transport/transport.ts';

export interface ConnectionOptions extends RunOptions {
  readonly server: ServerName;
  /** The client capabilities that are declared to the server. */
  readonly capabilities: JsonObject;
  /** The session or caller that has the connection alone; undefined for a shared connection. */
  readonly owner: QuestionTarget | undefined;
  /** Whether the requests of one user are sent over it one at a time. */
  readonly isTakenInTurn: () => boolean;
  /** Whether its state is the state of the server in the metrics. */
  readonly isBase: boolean;
  /** Of the first connection: whether the server refuses requests without a sign-in. */
  readonly wantsSignIn?: () => boolean;
  /** The known eras of the server; all its connections share this object. */
  readonly era: Era;
  /** The input schema of a tool, which may demand that arguments are repeated in headers. */
  readonly toolSchema: (tool: string) => JsonObject | undefined;
  readonly createTransport: (observer: TransportObserver) => Transport;
  /** An exclusive transport opens for the first time only after this has resolved. */
  readonly after?: Promise<void> | undefined;
  /**
   * Resolves when something answers at the server's address, which may only be starting. Rejects with the reason, in words.
   * @param isWanted false if no request waits any more.
   */
  readonly reachable?: ((isWanted: () => boolean) => Promise<void>) | undefined;
  /** Counts repairs of the server's messages; undefined if there are none. */
  readonly repairs?: RepairCounts | undefined;
  /** What becomes of the server, for people. */
  readonly diary?: Diary | undefined;
  readonly connectTimeoutMs: number;
  readonly backoff: BackoffOptions;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly observer: ConnectionObserver;
}
