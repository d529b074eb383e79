/** What edge and session say to each other. The edge has validated the JSON-RPC envelope and knows who the caller is. */
import type { GatewayFault } from './errors.ts';
import type { Facts } from './facts.ts';
import type { Formats } from './format.ts';
import type { EndpointName, Principal, SessionId, SessionKey, StreamId, WorkerId } from './ids.ts';
import type { JsonRpcId, JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from './json-rpc.ts';
import type { ModernContext } from './modern.ts';

export interface Caller {
  readonly principal: Principal;
  readonly endpoint: EndpointName;
  /** The client's address, where the edge knows it: those who cannot be told apart otherwise have their shares by it. */
  readonly origin?: string;
  /** What shows on the bus between processes that an edge has found this out (`identity/proofs.ts`). */
  readonly proof?: string;
  /** What it has found out, in one process, where whoever hears it has it from the edge itself. Between processes it is told by `proof` alone. */
  readonly facts?: Facts;
  /** The client's address as it is, where the edge knows it: rules may ask for networks. */
  readonly address?: string;
  /** Whose its requests without a session are, where the edge can tell. */
  readonly client?: Client;
  /** Of a session's caller, as it was proven when the session began: a principal is of one tenant for ever. Of others, what is proven counts. */
  readonly tenant?: string;
}

/** Whoever makes requests that name no session. */
export interface Client {
  readonly id: string;
  /** All of them come over one connection of its own; else several programs of one user may make them. */
  readonly isOne: boolean;
}

/** Opens a session: the client's `initialize`. Any session worker may take it. */
export interface OpenCommand {
  readonly kind: 'open';
  readonly caller: Caller;
  readonly request: JsonRpcRequest;
}

export type OpenReply =
  | { readonly kind: 'opened'; readonly session: SessionId; readonly worker: WorkerId; readonly text: string }
  /** The answer is an error of the protocol; no session came to be. */
  | { readonly kind: 'answered'; readonly text: string }
  | { readonly kind: 'refused'; readonly fault: GatewayFault };

export type PostedMessage =
  | { readonly kind: 'request'; readonly message: JsonRpcRequest }
  | { readonly kind: 'notification'; readonly message: JsonRpcNotification }
  | { readonly kind: 'response'; readonly message: JsonRpcResponse };

/** An event a client has seen: what its `id` says. */
export interface EventPosition {
  readonly stream: StreamId;
  readonly sequence: number;
}

/**
 * What the client put into one HTTP request with a session id, for the session's owner. `sentUpTo` is the number of the last
 * message that the client has had on this stream, when the command is made again after its first worker was gone. `trace` is
 * the W3C `traceparent` of the edge's span, `tap` the tag under which the request is watched.
 */
export type SessionCommand =
  | { readonly kind: 'post'; readonly caller: Caller; readonly stream: StreamId; readonly message: PostedMessage; readonly sentUpTo?: number; readonly trace?: string | undefined; readonly tap?: string | undefined }
  /** `refusals`: what the edge has answered for entries that are no messages; it goes with the other answers. */
  | { readonly kind: 'batch'; readonly caller: Caller; readonly stream: StreamId; readonly messages: readonly PostedMessage[]; readonly refusals?: readonly string[] | undefined; readonly sentUpTo?: number }
  /** A GET. With `after`, the client comes back to a stream it lost (`Last-Event-ID`). */
  | { readonly kind: 'attach'; readonly caller: Caller; readonly stream: StreamId; readonly after: EventPosition | undefined }
  /** The connection that read a stream is gone; `reader` is the `stream` of the command it came with. */
  | { readonly kind: 'detach'; readonly stream: StreamId; readonly reader: StreamId }
  | { readonly kind: 'delete'; readonly caller: Caller }
  /** Asks which of these streams the owner knows nothing of; answered with `probed`. */
  | { readonly kind: 'probe'; readonly streams: readonly StreamId[] };

/** A command on its way to the worker that holds the session. */
export interface SessionMessage {
  readonly key: SessionKey;
  readonly command: SessionCommand;
  /** Where the client is connected; left out in one process. */
  readonly edge?: WorkerId | undefined;
}

/**
 * The owner's answer to one command: any number of `message`, closed by one with `last` or by one of the others.
 * `text` is a complete serialised JSON-RPC message, which the edge writes as it is; `isAnswer` tells a response from what
 * comes before it. `sequence` is undefined where nobody can come back for it, `httpStatus` where it is not 200.
 */
export type StreamFrame =
  | { readonly kind: 'message'; readonly text: string; readonly isAnswer: boolean; readonly sequence: number | undefined; readonly last: boolean; readonly httpStatus?: number }
  /** The stream is attached; sent once, before any message, in answer to `attach`. */
  | { readonly kind: 'attached'; readonly stream: StreamId }
  /** Nothing to answer: notifications and responses (HTTP 202), a deleted session (HTTP 204). */
  | { readonly kind: 'accepted' }
  /** The stream ends without a further message. */
  | { readonly kind: 'end' }
  | { readonly kind: 'probed'; readonly missing: readonly StreamId[] }
  /** This worker does not hold the session, or does not any more: another is to be asked, also for what is open. */
  | { readonly kind: 'moved' }
  | { readonly kind: 'refused'; readonly fault: GatewayFault };

/** What becomes of a request without a session. */
export type ModernReply =
  | StreamFrame
  /** It continues something that this worker holds. Nothing was done with it. */
  | { readonly kind: 'elsewhere'; readonly worker: WorkerId };

/** What is kept of a stream that a client may come back to, for the case that its worker is gone by then. */
export type StreamEntry =
  /** The stream answers these requests of one POST. */
  | { readonly kind: 'opened'; readonly requests: readonly JsonRpcId[] }
  | { readonly kind: 'sent'; readonly sequence: number; readonly text: string; readonly isAnswer: boolean; readonly last: boolean };

/** A question about streams of one session, and the answer: those that are still open here. */
export interface HeldStreams {
  readonly key: SessionKey;
  readonly streams: readonly StreamId[];
}

/** What a client of HTTP+SSE posted, on its way to the edge that holds its stream. */
export type InboxPost =
  | { readonly kind: 'post'; readonly caller: Caller; readonly message: PostedMessage }
  | { readonly kind: 'batch'; readonly caller: Caller; readonly messages: readonly PostedMessage[]; readonly refusals?: readonly string[] | undefined };

export type InboxReply = { readonly kind: 'accepted' } | { readonly kind: 'refused'; readonly fault: GatewayFault };

/** One request of a client without a session (2026-07-28). Any session worker may take it; the edge has checked its envelope. */
export interface ModernCommand {
  readonly kind: 'request';
  readonly key: SessionKey;
  readonly caller: Caller;
  readonly request: JsonRpcRequest;
  readonly context: ModernContext;
  /** The `Mcp-Param-*` headers, by the rest of their name in lower case; undefined where there are no headers. */
  readonly parameterHeaders: Readonly<Record<string, string>> | undefined;
  /** The W3C `traceparent` of the edge's span. */
  readonly trace?: string | undefined;
  /** The tag under which the request is watched. */
  readonly tap?: string | undefined;
}

/** For every session worker: the client does not wait for that answer any more. */
export interface ModernControl {
  readonly kind: 'closed';
  readonly key: SessionKey;
  readonly reason: string;
  /** At that worker only; another one may work on it by now. */
  readonly worker?: WorkerId;
}

/** A question about requests without a session that are open, and the answer: those a worker holds. */
export interface HeldRequests {
  readonly keys: readonly SessionKey[];
}

/** Asks a session worker who holds a session, and to take it over when that is one that is known not to. */
export interface AdoptCommand {
  readonly key: SessionKey;
  /** Who held it last, is gone or has given it up; undefined when the asker knows nothing of it. */
  readonly lost: WorkerId | undefined;
}

export type AdoptReply =
  | { readonly outcome: 'held'; readonly worker: WorkerId }
  | { readonly outcome: 'unknown' }
  /** This worker cannot take it; another may. */
  | { readonly outcome: 'busy' };

/** Asks one session worker, or every one, whether it holds a session of which there is no record. */
export interface FindCommand {
  readonly key: SessionKey;
}

/** The answer of the worker that holds it; the others that are asked together with it say nothing. */
export interface FindReply {
  readonly worker: WorkerId;
}

/** The answer of a worker that is asked by its name. */
export interface HoldReply {
  readonly isHeld: boolean;
}

/** Tells the worker that held a session that another one does now. */
export interface TakenNotice {
  readonly key: SessionKey;
}

/** What a client says of something that a worker still works on which gave the session up: the answer to its question, a cancellation. */
export interface LateMessage {
  readonly key: SessionKey;
  readonly posted: PostedMessage;
}

/** `closed`: it does not wait for that any more. `gone`: it works on nothing of that session. */
export interface LateReply {
  readonly outcome: 'taken' | 'closed' | 'gone';
}

/** A session worker's sign of life, every `presenceMs`. Whoever writes these says what it speaks (`bus/presence.ts`). */
export interface Presence {
  readonly worker: WorkerId;
  /** The formats that the process speaks; left out before 0.2.0. */
  readonly formats?: Formats;
  /** Where it runs (`nats.region`); left out where that is not said. */
  readonly region?: string;
  /** This is the worker's last sign: sessions it held go on elsewhere. */
  readonly isLeaving: boolean;
  /** How often it had lost the bus and found it again. */
  readonly reconnects: number;
}

/** An edge's sign of life, every `presenceMs`. */
export type EdgePresence = Presence;

/** A question about connections that read streams of sessions, and the answer: those that an edge still has. */
export interface HeldReaders {
  readonly readers: readonly StreamId[];
}
