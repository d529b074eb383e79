/** Progress of a call over its rounds: the value only grows, and progress between two rounds is sent in the next one. */
import { numberOf, type JsonRpcId, type ProgressEvent } from '@omnibus/protocol';
import { modernDialect } from '../dialect/modern/dialect.ts';
import { progressTokenOf, send, type PendingReply } from './pending-reply.ts';

export class RoundProgress {
  #reached = -Infinity;
  /** The latest progress that was not sent; earlier ones are superseded by it. */
  #missed: ProgressEvent | undefined;

  /** @param token of the waiting request, if it has one. @returns that token when the progress is to be sent. */
  tokenFor(event: ProgressEvent, token: JsonRpcId | undefined): JsonRpcId | undefined {
    const reached = numberOf(event.progress) ?? -Infinity;
    // A server with a repeated request after a round may begin to count again; the client's value only grows.
    if (token === undefined || reached <= this.#reached) return undefined;
    this.#reached = reached;
    return token;
  }

  /** Keeps progress while no request waits. */
  keep(event: ProgressEvent): undefined {
    this.#missed = event;
  }

  /** The next request has come; sends it the kept progress. */
  resumed(waiter: PendingReply): void {
    const missed = this.#missed;
    this.#missed = undefined;
    this.#reached = -Infinity;
    if (missed === undefined) return;
    const token = this.tokenFor(missed, progressTokenOf(waiter));
    if (token !== undefined) send(waiter, modernDialect.progressText(token, missed));
  }
}
