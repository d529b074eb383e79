/** A client as the code that carries its requests to servers sees it: a session, or one request without a session. */
import type { View } from '@omnibus/catalog';
import type {
  Begun,
  Caller,
  ClientInfo,
  ExchangeEvent,
  ExchangeMethod,
  ExchangeOutcome,
  Facts,
  GatewayFault,
  InputKey,
  JsonBytes,
  JsonObject,
  JsonRpcId,
  Labels,
  LogLevel,
  ProgressEvent,
  ServerName,
  SessionKey,
  SourceTool,
  StreamId,
} from '@omnibus/protocol';
import type { ClientDialect, ServerAnswer, TaskMode } from '../dialect/dialect.ts';
import type { Continued } from './exchange-request.ts';
import type { Permission } from './permission.ts';
import type { LinkedResources } from './routes/linked-resources.ts';
import type { CallScreen, Questioner } from './transform.ts';

/** Sink for one request: messages, then at most one answer. */
export interface CallStream {
  /**
   * Names the POST, or the request without a session, among all of the gateway; the same at every worker that serves it. Undefined for a batch in which
   * several requests have one id, since other workers cannot tell them apart.
   */
  readonly origin: StreamId | SessionKey | undefined;
  /** Set if a worker that is gone may have begun the request. */
  readonly begun: Begun | undefined;
  /** The W3C `traceparent` of the request, where tracing is on. */
  readonly trace: string | undefined;
  /** The tag under which the request is watched. */
  readonly tap: string | undefined;
  /** The run of a script that makes the request, by its id in records; left out for a request of the client itself. */
  readonly run?: string;
  /** Called when it is watched under another tag, since routing selected it. */
  watchedAs?(tag: string): void;
  /** Sends a message before the answer. @param text JSON. */
  send(text: string): void;
  /** Whether its answer may be bytes that are at another process: it keeps no copy. Left out if it may not. */
  readonly takesAway?: boolean;
  /** Called when a run calls a tool, of which the answer may have results; left out where that is of no use. */
  takesFrom?(source: SourceTool): void;
  /** Completes a server's answer for the request; left out where nothing is added. */
  completed?(answer: ServerAnswer): ServerAnswer;
  /** @param member `"result":…` or `"error":…`, serialised. */
  answerMember(id: JsonRpcId, member: string | JsonBytes): void;
  refuse(id: JsonRpcId, gatewayFault: GatewayFault): void;
  leaveUnanswered(): void;
}

/** The client of forwarded requests. */
export interface ClientPort<Stream extends CallStream> {
  readonly key: SessionKey;
  readonly caller: Caller;
  /** The facts that its last request has proven; undefined for an anonymous caller, and in a session taken over from another worker until the client's next request. */
  readonly facts: Facts | undefined;
  /** The caller as of its latest request: its facts may change from one request to the next. */
  readonly asking: Caller;
  /** The session that it is; undefined for one request without a session (2026-07-28). */
  readonly session: SessionKey | undefined;
  readonly dialect: ClientDialect;
  /** The key by which a client without sessions tells its conversations apart. */
  readonly conversation?: string | undefined;
  /** What results have led it to. */
  readonly linkedResources: LinkedResources;
  /** Name and version that the client gives itself. */
  readonly info: ClientInfo | undefined;
  /** Capabilities of the client, also for questions of servers. */
  readonly capabilities: JsonObject;
  /** The least severe log level that it wants; undefined for no log messages. */
  readonly logLevel: LogLevel | undefined;
  taskMode(): TaskMode;
  /** Its view, by its latest request; undefined if the endpoint was removed from the configuration. */
  view(): View | undefined;
  /** Sends a message that does not belong to an open request. @param text JSON. */
  push(text: string): void;
  /** The token of the progress notification for the client; undefined when it is not to be sent. @param token of the request that began the call. */
  progressToken(token: JsonRpcId, event: ProgressEvent): JsonRpcId | undefined;
  /** Whether a log message is severe enough for it. */
  wantsLog(params: JsonObject): boolean;
  /** Passes a question of the server to the client; the answer goes to `asker`. */
  ask(
    asker: Questioner,
    call: ForwardedCall<Stream>,
    server: ServerName,
    event: Extract<ExchangeEvent, { kind: 'input' }>,
  ): void;
  inputWithdrawn(asker: Questioner, input: InputKey, reason: string): void;
  /** Withdraws all open questions of an asker that has ended. */
  askerEnded(asker: Questioner, reason: string): void;
}

/** A request of the client that is being forwarded. */
export interface ForwardedCall<Stream extends CallStream> {
  readonly stream: Stream;
  readonly id: JsonRpcId;
  readonly method: ExchangeMethod;
  /** Parameters as the client sent them. */
  readonly given: JsonObject;
  readonly view: View;
  readonly progressToken: JsonRpcId | undefined;
  /** They hear how the call ends; left out where there are none. A gate adds its own. */
  followers?: readonly CallFollower[];
  /** The time limit that the client itself has set; undefined where it has set none. */
  readonly own: OwnLimit | undefined;
  /** The decision of the access rules; undefined where there are none. */
  readonly permission: Permission | undefined;
  /** Labels of its conversation when it began; left out until a gate has read them. */
  readonly labels?: Labels;
  /** Redacts and guards its messages; left out where nothing must be looked for in them. */
  readonly screen?: CallScreen | undefined;
  /** Set for a call that another session worker has begun, or may have begun. */
  readonly continues?: Continued;
  /** See `Begun`; left out for a request that no worker which is gone may have begun. */
  readonly turn?: number;
  /** The tag under which it is watched since it waits for an approval; left out where it does not wait, or is not watched. */
  readonly tap?: string;
}

/** Hears how one call ends, over all requests to servers that it becomes. Either member is called, once. */
export interface CallFollower {
  /** @param size of the result, in bytes of JSON. */
  answered(outcome: ExchangeOutcome, size: number): void;
  cancelled(): void;
}

/** A time limit that the client sets for one request in all. */
interface OwnLimit {
  readonly limitMs: number;
  /** Monotonic milliseconds. */
  readonly beganAt: number;
}
