/**
 * What watches calls and changes nothing: traces, audit records, taps, the log, the list of failures. The path of a call knows this interface only; a
 * watcher that is off is in no list.
 */
import type { AuditEvent } from '@omnibus/audit';
import type {
  Caller,
  ClientInfo,
  ExchangeEvent,
  ExchangeOutcome,
  GatewayFault,
  InputAnswer,
  InputKey,
  JsonObject,
  JsonRpcId,
  OpenCommand,
  QuestionMethod,
  ServerName,
  SessionCommand,
  SessionKey,
} from '@omnibus/protocol';
import type { Permission } from './permission.ts';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import type { TaskAddress } from '../public-ids/task-ids.ts';
import type { OwnRequest } from './exchange-request.ts';
import type { Destination, Plan } from './plan.ts';

/** The client that makes a request. */
export interface Requester {
  readonly key: SessionKey;
  /** The caller as of the latest request. */
  readonly asking: Caller;
  /** The session that it belongs to; undefined for a request without one. */
  readonly session: SessionKey | undefined;
  readonly dialect: { readonly revision: string };
  /** Name and version that the client gives itself. */
  readonly info?: ClientInfo | undefined;
}

/** A request as its client sent it. */
export interface Requested {
  readonly id: JsonRpcId;
  readonly method: string;
  readonly params: JsonObject;
  readonly trace: string | undefined;
  /** The decision of the access rules; undefined where there are none. */
  readonly permission?: Pick<Permission, 'rule' | 'policy'> | undefined;
  /** The call that the request became; undefined if it was refused before, or is answered by the gateway. */
  readonly call?: Pick<ForwardedCall<CallStream>, 'stream' | 'tap' | 'screen'> | undefined;
}

/** A client's messages within a session, or to open one. */
export type SentFor = OpenCommand | Extract<SessionCommand, { readonly caller: Caller }>;

interface Sender {
  /** @param settled called with the outcome. */
  sendOwn(request: OwnRequest, settled: (outcome: ExchangeOutcome) => void): void;
}

/** A call that is about to be sent to a server. */
export interface SentCall {
  readonly client: ClientPort<CallStream>;
  readonly call: ForwardedCall<CallStream>;
  readonly to: Destination & { readonly kind?: Plan['kind'] };
  /** Sends requests of the gateway's own for the same client. */
  readonly sender: Sender;
  /** When it is sent, in milliseconds by `performance.now()`. */
  readonly since: number;
  /** The W3C `traceparent` that the server gets: that of the client, or of the watcher before that traces. */
  readonly trace: string | undefined;
}

/** A call that was sent and has ended. */
export type EndedCall = Pick<SentCall, 'client' | 'call' | 'to' | 'since'>;

/** A call that waits before it is sent, and the reason. */
export type HeldCall = Pick<SentCall, 'client' | 'call' | 'since'> & {
  readonly to: Pick<Destination, 'server' | 'tool'>;
  /** Names the event, such as "approval-asked". */
  readonly event: string;
  readonly more: JsonObject;
};

/** Questions of a server as one watcher sees them. */
export interface WatchedQuestions {
  /** The server asks its client something. */
  asked?(event: { readonly input: InputKey; readonly method: QuestionMethod }): void;
  /** The client, or the gateway in its place, has answered a question. */
  answered?(input: InputKey, answer: InputAnswer): void;
  /** A question needs no answer any more. */
  withdrawn?(input: InputKey): void;
}

/** How a call has ended at this worker. `moved`: another worker continues it, and tells its own watchers of the outcome. */
export type CallEnd = ExchangeOutcome | 'cancelled' | 'moved';

