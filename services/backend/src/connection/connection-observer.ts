/** What a connection to a server says to its owner. */
import type { JsonObject, SessionKey, ServerIntroduction } from '@omnibus/protocol';
import type { Progress } from './progress.ts';

export interface ConnectionObserver {
  ready(introduction: ServerIntroduction): void;
  lost(problem: string): void;
  /**
   * A notification that is neither progress nor a log message of a request in flight.
   * @param session the one it can concern, where that is certain.
   */
  notification(method: string, params: JsonObject | undefined, session: SessionKey | undefined): void;
  /** The server asked something, and nothing tells on whose behalf. */
  askedUnnamed(): void;
  /** Progress of no request in flight. @returns false when it means nothing to anybody. */
  strayProgress(progress: Progress): boolean;
  /** Something may have been said while nobody listened. */
  missed(): void;
}
