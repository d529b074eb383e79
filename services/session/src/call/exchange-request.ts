/** The inputs of an exchange: the request, its time limits, its observer, and the parts of the worker that it uses. */
import type {
  ExchangeContext,
  ExchangeEvent,
  ExchangeId,
  ExchangeMethod,
  ExchangeOutcome,
  InputAnswer,
  InputKey,
  JsonObject,
  ServerName,
  WorkerId,
} from '@omnibus/protocol';
import type { TaskAddress } from '../public-ids/task-ids.ts';

export interface ExchangeObserver {
  progress(event: Extract<ExchangeEvent, { kind: 'progress' }>): void;
  log(params: JsonObject): void;
  /** The server sent a notification that no revision knows. */
  notification?(method: string, params: JsonObject | undefined): void;
  /** The worker of the adapter that keeps state for the session has changed; undefined when that adapter is gone. */
  affinity(worker: WorkerId | undefined): void;
  /** The adapter is gone; the request is sent again (`repeated`), or ends with an unknown outcome. */
  lost?(outcome: 'repeated' | 'unknown'): void;
  /** The server asks something of the client. Answer with `answerInput`. */
  input(event: Extract<ExchangeEvent, { kind: 'input' }>): void;
  /** A question was answered by the client, or by the gateway in its place. */
  readonly answered?: ((input: InputKey, answer: InputAnswer) => void) | undefined;
  /** A question was withdrawn: its answer is not needed any more. */
  inputWithdrawn(input: InputKey, reason: string): void;
  settled(outcome: ExchangeOutcome): void;
  /** Whether `settled` takes a result whose bytes are at another process. */
  readonly takesAway?: boolean;
}

export interface TimeLimits {
  /** Milliseconds without an answer or progress. */
  readonly callMs: number;
  /** Milliseconds in all, without the time of questions to the client. */
  readonly maxMs: number;
  /** The limit that the client has set for this request, and its remainder, in milliseconds. */
  readonly own?: { readonly limitMs: number; readonly leftMs: number };
  /** Milliseconds a client has to answer a server's question. */
  readonly humanMs: number;
  /** Milliseconds a client may wait for the result of a task. */
  readonly taskMs: number;
}

/** Where a call goes on that a session worker that is gone has begun; `at` is undefined if it is not known whether a server has it. */
export interface Continued {
  readonly at: WorkerId | undefined;
}

/** The target of a request, for messages: "tool" and its name, "resource" and its URI. */
export type Topic = readonly [noun: string, name: string];

export interface ExchangeRequest {
  readonly exchange: ExchangeId;
  readonly server: ServerName;
  readonly method: ExchangeMethod;
  readonly params: JsonObject;
  readonly subject: Topic;
  readonly limits: TimeLimits;
  readonly context: Omit<ExchangeContext, 'maxTimeMs'>;
  /** The worker of the adapter with the session's state; any other if there is none or it is gone. */
  readonly affinity?: WorkerId | undefined;
  /** By server, the worker of the same client's last request. If adapters keep state, this request goes there too, whichever workers came meanwhile. */
  readonly chosen?: Map<ServerName, WorkerId> | undefined;
  /** Whether executing it twice has no further effect; follows from the method when left out. */
  readonly isRepeatable?: boolean;
  /** Whether another session worker may continue it, so that backend workers remember it. */
  readonly isKept?: boolean;
  /** Set for a call that another session worker has begun, or may have begun. */
  readonly continues?: Continued | undefined;
  /** See `Begun`; left out for 0. */
  readonly turn?: number | undefined;
  /** Set for a notification, which the server does not answer. */
  readonly isNotification?: boolean;
}

/** A request that the gateway itself makes on behalf of a client, which receives no message of it. */
export interface OwnRequest {
  readonly method: ExchangeMethod;
  readonly server: ServerName;
  readonly params: JsonObject;
  readonly subject: Topic;
  readonly task?: TaskAddress;
  readonly isNotification?: boolean;
}
