/** What carries requests to servers knows of the client they come from: a session, or one request that stands alone. */
import type { View } from '@omnibus/catalog';
import type { Asker, Caller, ClientInfo, ExchangeEvent, ExchangeMethod, Facts, GatewayFault, InputAnswer, InputKey, JsonObject, JsonRpcId, LogLevel, ProgressEvent, ServerName, SessionKey } from '@omnibus/protocol';
import type { ClientDialect, TaskMode } from '../dialect/dialect.ts';
import type { Tab } from './limits/call-gate.ts';
import type { Access, Permission } from './access.ts';

/** Sink for one request: messages, then at most one answer. */
export interface CallStream {
  /** The W3C `traceparent` of the request, where somebody traces. */
  readonly trace: string | undefined;
  /** The tag under which the request is watched. */
  readonly tap: string | undefined;
  /** Something that comes before the answer. */
  send(text: string): void;
  /** @param member `"result":…` or `"error":…`, serialised. */
  answerMember(id: JsonRpcId, member: string): void;
  refuse(id: JsonRpcId, gatewayFault: GatewayFault): void;
  leaveUnanswered(): void;
}

/** Who waits for what a client answers: a call, the gateway before a call, or a session itself. */
export interface Questioner {
  readonly id: Asker;
  answerInput(input: InputKey, answer: InputAnswer): void;
  passInputProgress(input: InputKey, params: JsonObject): void;
}

/** On whose behalf requests are forwarded. */
export interface ClientPort<Stream extends CallStream> {
  readonly key: SessionKey;
  readonly caller: Caller;
  /** What its last request has proven of it; undefined where it is nobody in particular, and at a session that another worker began, until its client says something. */
  readonly facts: Facts | undefined;
  /** The same as the latest request said it: what is known of a caller may change from one to the next. */
  readonly asking: Caller;
  /** It is one request and no session (2026-07-28). */
  readonly standsAlone: boolean;
  readonly dialect: ClientDialect;
  /** What the client says it is. */
  readonly info: ClientInfo | undefined;
  /** What servers may ask of the client. */
  capabilities(): JsonObject;
  /** The least severe messages it wants. */
  logLevel(): LogLevel | undefined;
  taskMode(): TaskMode;
  /** What it may, by the facts of its latest request and the rules as they are now; undefined where there are no rules. */
  access(): Access | undefined;
  /** Says something that outlives the request it belongs to. */
  push(text: string): void;
  /** The token under which the client is told of this progress now; undefined when it is not to hear of it. @param token of the request that began the call. */
  progressToken(token: JsonRpcId, event: ProgressEvent): JsonRpcId | undefined;
  /** Whether a log message is severe enough for it. */
  wantsLog(params: JsonObject): boolean;
  /** The server asks something of the client; the answer goes to `asker`. */
  ask(asker: Questioner, call: ForwardedCall<Stream>, server: ServerName, event: Extract<ExchangeEvent, { kind: 'input' }>): void;
  inputWithdrawn(asker: Questioner, input: InputKey, reason: string): void;
  /** Nobody waits for answers to what this exchange asked. */
  askerEnded(asker: Questioner, reason: string): void;
}

/** A request of the client on its way, whichever servers it goes to. */
export interface ForwardedCall<Stream extends CallStream> {
  readonly stream: Stream;
  readonly id: JsonRpcId;
  readonly method: ExchangeMethod;
  /** As the client sent them. */
  readonly given: JsonObject;
  readonly view: View;
  readonly progressToken: JsonRpcId | undefined;
  /** What is noted when it ends. */
  readonly tab?: Tab;
  /** How long its client waits. */
  readonly own: OwnLimit | undefined;
  /** What rules say of it, where there are any. */
  readonly permission: Permission | undefined;
}

/** A time limit of the client's own, for all that its request takes. */
interface OwnLimit {
  readonly limitMs: number;
  /** Monotonic milliseconds. */
  readonly beganAt: number;
}
