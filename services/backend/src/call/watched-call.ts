import type { ExchangeOutcome, InputMethod, JsonObject, CustomMethod } from '@omnibus/protocol';
import type { CallResult } from '@omnibus/telemetry';
import type { Progress } from '../connection/progress.ts';

/** One call as one watcher sees it. Members that a watcher leaves out are not called. */
export interface WatchedCall {
  /** The parameters as the server gets them, with the additions of the watcher. */
  params?(params: JsonObject): JsonObject;
  /** The request has been written. @param round how often the server has demanded something before. */
  written?(request: number, round: number): void;
  /** The server asks the client something. */
  asked?(method: InputMethod | CustomMethod): void;
  progressed?(progress: Progress): void;
  /** @param outcome undefined for a call that was cancelled. */
  ended?(result: CallResult | 'cancelled', outcome: ExchangeOutcome | undefined): void;
}

/** For calls that nothing watches. */
export const unwatched: readonly WatchedCall[] = [];
