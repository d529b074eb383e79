/**
 * What watches calls and changes nothing: traces, audit records, taps, the log, the list of failures. The path of a call knows this interface only; a
 * watcher that is off is in no list.
 */
import type { ExchangeEvent, ExchangeOutcome, GatewayFault, InputAnswer, InputKey } from '@omnibus/protocol';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import type { Destination } from './route.ts';

/** A call that is about to be sent to a server. */
export interface SentCall {
  readonly client: ClientPort<CallStream>;
  readonly call: ForwardedCall<CallStream>;
  readonly to: Destination;
  /** When it is sent, in milliseconds by `performance.now()`. */
  readonly since: number;
  /** The W3C `traceparent` that the server gets: that of the client, or of the watcher before that traces. */
  readonly trace: string | undefined;
}

/** One call as one watcher sees it. Members that a watcher leaves out are not called. `ended` is called exactly once. */
export interface WatchedCall {
  /** The W3C `traceparent` that the server and later watchers get instead of the client's. */
  readonly trace?: string | undefined;
  /** The tag under which the backend reports the call to a tap. */
  readonly tap?: string | undefined;
  /** @returns undefined if the call may be sent at once; otherwise resolves with the fault that ends it, or with undefined when it may be sent. */
  hold?(): Promise<GatewayFault | undefined> | undefined;
  /** The adapter is gone; the request is sent again, or ends with an unknown outcome. */
  lost?(outcome: 'repeated' | 'unknown'): void;
  /** The server asks its client something. */
  asked?(event: Extract<ExchangeEvent, { kind: 'input' }>): void;
  /** The client, or the gateway in its place, has answered a question. */
  answered?(input: InputKey, answer: InputAnswer): void;
  /** A question needs no answer any more. */
  withdrawn?(input: InputKey): void;
  /** @param characters length of the answer to the client as JSON; undefined for a call that ends without an answer of its server. */
  ended(outcome: ExchangeOutcome | 'cancelled', characters: number | undefined): void;
}

export interface CallWatcher {
  /** @returns undefined if this watcher does not want the call. */
  sent(sent: SentCall): WatchedCall | undefined;
}
