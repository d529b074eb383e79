/** What a connection is made of. */
import type { BackoffOptions, DeadlineWheel } from '@omnibus/lifecycle';
import type { JsonObject, ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { ConnectionObserver } from './connection-observer.ts';
import type { Era } from '../dialect/modern/discovery.ts';
import type { QuestionTarget } from './questions.ts';
import type { RunOptions } from './run.ts';
import type { Diary } from '../transport/diary.ts';
import type { Transport, TransportObserver } from '../transport/transport.ts';

export interface ConnectionOptions extends RunOptions {
  readonly server: ServerName;
  /** What the server is told its client can do. */
  readonly capabilities: JsonObject;
  /** Whose alone it is. */
  readonly owner: QuestionTarget | undefined;
  /** Requests of one user are made over it one at a time. */
  readonly isTakenInTurn: () => boolean;
  /** The one whose state stands for the server's in the metrics. */
  readonly isBase: boolean;
  /** What is known of the server's era; all its connections share it. */
  readonly era: Era;
  /** The input schema of a tool, which may want arguments repeated in headers. */
  readonly toolSchema: (tool: string) => JsonObject | undefined;
  readonly createTransport: (observer: TransportObserver) => Transport;
  /** What has to be over before an exclusive transport opens first. */
  readonly after?: Promise<void> | undefined;
  /**
   * Resolves when something answers where the server is, which may only be starting. Rejects with why not, in words.
   * @param isWanted nobody waits any more when not.
   */
  readonly reachable?: ((isWanted: () => boolean) => Promise<void>) | undefined;
  /** What becomes of the server, for people. */
  readonly diary?: Diary | undefined;
  readonly connectTimeoutMs: number;
  readonly backoff: BackoffOptions;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly observer: ConnectionObserver;
}
