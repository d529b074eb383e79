/** Progress of a call over its rounds: what a client is told only grows, and what was reached while it was away is told when it is back. */
import { numberOf, type JsonRpcId, type ProgressEvent } from '@omnibus/protocol';
import { modernDialect } from '../dialect/modern/dialect.ts';
import { progressTokenOf, send, type PendingReply } from './pending-reply.ts';

export class RoundProgress {
  #reached = -Infinity;
  /** The latest that nobody heard; what came before it says nothing that it does not. */
  #missed: ProgressEvent | undefined;

  /** @param token of the request that waits, if it has one. @returns that token when the client is to be told. */
  tokenFor(event: ProgressEvent, token: JsonRpcId | undefined): JsonRpcId | undefined {
    const reached = numberOf(event.progress) ?? -Infinity;
    // A server that is asked again after a round may begin to count anew; the client's value only grows.
    if (token === undefined || reached <= this.#reached) return undefined;
    this.#reached = reached;
    return token;
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
    if (missed === undefined) return;
    const token = this.tokenFor(missed, progressTokenOf(waiter));
    if (token !== undefined) send(waiter, modernDialect.progressText(token, missed));
  }
}
