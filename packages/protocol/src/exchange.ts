/**
 * The canonical exchange: one client request with everything that belongs to it until its final answer. The dialects of clients and the dialects of
 * servers both convert to and from this form, and do not depend on each other.
 */
import type { CustomMethod } from './custom-methods.ts';
import type { GatewayFault } from './errors.ts';
import type { Facts } from './facts.ts';
import type { Formats } from './format.ts';
import type { ExchangeId, Principal, ServerName, SessionKey, WorkerId } from './ids.ts';
import type { JsonNumber } from './exact-numbers.ts';
import type { JsonObject, JsonRpcErrorObject } from './json-rpc.ts';
import type { InputMethod } from './method-table.ts';
import type { ExchangeMethod, LogLevel } from './methods.ts';
import type { Client } from './session-messages.ts';

export interface ExchangeContext {
  readonly principal: Principal;
  /** The proven identity of the caller, for servers that get it in headers, or at which each user signs in. */
  readonly who?: Who;
  /** The session or single request; subscriptions are counted by it. */
  readonly session: SessionKey;
  /** The client's capabilities, exactly as they are declared to the server. */
  readonly capabilities: JsonObject;
  /** In a request about a task: the session or request that created the task, if that is another one. The caller has proven its access by the task's id. */
  readonly taskOwner?: SessionKey;
  /** In a request about a task: the place of the task. */
  readonly taskPlace?: TaskPlace;
  /** Whether it is a request without a session (2026-07-28); `session` is then a key of its own. */
  readonly standsAlone: boolean;
  /** Whether the gateway goes through rounds and tasks of the server in the client's place: a script waits for one result. */
  readonly awaitsResult?: boolean;
  /** The client of a request without a session, where it is known: its requests share the state that a program keeps. */
  readonly client?: Client;
  /** The least severe log level that the client wants; undefined for no log messages. */
  readonly logLevel: LogLevel | undefined;
  /** Whether the client asked for progress. The gateway requests it in any case; progress tokens are not passed on. */
  readonly wantsProgress: boolean;
  /** The W3C `traceparent` of the session's span. */
  readonly trace?: string | undefined;
  /** The tag under which the call is watched; it is never sent to a server. */
  readonly tap?: string | undefined;
  /** Milliseconds after which the backend forgets the exchange even without a cancellation. */
  readonly maxTimeMs: number;
}

/** The identity of a caller, as an edge has proven it. */
export type Who = Pick<Facts, 'issuer' | 'subject' | 'tenant' | 'groups' | 'claims' | 'at'>;

/** The facts about a caller that servers may get. */
export function whoOf(facts: Facts | undefined): { readonly who?: Who } {
  if (facts === undefined) return {};
  const { issuer, subject, tenant, groups, claims, at } = facts;
  return {
    who: {
      issuer,
      subject,
      tenant,
      groups,
      ...(claims === undefined ? {} : { claims }),
      ...(at === undefined ? {} : { at }),
    },
  };
}

/** The place of a server's task; the server's own id is valid only there. */
export interface TaskPlace {
  readonly worker: WorkerId;
  /** The connection over which it was created; for a stdio server, one run of the program. */
  readonly connection: string;
  /** Whether only the program of this worker has the task. Otherwise the server keeps it, and another worker can ask for it if this one is gone. */
  readonly isProgram: boolean;
}

export interface CallCommand {
  readonly kind: 'call';
  readonly exchange: ExchangeId;
  readonly method: ExchangeMethod;
  /** Names and URIs are the server's own; `_meta` has no keys that are for the gateway. */
  readonly params: JsonObject;
  readonly context: ExchangeContext;
  /** Whether the session knows that this adapter keeps state for it. */
  readonly isBound?: boolean;
  /** Whether it is a notification, which the server does not answer. Only methods that no revision defines are forwarded in this way. */
  readonly isNotification?: boolean;
  /** The session worker that made the call, if another one may continue it: the backend worker then remembers the call, and keeps its answer for a while. */
  readonly owner?: WorkerId;
  /** How often the owner has sent it, counted from 1; left out for 1. */
  readonly sending?: number;
  /** See `Begun`; left out for 0. A message with a lower number than that of an earlier question is of an earlier copy of the request. */
  readonly turn?: number;
}

