/**
 * The canonical exchange: one client request and all that belongs to it until its final answer. Dialects of clients
 * turn what they hear into this, dialects of servers turn this into what they say; neither knows the other.
 */
import type { CustomMethod } from './custom-methods.ts';
import type { GatewayFault } from './errors.ts';
import type { Facts } from './facts.ts';
import type { Formats } from './format.ts';
import type { ExchangeId, Principal, ServerName, SessionKey, WorkerId } from './ids.ts';
import type { JsonNumber } from './exact-numbers.ts';
import type { JsonObject, JsonRpcErrorObject } from './json-rpc.ts';
import type { CarriedMethod, InputMethod } from './method-table.ts';
import type { LogLevel } from './methods.ts';
import type { Client } from './session-messages.ts';

/** Methods that are carried to one upstream server. Everything else is answered by the session itself. */
export type ExchangeMethod = CarriedMethod | CustomMethod;

/** Methods about a task that a server works on (2025-11-25, basic/utilities/tasks). */
export type TaskMethod = Extract<CarriedMethod, `tasks/${string}`>;

export interface ExchangeContext {
  readonly principal: Principal;
  /** What is proven of the caller: for servers that are told, or where each user signs in for himself. */
  readonly who?: Who;
  /** Reference counts of subscriptions are kept per session. */
  readonly session: SessionKey;
  /** What the client declared that a server may ask of it; a server is told exactly this. */
  readonly capabilities: JsonObject;
  /** Of a request about a task: the session or request that created it, when that is another. Who holds the task's id was given it. */
  readonly taskOwner?: SessionKey;
  /** Where the task is that a request is about. */
  readonly taskPlace?: TaskPlace;
  /** The request stands alone: `session` is its own and nobody else's (2026-07-28). */
  readonly standsAlone: boolean;
  /** Whose a request is that stands alone, where that is known: what a program keeps for one is for all of them. */
  readonly client?: Client;
  /** The least severe messages the client wants; undefined for none. */
  readonly logLevel: LogLevel | undefined;
  /** The client asked for progress; tokens are each hop's own and do not travel. The server is asked for it in any case. */
  readonly wantsProgress: boolean;
  /** The W3C `traceparent` of the session's span. */
  readonly trace?: string | undefined;
  /** The tag under which the call is watched; it never goes on to a server. */
  readonly tap?: string | undefined;
  /** Milliseconds after which the backend forgets the exchange even if nobody cancelled it. */
  readonly maxTimeMs: number;
}

/** A caller as an edge has proven who he is. */
export type Who = Pick<Facts, 'issuer' | 'subject' | 'tenant' | 'groups'>;

/** What servers may be told of a caller. */
export function whoOf(facts: Facts | undefined): { readonly who?: Who } {
  if (facts === undefined) return {};
  const { issuer, subject, tenant, groups } = facts;
  return { who: { issuer, subject, tenant, groups } };
}

/** Where a server's task is: the server's own id means nothing anywhere else. */
export interface TaskPlace {
  readonly worker: WorkerId;
  /** The connection over which it was made; where that is a program's, one run of the program. */
  readonly connection: string;
  /** The program that this worker started has the task, and nobody else. Otherwise the server keeps it, and may be asked by another way when this one is gone. */
  readonly isProgram: boolean;
}

export interface CallCommand {
  readonly kind: 'call';
  readonly exchange: ExchangeId;
  readonly method: ExchangeMethod;
  /** Names and URIs are the upstream's own; `_meta` holds no key of this hop's protocol. */
  readonly params: JsonObject;
  readonly context: ExchangeContext;
  /** The session knows that this adapter keeps something for it. */
  readonly isBound?: boolean;
  /** It is a notification: the server is told, and does not answer. Only methods that no revision knows are carried so. */
  readonly isNotification?: boolean;
}

/** What a server may ask through the gateway. */
export type QuestionMethod = InputMethod | CustomMethod;

/** Sent to every adapter of a server; the one that holds the exchange acts, the others do not know it. */
export type ControlCommand =
  /** `isTimeout`: the server did not answer in time. `worker`: at that worker only; another one may work on it by now. */
  | { readonly kind: 'cancel'; readonly exchange: ExchangeId; readonly reason: string; readonly isTimeout?: boolean; readonly worker?: WorkerId }
  /** The client's answer to an `input`. */
  | { readonly kind: 'answer'; readonly asker: Asker; readonly input: InputKey; readonly answer: InputAnswer }
  | { readonly kind: 'input-progress'; readonly asker: Asker; readonly input: InputKey; readonly params: JsonObject }
  | { readonly kind: 'roots-changed'; readonly session: SessionKey }
  | { readonly kind: 'log-level'; readonly session: SessionKey; readonly level: LogLevel }
  /** One adapter has taken the session's `resources/unsubscribe`; another may be the one that was told to listen. */
  | { readonly kind: 'unsubscribed'; readonly session: SessionKey; readonly uri: string }
  | { readonly kind: 'session-ended'; readonly session: SessionKey }
  /** Somebody uses the server. With `caller`, what a client that declared these capabilities is offered is not known. */
  | { readonly kind: 'wanted'; readonly caller?: OfferCaller };