/** One call as one watcher sees it. Members that a watcher leaves out are not called; `ended` is called exactly once. */
export interface WatchedCall extends WatchedQuestions {
  /** The W3C `traceparent` that the server and later watchers get instead of the client's. */
  readonly trace?: string | undefined;
  /** The tag under which the backend reports the call to a tap. */
  readonly tap?: string | undefined;
  /** @returns undefined if the call may be sent at once; otherwise resolves with the fault that ends it, or with undefined when it may be sent. */
  readonly hold?: (() => Promise<GatewayFault | undefined> | undefined) | undefined;
  /** Whether it looks at no large value of a result, which may then stay at another process. Left out, the result is fetched for it. */
  readonly takesAway?: boolean;
  /** The adapter is gone; the request is sent again, or ends with an unknown outcome. */
  lost?(outcome: 'repeated' | 'unknown'): void;
  asked?(event: Extract<ExchangeEvent, { kind: 'input' }>): void;
  /** Its server has answered, and its client is answered next. */
  answering?(outcome: ExchangeOutcome): void;
  /** @param bytes length of the answer to the client as JSON; undefined for a call that ends without an answer of its server. */
  ended?(outcome: CallEnd, bytes: number | undefined): void;
}

/** A gate's report of its decision. */
export type Note = Pick<AuditEvent, 'name' | 'server' | 'target' | 'uri' | 'args' | 'rule' | 'outcome' | 'more'>;

/** Members that a watcher leaves out are not called. */
export interface CallWatcher {
  /** @returns undefined if this watcher does not want the call. */
  sent?(sent: SentCall): WatchedCall | undefined;
  /** @returns undefined if this watcher does not want the call. */
  held?(held: HeldCall): WatchedCall | undefined;
  /** A call that was sent has ended with an error, a fault, or a result that is one. @param tag under which it is watched. */
  failed?(sent: EndedCall, outcome: ExchangeOutcome, tag: string | undefined): void;
  /** Something happens between two rounds of a call (2026-07-28 basic/patterns, Multi Round-Trip Requests). @param tag under which it is watched. */
  continued?(tag: string, event: string, more: JsonObject): void;
  /** A request was answered with a fault before any server got it. */
  refused?(client: Requester, requested: Requested, gatewayFault: GatewayFault): void;
  /** A request about a task was answered outside calls, for a client of the tasks extension. */
  taskAnswered?(task: TaskAddress, method: string, outcome: ExchangeOutcome): void;
  /** A list was answered from the catalogue. @param characters length of the answer as JSON. */
  listed?(client: Requester, requested: Requested, characters: number): void;
  /**
   * A message to a session, or to open one, was rejected: the identity is not proven, or the session belongs to another caller.
   * @param session undefined where one was to be opened.
   */
  turnedAway?(session: SessionKey | undefined, sent: SentFor, gatewayFault: GatewayFault): void;
  /** @param requested undefined if the note is about no request of this client. */
  noted?(client: Requester, requested: Requested | undefined, note: Note): void;
  /** @returns the watcher of a server's questions outside calls. */
  questions?(client: Requester, server: ServerName): WatchedQuestions;
}

/** All watchers of a worker, in their order. */
export class Watchers implements Required<
  Pick<CallWatcher, 'continued' | 'refused' | 'taskAnswered' | 'listed' | 'turnedAway' | 'noted'>
> {
  /** Those of the features that are on. */
  all: readonly CallWatcher[];

  constructor(all: readonly CallWatcher[]) {
    this.all = all;
  }

  held(held: HeldCall): readonly WatchedCall[] {
    return this.all.flatMap((each) => each.held?.(held) ?? []);
  }

  continued(...about: Parameters<Required<CallWatcher>['continued']>): void {
    for (const each of this.all) each.continued?.(...about);
  }

  refused(...about: Parameters<Required<CallWatcher>['refused']>): void {
    for (const each of this.all) each.refused?.(...about);
  }

  taskAnswered(...about: Parameters<Required<CallWatcher>['taskAnswered']>): void {
    for (const each of this.all) each.taskAnswered?.(...about);
  }

  listed(...about: Parameters<Required<CallWatcher>['listed']>): void {
    for (const each of this.all) each.listed?.(...about);
  }

  turnedAway(...about: Parameters<Required<CallWatcher>['turnedAway']>): void {
    for (const each of this.all) each.turnedAway?.(...about);
  }

  noted(...about: Parameters<Required<CallWatcher>['noted']>): void {
    for (const each of this.all) each.noted?.(...about);
  }

  questions(client: Requester, server: ServerName): readonly WatchedQuestions[] {
    return this.all.flatMap((each) => each.questions?.(client, server) ?? []);
  }
}
