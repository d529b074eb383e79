/** Receives the answer to a request, and earlier messages about it. */
import type { ExchangeOutcome, JsonObject } from '@omnibus/protocol';
import type { Progress } from './progress.ts';
import type { QuestionTarget } from './questions.ts';
import type { User } from './users.ts';

export interface PendingReply extends QuestionTarget, User {
  progress(progress: Progress): void;
  log(params: JsonObject): void;
  /** The request was held while the connection was opened. @param go sends it; not called if nobody waits for it any more. */
  resume(go: () => void): void;
  /** The server wrote something that cannot be read, which may have been the answer. */
  doubt(problem: string): void;
  /** A notification that is in no revision. */
  notification(method: string, params: JsonObject | undefined): void;
  /** @param id of the request, which may settle before `request` has returned it. */
  settle(outcome: ExchangeOutcome, id: number): void;
}

/** The receiver for requests of the gateway itself: other messages of the server are ignored, since no client is concerned. */
export const gatewayReply = {
  session: undefined,
  principal: undefined,
  listens: false,
  task: undefined,
  progress: () => undefined,
  log: () => undefined,
  doubt: () => undefined,
  resume: (go: () => void) => go(),
  notification: () => undefined,
  ask: () => undefined,
  adopt: () => undefined,
  withdraw: () => undefined,
} satisfies Omit<PendingReply, 'settle'>;
