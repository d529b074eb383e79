/** Progress of a call over its rounds: what a client is told only grows, and what was reached while it was away is told when it is back. */
import { numberOf, type JsonRpcId, type ProgressEvent } from '@omnibus/protocol';
import { progressText } from '../dialect/messages.ts';
import { progressTokenOf, send, type PendingReply } from './pending-reply.ts';

export class RoundProgress {
  #reached = -Infinity;
  /** The latest that nobody heard; what came before it says nothing that it does not. */
  #missed: ProgressEvent | undefined;

  /** @param token of the request that waits, if it has one. */
  text(event: ProgressEvent, token: JsonRpcId | undefined): string | undefined {
    const reached = numberOf(event.progress) ?? -Infinity;
    // A server that is asked again after a round may begin to count anew; the client's value only grows.
    if (token === undefined || reached <= this.#reached) return undefined;
    this.#reached = reached;
    return progressText(token, event);
  }

  /** Nobody waits. */
  keep(event: ProgressEvent): undefined {
    this.#missed = event;
  }

  /** A request has come back, whose token counts from now on. */
  resumed(waiter: PendingReply): void {
    const missed = this.#missed;
    this.#missed = undefined;
    this.#reached = -Infinity;
    const text = missed === undefined ? undefined : this.text(missed, progressTokenOf(waiter));
    if (text !== undefined) send(waiter, text);
  }
}
