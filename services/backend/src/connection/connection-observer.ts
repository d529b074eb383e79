/** Reports of a connection to its owner. */
import type { ExchangeOutcome, JsonObject, ServerIntroduction, ServerTrouble } from '@omnibus/protocol';
import type { Progress } from './progress.ts';
import type { Audience } from './users.ts';

/** Sends the server a setting. */
export type Tell = (method: string, params: JsonObject) => Promise<ExchangeOutcome>;

export interface ConnectionObserver {
  /**
   * The handshake has succeeded, and no request has been sent yet.
   * @param ask sends a request of the gateway's own.
   * @returns a promise that the first request must wait for.
   */
  greeted?(introduction: ServerIntroduction, ask: Tell): Promise<unknown> | undefined;
  ready(introduction: ServerIntroduction): void;
  /**
   * @param isResting whether the connection stays, although the circuit is open: answers to running calls still come.
   * @param isDoubted whether the server only failed requests: the next handshake shows whether it is down.
   */
  lost(problem: string, trouble: ServerTrouble | undefined, isResting: boolean, isDoubted: boolean): void;
  /**
   * A notification that is neither progress nor a log message of a request in flight.
   * @param audience the sessions that may hear it; none if it may concern another caller.
   */
  notification(method: string, params: JsonObject | undefined, audience: Audience): void;
  /** The server asked something, and it is unknown for which client. */
  askedUnnamed(): void;
  /** Progress for a request that is not in flight. @returns false if it has no receiver. */
  strayProgress(progress: Progress): boolean;
  /** The server sends invalid messages before the end of the handshake. @param problem why it is not connected, with its output. */
  stammered?(problem: string): void;
  /** The server may have made unheard announcements. */
  missed(): void;
}
