/**
 * The waist between an upstream connection and the wire. A transport moves JSON-RPC messages and knows nothing of MCP
 * beyond what its own specification section demands; ids, handshakes and catalogues are the connection's.
 */
import type { JsonRpcErrorObject, JsonRpcId, JsonRpcMessage, JsonRpcRequest, Revision } from '@omnibus/protocol';

/** Why one request will get no answer. What is said in `problem` reaches clients: never words of the server's that are no JSON-RPC. */
export type RequestFailure =
  /** It never reached the server, so it was not executed. */
  | { readonly kind: 'not-sent'; readonly problem: string }
  /** The server no longer knows our session, so it was not executed (Streamable HTTP: 404 in answer to the request itself). */
  | { readonly kind: 'session-gone'; readonly problem: string }
  /**
   * The server refused it with an HTTP error, which may carry one of JSON-RPC; `isAnswer` when that has the request's id or none. With
   * `doubtsSession` it sounds as if the server did not know our session any more.
   */
  | { readonly kind: 'refused'; readonly problem: string; readonly httpStatus: number; readonly error?: JsonRpcErrorObject; readonly isAnswer?: boolean; readonly doubtsSession?: boolean }
  /** It may have been executed. */
  | { readonly kind: 'lost'; readonly problem: string }
  /** The answer was not MCP. */
  | { readonly kind: 'invalid'; readonly problem: string };

/** Why something was dropped: what the server said was no message, what we said did not reach it, or it was a page beside a refusal. */
export type DropKind = 'invalid' | 'undelivered' | 'refusal';

/** A request or notification of the server's that is dropped. */
export interface UnusableQuestion {
  /** Undefined where that could not be read. */
  readonly id: JsonRpcId | undefined;
  readonly reason: 'message.not_json' | 'message.invalid';
}

export interface TransportObserver {
  /**
   * One JSON value came in, no larger, deeper or more numerous than limits allow.
   * @param origin the request whose response stream carried it; undefined where the wire does not tell.
   */
  message(value: unknown, origin: JsonRpcId | undefined): void;
  requestFailed(id: JsonRpcId, failure: RequestFailure): void;
  /** The server has ended our session while nothing was asked of it; a new one has to be opened. */
  sessionGone(): void;
  /** What the server said of its own accord for a while may not have been heard; it is again. */
  missed(): void;
  /** Nothing can be sent or received any more. Said once, and never after `close()`. */
  lost(problem: string): void;
  /**
   * Something was dropped that no request waits for; it may happen thousands of times a second.
   * @param problem for the operator's log alone: it may have words of the server's.
   * @param question where it was one of the server's.
   */
  dropped(kind: DropKind, problem: string, question?: UnusableQuestion): void;
}

export interface Transport {
  /** Resolves when messages can be sent. Rejects with an Error whose message a person understands. */
  open(): Promise<void>;
  /**
   * Sends a request. Its answer comes to `message`, or `requestFailed` says why none will.
   * @param headers what of the request is repeated in headers, where there are any.
   */
  request(message: JsonRpcRequest, headers?: Readonly<Record<string, string>>): void;
  /**
   * Sends a notification or the answer to a server's request; `dropped` hears when it did not reach the server.
   * @param settled runs once, when nothing sent later can overtake it any more: at once where the wire keeps the order.
   */
  send(message: JsonRpcMessage, settled?: () => void): void;
  /** Stops waiting for the answer to a request that was cancelled. */
  abandon(id: JsonRpcId): void;
  /** It carries the revisions with sessions only: no server of 2026-07-28 is reached over it. */
  readonly hasSessionsOnly: boolean;
  /** A server of 2026-07-28 is told that a request is cancelled by closing the response to it. */
  readonly closesToCancel: boolean;
  /** An error that names no request can be said to the server: over HTTP nothing tells what it would be about. */
  readonly takesNamelessErrors: boolean;
  /** The server can tell this connection from its others and may keep something for it: it is a program's, a socket, or has a session. */
  readonly hasState: boolean;
  /** The server has said in which revision it speaks: what is said from now on says so where the wire wants that. */
  agreed(revision: Revision): void;
  /** What the server says of its own accord is listened to from now on; of one with sessions, once the handshake is complete. */
  listen(): void;
  /** Ends the connection in the wire's own way, child process included. */
  close(): Promise<void>;
}
