/**
 * What an era of clients has words for. Whoever carries requests asks its client's dialect and knows no era; `legacy/` (revisions with
 * sessions) and `modern/` (2026-07-28) implement it.
 */
import type { ErrorReason, ExchangeMethod, ExchangeOutcome, JsonObject, JsonRpcId, ProgressEvent } from '@omnibus/protocol';

/** The two ways in which a server itself answers. */
export type ServerAnswer = Exclude<ExchangeOutcome, { kind: 'fault' }>;

/**
 * How a client deals with tasks. `requested`: it makes a call a task and fetches the result later (2025-11-25 basic/utilities/tasks).
 * `offered`: it takes a task where it asked for a result (the extension `io.modelcontextprotocol/tasks`).
 */
export type TaskMode = 'requested' | 'offered' | 'none';

export interface ClientDialect {
  /** For people. */
  readonly revision: string;
  /** How a method is refused that nobody serves. */
  readonly unknownMethod: ErrorReason;
  /** What a server answered in words of the client's revision. @param wrapsOutput the list shows the tool's output inside an object. */
  answerOf(method: ExchangeMethod, answer: ServerAnswer, wrapsOutput: boolean): ServerAnswer;
  /** The notification that tells progress. */
  progressText(token: JsonRpcId, event: ProgressEvent): string;
  /** The notification that carries a log message. @param source the server's name where the client sees several servers. */
  logText(params: JsonObject, source: string | undefined): string;
}