/** A client of which it is to be found out what it is offered. */
export type OfferCaller = Pick<ExchangeContext, 'principal' | 'who' | 'session' | 'standsAlone' | 'capabilities'>;

/** On whose behalf a server asks: a call, or the session whose own connection it is. */
export type Asker = ExchangeId | SessionKey;

/** One question of a server, unique within the adapter that relays it. */
export type InputKey = number;

export type InputAnswer = { readonly result: JsonObject } | { readonly error: JsonRpcErrorObject };

export interface ProgressEvent {
  readonly kind: 'progress';
  readonly progress: JsonNumber;
  readonly total?: JsonNumber;
  readonly message?: string;
  /** Members besides these, `_meta` among them. */
  readonly more?: JsonObject;
}

/** How an exchange ends; nothing follows it. */
export type ExchangeOutcome =
  /** `place`: where the tasks are that the result is about; `tools`: what each task of a list runs, by the server's own name. */
  | { readonly kind: 'result'; readonly result: JsonObject; readonly place?: TaskPlace; readonly tools?: readonly string[] }
  | { readonly kind: 'error'; readonly error: JsonRpcErrorObject }
  | { readonly kind: 'fault'; readonly fault: GatewayFault };

export type ExchangeEvent =
  | ProgressEvent
  /** The server has reported progress that is not for the client: the call does not hang. */
  | { readonly kind: 'alive' }
  /** What the session does with this server has a place: the server keeps state for it behind this worker's adapter. */
  | { readonly kind: 'bound'; readonly worker: WorkerId }
  | { readonly kind: 'log'; readonly params: JsonObject }
  /** One that no revision knows. */
  | { readonly kind: 'notification'; readonly method: string; readonly params?: JsonObject }
  /** The server needs something of the client before it can go on (sampling, elicitation, roots). */
  | {
      readonly kind: 'input';
      readonly input: InputKey;
      readonly method: QuestionMethod;
      readonly params: JsonObject;
      /** The question was asked on behalf of this exchange, which ended; its answer is still waited for, by this one. */
      readonly movedFrom?: ExchangeId;
    }
  /** The adapter has the client's answer: nobody needs to keep it. */
  | { readonly kind: 'input-answered'; readonly input: InputKey }
  /** The server does not wait for that answer any more. */
  | { readonly kind: 'input-withdrawn'; readonly input: InputKey; readonly reason: string }
  | ExchangeOutcome;

/** What a server says outside any call. Sent to every session worker. `place`: of the tasks it speaks of; `tool`: what such a task runs, by the server's own name. */
export type ServerNotice =
  /** Its adapter has begun anew: what it is to know of a session has to be said again. */
  | { readonly kind: 'adapter-changed'; readonly server: ServerName }
  /** `more`: what it says besides the URI. */
  | { readonly kind: 'resource-updated'; readonly server: ServerName; readonly uri: string; readonly more?: JsonObject; readonly sessions: readonly SessionKey[] }
  /** `sessions`: those it can concern, if they asked for logs. */
  | { readonly kind: 'log'; readonly server: ServerName; readonly params: JsonObject; readonly sessions: readonly SessionKey[] }
  /** A notification that no revision knows, of no call, over a connection that only one session has used. */
  | { readonly kind: 'notification'; readonly server: ServerName; readonly method: string; readonly params?: JsonObject; readonly sessions: readonly SessionKey[] }
  /** A question that belongs to no call, over a connection that is one session's own; or not any more, since the call `movedFrom` was answered. */
  | { readonly kind: 'question'; readonly server: ServerName; readonly input: InputKey; readonly method: QuestionMethod; readonly params: JsonObject; readonly place?: TaskPlace; readonly tool?: string; readonly movedFrom?: ExchangeId; readonly sessions: readonly SessionKey[] }
  | { readonly kind: 'question-withdrawn'; readonly server: ServerName; readonly input: InputKey; readonly reason: string; readonly sessions: readonly SessionKey[] }
  /** `task` is the server's own task object, under the server's own id. */
  | { readonly kind: 'task-status'; readonly server: ServerName; readonly task: JsonObject; readonly place?: TaskPlace; readonly tool?: string; readonly sessions: readonly SessionKey[] }
  /** The call that created the task has been answered; its progress token lives as long as the task. */
  | { readonly kind: 'task-progress'; readonly server: ServerName; readonly taskId: string; readonly place?: TaskPlace; readonly tool?: string; readonly progress: ProgressEvent; readonly sessions: readonly SessionKey[] }
  | { readonly kind: 'elicitation-complete'; readonly server: ServerName; readonly elicitationId: string; readonly more?: JsonObject; readonly sessions: readonly SessionKey[] };

/** A backend worker's sign of life, every `presenceMs`. */
export interface BackendPresence {
  readonly worker: WorkerId;
  /** The formats that the process speaks; left out before 0.2.0. */
  readonly formats?: Formats;
  /** Where it runs (`nats.region`); left out where that is not said. */
  readonly region?: string;
  /** Servers it has adapters of. */
  readonly servers: readonly ServerName[];
  /** This is the worker's last sign. */
  readonly isLeaving: boolean;
  /** How often it had lost the bus and found it again. */
  readonly reconnects: number;
}

/** A question about open exchanges, and the answer: those an adapter holds. */
export interface HeldExchanges {
  readonly exchanges: readonly ExchangeId[];
}
