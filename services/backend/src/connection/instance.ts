/** A connection other than the base connection, and its users. */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { Principal, SessionKey } from '@omnibus/protocol';
import type { UpstreamConnection } from './connection.ts';

export interface Instance {
  readonly key: string;
  readonly connection: UpstreamConnection;
  /** The identity that opened it. */
  readonly principal: Principal;
  /** The only session of it; undefined if it has several. */
  readonly session: SessionKey | undefined;
  /** Its user: a session, a known caller, or the key of a request without a session while that runs. */
  user: string;
  /** The common property of requests without a session that may use it one after the other; undefined where none may. */
  readonly pool: string | undefined;
  /** The roots that its clients named when it was opened for them. */
  readonly roots?: string | undefined;
  /** Callers that wait for their turn, oldest first; it serves one at a time. */
  readonly waiting: (() => void)[];
  lastUsedAt: number;
  calls: number;
  /** The deadline of the next check whether it is idle. It is cancelled with the connection, which it would otherwise keep in memory. */
  look?: Deadline;
}

/** About the time that starting another program takes. */
const turnMs = 1_000;

/** Resolves when a call over it has ended, for the caller that has waited longest, or after a moment. */
export function turnAt({ waiting }: Instance, wheel: DeadlineWheel): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      limit.cancel();
      const index = waiting.indexOf(go);
      if (index !== -1) waiting.splice(index, 1);
      resolve();
    };
    const limit = wheel.schedule(turnMs, go);
    waiting.push(go);
  });
}
