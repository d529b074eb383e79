/**
 * The interface between a connection and the network. A transport carries JSON-RPC messages, and implements nothing of MCP beyond the specification of
 * that transport; ids, handshakes and catalogues belong to the connection.
 */
import type {
  JsonRpcErrorObject,
  JsonRpcId,
  JsonRpcMessage,
  JsonRpcRequest,
  Revision,
  ServerTrouble,
} from '@omnibus/protocol';

/** Why a request will get no answer. `problem` is sent to clients, so it never contains text of the server that is not JSON-RPC. */
export type RequestFailure =
  /** The request never reached the server, so it was not executed. `hadNoCredentials`: it was not tried, since there are no credentials to send with it. */
  | { readonly kind: 'not-sent'; readonly problem: string; readonly hadNoCredentials?: boolean }
  /**
   * The server no longer knows the session in which the request was sent, so the request was not executed (Streamable HTTP: 404 in answer to the request itself).
   * `hasNewer`: the transport has another session already, in which the request can be sent.
   */
  | { readonly kind: 'session-gone'; readonly problem: string; readonly hasNewer?: boolean }
  /**
   * The server refused the request with an HTTP error, which may have a JSON-RPC error; `isAnswer` when that has the request's id or none. `doubtsSession`:
   * it sounds as if the server did not know our session any more. `isChallenge`: it says how to show credentials.
   */
  | {
      readonly kind: 'refused';
      readonly problem: string;
      readonly httpStatus: number;
      /** Milliseconds after which the server takes the request, which it has not executed; left out where it does not say. */
      readonly retryAfterMs?: number | undefined;
      readonly error?: JsonRpcErrorObject;
      readonly isAnswer?: boolean;
      readonly doubtsSession?: boolean;
      readonly isChallenge?: boolean | undefined;
    }
  /** The request may have been executed. */
  | { readonly kind: 'lost'; readonly problem: string }
  /** The answer was not a valid MCP message. `saidNothing`: it was empty, or a page. */
  | { readonly kind: 'invalid'; readonly problem: string; readonly saidNothing?: boolean };

/**
 * The kind of a dropped message: the server sent something that is not a message, a message of ours did not reach it, or it refused a request or
 * named an address in words for the log only.
 */
export type DropKind = 'invalid' | 'undelivered' | 'refusal';

/** A request or notification of the server that is dropped. */
export interface UnusableQuestion {
  /** Undefined where the id could not be read. */
  readonly id: JsonRpcId | undefined;
  readonly reason: 'message.not_json' | 'message.invalid';
}

export interface TransportObserver {
  /**
   * A JSON value has arrived, within the limits of size, depth and number of values.
   * @param origin the request of its response stream; undefined where the wire does not tell.
   */
  message(value: unknown, origin: JsonRpcId | undefined): void;
  requestFailed(id: JsonRpcId, failure: RequestFailure): void;
  /**
   * Whether a message that follows other text on one line may be read: only while the server can speak of one caller. A program that prints what a caller
   * sent would otherwise answer the call of another.
   */
  takesAfterText(): boolean;
  /** The server has ended our session outside of any request; a new one must be opened. */
  sessionGone(): void;
  /** Messages of the server outside of requests may have been missed for a while; they are received again. */
  missed(): void;
  /** Nothing can be sent or received any more. Called once, and never after `close()`. */
  lost(problem: string, trouble?: ServerTrouble): void;
  /**
   * Something was dropped that no request waits for; this may happen thousands of times a second.
   * @param problem for the operator's log only, since it may have words of the server.
   * @param question the dropped request, if it was one of the server.
   * @param isAnswer whether it is the answer to a request, and does not show to which.
   */
  dropped(kind: DropKind, problem: string, question?: UnusableQuestion, isAnswer?: boolean): void;
}

export interface Transport {
  /** Resolves when messages can be sent. Rejects with an Error in words for people. */
  open(): Promise<void>;
  /**
   * Sends a request. Its answer comes to `message`, or `requestFailed` says why none will come.
   * @param headers parts of the request that are repeated in headers, where the wire has headers.
   */
  request(message: JsonRpcRequest, headers?: Readonly<Record<string, string>>): void;
  /**
   * Sends a notification or the answer to a server's request; `dropped` is called if it did not reach the server.
   * @param settled runs once, when no later message can overtake it any more: at once where the wire keeps the order.
   */
  send(message: JsonRpcMessage, settled?: () => void): void;
  /** Stops waiting for the answer to a cancelled request. */
  abandon(id: JsonRpcId): void;
  /** Whether this wire exists only in revisions with sessions, so that no server of 2026-07-28 is reached over it. */
  readonly needsNoProbe: boolean;
  /** Whether closing the response cancels a request at a server of 2026-07-28. */
  readonly closesToCancel: boolean;
  /** Whether all messages of the server come in the order in which it sent them. Over streamable HTTP each request has a stream of its own, beside a standing one. */
  readonly keepsOrder: boolean;
  /** Whether an error without a request id can be sent to the server; over HTTP it would have no context. */
  readonly takesNamelessErrors: boolean;
  /** Whether the server can tell this connection from others and so may keep state for it: it is a program, a socket, or has a session. */
  readonly hasState: boolean;
  /** The server has named its revision: from now on messages name it where the wire wants that. */
  agreed(revision: Revision): void;
  /** The transport that carries all messages once the server has named its revision; left out where it is this one. */
  readonly found?: Transport;
  /** From now on messages of the server outside of requests are received; for a server with sessions, once the handshake is complete. */
  listen(): void;
  /** Closes the connection in the way that the wire demands, and ends its child process. */
  close(): Promise<void>;
}
