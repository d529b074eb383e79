/** Messages between edges and session workers. The edge has validated the JSON-RPC envelope and authenticated the caller. */
import type { GatewayFault } from './errors.ts';
import type { Facts } from './facts.ts';
import type { Formats } from './format.ts';
import type { EndpointName, Principal, SessionId, SessionKey, StreamId, WorkerId } from './ids.ts';
import type { JsonRpcId, JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from './json-rpc.ts';
import type { ModernContext } from './modern.ts';

export interface Caller {
  readonly principal: Principal;
  readonly endpoint: EndpointName;
  /** Key of the client's address, where the edge knows it; shares of anonymous callers are counted by it. */
  readonly origin?: string;
  /** The edge's signature over the facts, for processes on a shared bus (`identity/proofs.ts`). */
  readonly proof?: string;
  /** The facts themselves, in a gateway of one process. Between processes they are in `proof` only. */
  readonly facts?: Facts;
  /** The client's exact address, where the edge knows it and access rules depend on networks. */
  readonly address?: string;
  /** The client of requests without a session, where the edge knows it. */
  readonly client?: Client;
  /** Tenant of a session's caller, as proven when the session began, since a principal never changes its tenant. For other callers the facts count. */
  readonly tenant?: string;
  /**
   * Whether the session was begun with a credential that is restricted to some tools. Then other tools are not announced to it before its next request.
   */
  readonly isLimited?: boolean;
}

/** A client that makes requests without a session. */
export interface Client {
  readonly id: string;
  /** Whether all its requests come over one connection; otherwise several programs of one user may make them. */
  readonly isOne: boolean;
}

/** Opens a session with the client's `initialize`. Any session worker may handle it. */
export interface OpenCommand {
  readonly kind: 'open';
  readonly caller: Caller;
  readonly request: JsonRpcRequest;
}

export type OpenReply =
  | { readonly kind: 'opened'; readonly session: SessionId; readonly worker: WorkerId; readonly text: string }
  /** The answer is a protocol error, and no session was opened. */
  | { readonly kind: 'answered'; readonly text: string }
  | { readonly kind: 'refused'; readonly fault: GatewayFault };

export type PostedMessage =
  | { readonly kind: 'request'; readonly message: JsonRpcRequest }
  | { readonly kind: 'notification'; readonly message: JsonRpcNotification }
  | { readonly kind: 'response'; readonly message: JsonRpcResponse };

/** The position of an event in a stream, which its event id contains. */
export interface EventPosition {
  readonly stream: StreamId;
  readonly sequence: number;
}

/** What an edge knows of requests that a session worker which is gone may have begun. */
export interface Begun {
  /** Milliseconds since the edge accepted them. */
  readonly ageMs: number;
  /** How many workers may have had them before: of two that ask for the same call, the one with the greater number is the owner. */
  readonly turn: number;
  /** Backend workers that the edge knows of. */
  readonly backends: readonly WorkerId[];
  /** Whether these are all that may have been there since; false if one of them is gone, or if the edge may not know all. */
  readonly areAll: boolean;
}

/**
 * The content of one HTTP request with a session id, for the session's owner. `sentUpTo` is the number of the last message that the client has
 * received on this stream, if the command is sent again after its first worker was gone. `begun` is set if that worker may have begun the requests in it.
 * `trace` is the W3C `traceparent` of the edge's span, `tap`
 * the tag under which the request is watched.
 */
export type SessionCommand =
  | {
      readonly kind: 'post';
      readonly caller: Caller;
      readonly stream: StreamId;
      readonly message: PostedMessage;
      readonly sentUpTo?: number;
      readonly begun?: Begun;
      readonly trace?: string | undefined;
      readonly tap?: string | undefined;
    }
  /** `refusals`: the edge's answers to invalid entries, which are sent with the other answers. */
  | {
      readonly kind: 'batch';
      readonly caller: Caller;
      readonly stream: StreamId;
      readonly messages: readonly PostedMessage[];
      readonly refusals?: readonly string[] | undefined;
      readonly sentUpTo?: number;
      readonly begun?: Begun;
    }
  /** A GET. With `after`, the client resumes a stream (`Last-Event-ID`). */
  | {
      readonly kind: 'attach';
      readonly caller: Caller;
      readonly stream: StreamId;
      readonly after: EventPosition | undefined;
    }
  /** The connection that read a stream is gone; `reader` is the `stream` of the command that opened the connection. */
  | { readonly kind: 'detach'; readonly stream: StreamId; readonly reader: StreamId }
  | { readonly kind: 'delete'; readonly caller: Caller }
  /** Asks which of these streams the owner does not know; answered with `probed`. */
  | { readonly kind: 'probe'; readonly streams: readonly StreamId[] };

/** A command with the session that it is for. */
export interface SessionMessage {
  readonly key: SessionKey;
  readonly command: SessionCommand;
  /** The edge to which the client is connected; left out in a gateway of one process. */
  readonly edge?: WorkerId | undefined;
}

/**
 * The owner's answer to one command: any number of `message`, closed by one with `last` or by one of the others.
 * `text` is a complete serialised JSON-RPC message, which the edge writes as it is; `isAnswer` distinguishes a response from messages
 * before it. `sequence` is undefined where the stream cannot be resumed; `httpStatus` is there where it is not 200. `missingScopes` are the scopes that the only request
 * of a POST needs, where it was refused for that: then it is answered with 403 and a challenge, if nothing was written before.
 */
export type StreamFrame =
  | {
      readonly kind: 'message';
      readonly text: string;
      readonly isAnswer: boolean;
      readonly sequence: number | undefined;
      readonly last: boolean;
      readonly httpStatus?: number;
      readonly missingScopes?: readonly string[] | undefined;
    }
  /** The stream is attached; sent once, before any message, in answer to `attach`. */
  | { readonly kind: 'attached'; readonly stream: StreamId }
  /** Accepted without an answer: notifications and responses (HTTP 202), a deleted session (HTTP 204). */
  | { readonly kind: 'accepted' }
  /** The stream ends without a further message. */
  | { readonly kind: 'end' }
  /** `notBegun`: streams of POSTs that wait for the decision of a person, and that no server has. */
  | { readonly kind: 'probed'; readonly missing: readonly StreamId[]; readonly notBegun?: readonly StreamId[] }
  /** This worker does not hold the session, or no longer: the command, also an open one, must be sent to another worker. */
  | { readonly kind: 'moved' }
  | { readonly kind: 'refused'; readonly fault: GatewayFault };

/** The answer to a request without a session. */
export type ModernReply =
  | StreamFrame
  /**
   * The request continues a call that the named worker holds; it was not executed here. `call`: the key of the call, by which all edges choose the same
   * worker if that one is gone; left out where no other worker can continue the call.
   */
  | { readonly kind: 'elsewhere'; readonly worker: WorkerId; readonly call?: SessionKey };

/** An entry in the journal of a stream, with which the client can resume the stream even if its worker is gone. */
export type StreamEntry =
  /** The stream answers these requests of one POST. */
  | { readonly kind: 'opened'; readonly requests: readonly JsonRpcId[] }
  | {
      readonly kind: 'sent';
      readonly sequence: number;
      readonly text: string;
      readonly isAnswer: boolean;
      readonly last: boolean;
    };

/** A question about streams of one session; in the answer, those that are still open at the worker. */
export interface HeldStreams {
  readonly key: SessionKey;
  readonly streams: readonly StreamId[];
}

/** A message that a client of HTTP+SSE posted, for the edge that holds its stream. `bytes`: its size. */
export type InboxPost =
  | {
      readonly kind: 'post';
      readonly caller: Caller;
      readonly message: PostedMessage;
      readonly bytes: number;
    }
  | {
      readonly bytes: number;
      readonly kind: 'batch';
      readonly caller: Caller;
      readonly messages: readonly PostedMessage[];
      readonly refusals?: readonly string[] | undefined;
    };

export type InboxReply = { readonly kind: 'accepted' } | { readonly kind: 'refused'; readonly fault: GatewayFault };

/** One request of a client without a session (2026-07-28). Any session worker may handle it; the edge has checked its envelope. */
export interface ModernCommand {
  readonly kind: 'request';
  readonly key: SessionKey;
  readonly caller: Caller;
  readonly request: JsonRpcRequest;
  readonly context: ModernContext;
  /** The `Mcp-Param-*` headers, by their names without the prefix in lower case; undefined where the transport has no headers. */
  readonly parameterHeaders: Readonly<Record<string, string>> | undefined;
  /** The W3C `traceparent` of the edge's span. */
  readonly trace?: string | undefined;
  /** The tag under which the request is watched. */
  readonly tap?: string | undefined;
  /** Set if a worker that is gone may have begun the request. */
  readonly begun?: Begun | undefined;
  /** The worker that held the call which the request continues: it is gone, and the receiver finds the call at the backend workers. */
  readonly gone?: WorkerId | undefined;
}

/** A message to every session worker: the client no longer waits for the answer. */
export interface ModernControl {
  readonly kind: 'closed';
  readonly key: SessionKey;
  readonly reason: string;
  /** Only this worker is meant, since another one may be working on the request by now. */
  readonly worker?: WorkerId;
}

/** A question about open requests without a session; in the answer, those that the worker holds. */
export interface HeldRequests {
  readonly keys: readonly SessionKey[];
  /** In the answer: those that wait for the decision of a person, and that no server has. */
  readonly notBegun?: readonly SessionKey[];
}

/** Asks a session worker which worker holds a session. If that is `lost`, the asked worker takes the session over. */
export interface AdoptCommand {
  readonly key: SessionKey;
  /** The worker that held it last, and is gone or has given it up; undefined when the edge does not know one. */
  readonly lost: WorkerId | undefined;
}

export type AdoptReply =
  | { readonly outcome: 'held'; readonly worker: WorkerId }
  | { readonly outcome: 'unknown' }
  /** This worker cannot take the session over; another one may. */
  | { readonly outcome: 'busy' };

/** Asks one session worker, or all of them, whether it holds a session without a record. */
export interface FindCommand {
  readonly key: SessionKey;
}

/** The answer of the worker that owns it; other workers do not answer. */
export interface FindReply {
  readonly worker: WorkerId;
}

/** The answer of a worker addressed by its name. */
export interface HoldReply {
  readonly isHeld: boolean;
}

/** Tells the worker that held a session that another one holds it now. */
export interface TakenNotice {
  readonly key: SessionKey;
}

/** A message of a client about something at a worker that has given the session up: the answer to a question, or a cancellation. */
export interface LateMessage {
  readonly key: SessionKey;
  readonly posted: PostedMessage;
}

/** `closed`: the worker no longer waits for it. `gone`: it has nothing open of that session. */
export interface LateReply {
  readonly outcome: 'taken' | 'closed' | 'gone';
}

/** A session worker's sign of life, every `presenceMs`. `bus/presence.ts` adds formats and region. */
export interface Presence {
  readonly worker: WorkerId;
  readonly formats: Formats;
  /** The region of the process (`nats.region`); left out where none is configured. */
  readonly region?: string;
  /** Whether this is the worker's last sign: its sessions go on at other workers. */
  readonly isLeaving: boolean;
  /** Number of times that it has lost the bus and reconnected. */
  readonly reconnects: number;
  /** Number of sessions that it holds, by which workers with more give it some; left out by edges. */
  readonly sessions?: number;
  /** Whether it listens on `session-find-at.young` while it is young; 0.3.0 does not, and leaves this out, as edges do. */
  readonly hearsYoung?: boolean;
}

/** An edge's sign of life, every `presenceMs`. */
export type EdgePresence = Presence;

/** A question about connections that read streams of sessions; in the answer, those that the edge still has. */
export interface HeldReaders {
  readonly readers: readonly StreamId[];
}
