/** What the streams of sessions work with; one worker has one. */
import type { Bus, Journal, PresenceWatch } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Limits, Presence, StreamEntry, WorkerId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { FrameBudget } from './kept-frames.ts';

export interface StreamHost {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly limits: Limits;
  /** What is kept of streams that clients may come back to. */
  readonly frames: FrameBudget;
  /** Whether signs of life of an edge are heard. */
  readonly isEdgeThere: (edge: WorkerId) => boolean;
  /** Signs of life of the session workers. */
  readonly sessionWorkers: Pick<PresenceWatch<Presence>, 'state'>;
  /** Milliseconds a worker that leaves goes on with what it has begun. */
  readonly drainMs: () => number;
  /** What was sent on streams that clients may come back to; undefined where nothing outlives the process. */
  readonly streams: Journal<StreamEntry> | undefined;
}
