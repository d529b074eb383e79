/**
 * The differences between the eras of clients. Code that carries requests uses the dialect of its client and never asks for the era; `legacy/`
 * (revisions with sessions) and `modern/` (2026-07-28) implement it.
 */
import type {
  Caller,
  ErrorReason,
  ExchangeContext,
  ExchangeMethod,
  ExchangeOutcome,
  JsonObject,
  JsonRpcId,
  ProgressEvent,
  SessionKey,
} from '@omnibus/protocol';

/** The two ways in which a server itself answers. */
export type ServerAnswer = Exclude<ExchangeOutcome, { kind: 'fault' }>;

/**
 * How a client deals with tasks. `requested`: it makes a call a task and fetches the result later (2025-11-25 basic/utilities/tasks).
 * `offered`: it takes a task where it asked for a result (the extension `io.modelcontextprotocol/tasks`).
 */
export type TaskMode = 'requested' | 'offered' | 'none';

/** The owner of an exchange, for adapters. */
export type CallerContext = Pick<ExchangeContext, 'principal' | 'session' | 'standsAlone' | 'awaitsResult' | 'client'>;

export interface ClientDialect {
  /** The revision, for logs and records. */
  readonly revision: string;
  /** Reason with which an unknown method is refused. */
  readonly unknownMethod: ErrorReason;
  /** Whether the state of a task (`tasks/get`) contains its result. */
  readonly stateHasResult: boolean;
  /** Converts a server's answer to the client's revision. @param wrapsOutput whether the list shows the tool's output wrapped in an object. */
  answerOf(method: ExchangeMethod, answer: ServerAnswer, wrapsOutput: boolean): ServerAnswer;
  /** The owner of a client's exchanges. @param key of its session, or of its request. */
  contextOf(caller: Caller, key: SessionKey): CallerContext;
  /** The progress notification, as JSON. */
  progressText(token: JsonRpcId, event: ProgressEvent): string;
  /** The notification with a log message, as JSON. @param source the server's name where the client sees several servers. */
  logText(params: JsonObject, source: string | undefined): string;
}

/** The session that a call belongs to; undefined for a call that belongs to none. */
export function sessionOf({
  standsAlone,
  session,
}: Pick<ExchangeContext, 'standsAlone' | 'session'>): SessionKey | undefined {
  return standsAlone ? undefined : session;
}