/**
 * A session worker asks a backend worker about a call whose owner is gone. With `takes`, the sender becomes the owner of the call and gets all further events of
 * it, or the kept answer. Without, it learns the state; after `never`, the backend worker refuses this exchange from any other owner for a while.
 */
export interface AttachCommand {
  readonly exchange: ExchangeId;
  readonly owner: WorkerId;
  /** Milliseconds since an edge accepted the request. */
  readonly ageMs: number;
  /** See `Begun`. An owner with a lower number than that of an earlier question is not the owner any more. */
  readonly turn: number;
  readonly takes: boolean;
  /** How often the same owner has sent the call before. After `never`, the backend worker refuses these messages, which may still arrive. */
  readonly sendings?: number;
}

/**
 * What a backend worker knows of an exchange. `never`: it has not sent the request to a server. `cancelled`: the client cancelled it. `unknown`: it may have
 * sent the request, and has no answer.
 */
export type SeenState = 'running' | 'answered' | 'never' | 'cancelled' | 'unknown';

export type AttachReply = { readonly kind: 'seen'; readonly state: SeenState } | ExchangeEvent;

/** Methods of questions that a server may ask through the gateway. */
export type QuestionMethod = InputMethod | CustomMethod;

/** Commands to every adapter of a server; only the adapter that holds the exchange acts. */
export type ControlCommand =
  /**
   * `isTimeout`: the server did not answer in time. `worker`: only that worker is meant, since another one may be working on the exchange by now. `owner`: the
   * sender; an adapter ignores the command if the call has another owner by now.
   */
  | {
      readonly kind: 'cancel';
      readonly exchange: ExchangeId;
      readonly reason: string;
      readonly isTimeout?: boolean;
      readonly worker?: WorkerId;
      readonly owner?: WorkerId;
    }
  /** The client's answer to an `input`. `owner`: as for `cancel`. */
  | {
      readonly kind: 'answer';
      readonly asker: Asker;
      readonly input: InputKey;
      readonly answer: InputAnswer;
      readonly owner?: WorkerId;
    }
  | {
      readonly kind: 'input-progress';
      readonly asker: Asker;
      readonly input: InputKey;
      readonly params: JsonObject;
      readonly owner?: WorkerId;
    }
  | { readonly kind: 'roots-changed'; readonly session: SessionKey }
  | { readonly kind: 'log-level'; readonly session: SessionKey; readonly level: LogLevel }
  /** One adapter has received the session's `resources/unsubscribe`; the subscription may be at another one. */
  | { readonly kind: 'unsubscribed'; readonly session: SessionKey; readonly uri: string }
  | { readonly kind: 'session-ended'; readonly session: SessionKey }
  /** The server is in use. `caller`: a client for which the server's lists are not known yet. */
  | { readonly kind: 'wanted'; readonly caller?: OfferCaller };

/** A client for which the lists of a server have to be requested. */
export type OfferCaller = Pick<ExchangeContext, 'principal' | 'who' | 'session' | 'standsAlone' | 'capabilities'>;

/** The origin of a server's question: a call, or the session that owns the connection. */
export type Asker = ExchangeId | SessionKey;

/** One question of a server, unique within the adapter that relays it. */
export type InputKey = number;

export type InputAnswer = { readonly result: JsonObject } | { readonly error: JsonRpcErrorObject };

export interface ProgressEvent {
  readonly kind: 'progress';
  readonly progress: JsonNumber;
  readonly total?: JsonNumber;
  readonly message?: string;
  /** Other members, including `_meta`. */
  readonly more?: JsonObject;
}

/** How an exchange ends; nothing follows it. */
export type ExchangeOutcome =
  /**
   * `place`: the place of the tasks in the result. `tools`: for each task of a list, the server's own name of its tool; undefined if that is unknown.
   * Backend workers know all names.
   */
  | {
      readonly kind: 'result';
      readonly result: JsonObject;
      readonly place?: TaskPlace;
      readonly tools?: readonly (string | undefined)[];
    }
  | { readonly kind: 'error'; readonly error: JsonRpcErrorObject }
  | { readonly kind: 'fault'; readonly fault: GatewayFault };

