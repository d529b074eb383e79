/** Tasks that the gateway itself runs, beside those of servers. The path of a call knows this interface only; a feature has the tasks. */
import type {
  EndpointName,
  ExtensionTaskMethod,
  GatewayFault,
  JsonObject,
  ServerNotice,
  SessionKey,
  SessionTaskMethod,
  SourceTool,
  WorkerId,
} from '@omnibus/protocol';
import type { TaskAddress } from '../public-ids/task-ids.ts';
import type { Barrier } from './barrier.ts';
import type { CallStream } from './client-port.ts';

/** Progress of a task of a server, after its call was answered. */
export type TaskProgress = Extract<ServerNotice, { kind: 'task-progress' }>;

/** The stream of a request that awaits the result of a task. */
export interface AwaitingStream extends CallStream {
  /** The task sets it. Called once, when the request was answered or cancelled. */
  left: (() => void) | undefined;
}

export interface OwnTaskRequest {
  readonly method: Exclude<SessionTaskMethod | ExtensionTaskMethod, 'tasks/list'>;
  readonly params: JsonObject;
  /** The task that it names; its server is `ownServer`. */
  readonly task: TaskAddress;
  /** The session that asks; undefined for a request without one. */
  readonly session: SessionKey | undefined;
  readonly endpoint: EndpointName;
  /** Whether its sender may have results of a tool now. */
  readonly mayHave: (source: SourceTool) => boolean;
  /** Takes questions of the task while its result is awaited; left out if the client cannot be asked that way. */
  readonly stream?: AwaitingStream;
  /** The worker that the edge has found gone. */
  readonly gone?: WorkerId | undefined;
}

/**
 * - `result`: tasks in the form of 2025-11-25.
 * - `fault`: the request is refused, and the refusal is counted.
 * - `outcome`: the error with which the task ended. It was counted then, so it is not counted again.
 * - `until`: the request must be served again after that.
 * - `elsewhere`: that worker has the task.
 */
export type OwnTaskAnswer =
  | { readonly result: JsonObject }
  | { readonly fault: GatewayFault }
  | { readonly outcome: GatewayFault }
  | { readonly until: Promise<void> }
  | { readonly elsewhere: WorkerId };

export interface OwnTasks {
  serve(request: OwnTaskRequest): OwnTaskAnswer;
  /** The tasks of a session, oldest first. @param mayHave whether the session may have results of a tool now. */
  list(session: SessionKey, mayHave: OwnTaskRequest['mayHave']): readonly JsonObject[];
  /** How its tasks use a session: one runs, or all have ended and are kept; undefined if it has none. */
  useOf(session: SessionKey): 'running' | 'kept' | undefined;
  /** Another worker holds the session from now on, and answers that its tasks have failed. */
  sessionLeft(session: SessionKey): void;
  /** Passes on progress of a task of a server that a task of this session awaits. */
  taskProgressed(session: SessionKey, notice: TaskProgress): void;
  /** Ends calls that callers may not make any more. */
  barred(barrier: Barrier): void;
}
