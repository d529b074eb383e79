/** A connection besides the base, and who uses it. */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { Principal, SessionKey } from '@omnibus/protocol';
import type { UpstreamConnection } from './connection.ts';

export interface Instance {
  readonly key: string;
  readonly connection: UpstreamConnection;
  /** In whose name it was opened. */
  readonly principal: Principal;
  /** The session whose alone it is; undefined when there is none. */
  readonly session: SessionKey | undefined;
  /** Whose it is: a session, a known caller; of a request without one, its own key while it runs. */
  user: string;
  /** What requests without a session have in common that may be given this connection one after the other; undefined where none may. */
  readonly pool: string | undefined;
  /** What its clients said of their roots when it was opened for them. */
  readonly roots?: string | undefined;
  /** Who waits for it, oldest first: it serves one at a time. */
  readonly waiting: (() => void)[];
  lastUsedAt: number;
  calls: number;
  /** When it is looked at next whether anybody uses it; ended with it, or it would be kept until then. */
  look?: Deadline;
}

/** About what it takes to start another program. */
const turnMs = 1_000;

/** Resolves when a call over it has ended, for whoever has waited longest, or after a moment. */
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