export type ExchangeEvent =
  | ProgressEvent
  /** The server has reported progress that the client did not ask for; it extends the time limit. */
  | { readonly kind: 'alive' }
  /** The server wrote something that cannot be read while it worked on the call: `problem` says so if no answer comes. */
  | { readonly kind: 'doubt'; readonly problem: string }
  /** The server keeps state for this session at this worker's adapter; later calls go there. */
  | { readonly kind: 'bound'; readonly worker: WorkerId }
  | { readonly kind: 'log'; readonly params: JsonObject }
  /** A notification that no revision defines. */
  | { readonly kind: 'notification'; readonly method: string; readonly params?: JsonObject }
  /** The server asks the client something before it can go on (sampling, elicitation, roots). */
  | {
      readonly kind: 'input';
      readonly input: InputKey;
      readonly method: QuestionMethod;
      readonly params: JsonObject;
      /** The exchange that asked the question before and has ended; now this exchange waits for the answer. */
      readonly movedFrom?: ExchangeId;
    }
  /** The adapter has received the client's answer, and the sender may drop it. */
  | { readonly kind: 'input-answered'; readonly input: InputKey }
  /** The server no longer waits for the answer. */
  | { readonly kind: 'input-withdrawn'; readonly input: InputKey; readonly reason: string }
  | ExchangeOutcome;

/** Messages of a server outside calls, sent to every session worker. `place`: the place of the task they are about; `tool`: the server's own name of its tool. */
export type ServerNotice =
  /** The adapter has reconnected: subscriptions and log levels have to be sent again. */
  | { readonly kind: 'adapter-changed'; readonly server: ServerName }
  /** `more`: members other than the URI. */
  | {
      readonly kind: 'resource-updated';
      readonly server: ServerName;
      readonly uri: string;
      readonly more?: JsonObject;
      readonly sessions: readonly SessionKey[];
    }
  /** `sessions`: those that the message may concern; it is sent to those that want logs. */
  | {
      readonly kind: 'log';
      readonly server: ServerName;
      readonly params: JsonObject;
      readonly sessions: readonly SessionKey[];
      /** Whether no other client has used the connection, so that only calls of this session can have caused the message. */
      readonly isOwn?: true;
    }
  /** A notification that no revision defines and that belongs to no call; `sessions`: those that it may concern. */
  | {
      readonly kind: 'notification';
      readonly server: ServerName;
      readonly method: string;
      readonly params?: JsonObject;
      readonly sessions: readonly SessionKey[];
      /** As for a log message. */
      readonly isOwn?: true;
    }
  /** A question that belongs to no call, over a connection that one session owns; `movedFrom`: the call that asked it before and was answered. */
  | {
      readonly kind: 'question';
      readonly server: ServerName;
      readonly input: InputKey;
      readonly method: QuestionMethod;
      readonly params: JsonObject;
      readonly place?: TaskPlace;
      readonly tool?: string;
      readonly movedFrom?: ExchangeId;
      readonly sessions: readonly SessionKey[];
    }
  | {
      readonly kind: 'question-withdrawn';
      readonly server: ServerName;
      readonly input: InputKey;
      readonly reason: string;
      readonly sessions: readonly SessionKey[];
    }
  /** `task`: the server's task object, with the server's own id. */
  | {
      readonly kind: 'task-status';
      readonly server: ServerName;
      readonly task: JsonObject;
      readonly place?: TaskPlace;
      readonly tool?: string;
      readonly sessions: readonly SessionKey[];
    }
  /** Progress of a task after the call that created it was answered; the call's progress token is valid as long as the task. */
  | {
      readonly kind: 'task-progress';
      readonly server: ServerName;
      readonly taskId: string;
      readonly place?: TaskPlace;
      readonly tool?: string;
      readonly progress: ProgressEvent;
      readonly sessions: readonly SessionKey[];
    }
  | {
      readonly kind: 'elicitation-complete';
      readonly server: ServerName;
      readonly elicitationId: string;
      readonly more?: JsonObject;
      readonly sessions: readonly SessionKey[];
    };

/** A backend worker's sign of life, every `presenceMs`. */
export interface BackendPresence {
  readonly worker: WorkerId;
  readonly formats: Formats;
  /** The region of the process (`nats.region`); left out where none is configured. */
  readonly region?: string;
  /** Servers that it has adapters for. */
  readonly servers: readonly ServerName[];
  /** This is the worker's last sign. */
  readonly isLeaving: boolean;
  /** Number of times that it has lost the bus and reconnected. */
  readonly reconnects: number;
}

/** A question about open exchanges; in the answer, those that the adapter holds. */
export interface HeldExchanges {
  readonly exchanges: readonly ExchangeId[];
}
