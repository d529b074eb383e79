/** Shared state of the streams of all sessions of one worker. */
import type { Bus, Journal, PresenceWatch } from '@omnibus/bus';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { Limits, Presence, StreamEntry, StreamId, WorkerId } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { FrameBudget } from './kept-frames.ts';

/** Whether an edge reads a stream; `gone`: the edge itself is not there any more. */
export type Reading = 'read' | 'unread' | 'gone';

export interface StreamHost {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly limits: Limits;
  /** The budget for stored frames, with which clients can resume streams. */
  readonly frames: FrameBudget;
  /** Whether the signs of life of an edge arrive. */
  readonly isEdgeThere: (edge: WorkerId) => boolean;
  /** Whether an edge reads a stream. Resolves with `read` if that is not known. */
  readonly readingAt: (edge: WorkerId, reader: StreamId) => Promise<Reading>;
  /** Signs of life of the session workers, which tell whether a worker is there. */
  readonly sessionWorkers: Pick<PresenceWatch<Presence>, 'state'>;
  /** Milliseconds for which a worker that is leaving goes on with the calls it has begun. */
  readonly drainMs: () => number;
  /** The journal of sent events; undefined where nothing outlives the process. */
  readonly streams: Journal<StreamEntry> | undefined;
}
