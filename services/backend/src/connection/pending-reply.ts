/** Whoever waits for an answer of a server. */
import type { ExchangeOutcome, JsonObject } from '@omnibus/protocol';
import type { Progress } from './progress.ts';
import type { QuestionTarget } from './questions.ts';

export interface PendingReply extends QuestionTarget {
  progress(progress: Progress): void;
  log(params: JsonObject): void;
  /** A notification that no revision knows. */
  notification(method: string, params: JsonObject | undefined): void;
  /** @param id of the request: it may settle before `request` has returned it. */
  settle(outcome: ExchangeOutcome, id: number): void;
}

/** Waits for the gateway itself: what a server says meanwhile concerns no client. */
export const gatewayReply = {
  session: undefined, task: undefined,
  progress: () => undefined, log: () => undefined, notification: () => undefined, ask: () => undefined, adopt: () => undefined, withdraw: () => undefined,
} satisfies Omit<PendingReply, 'settle'>;
