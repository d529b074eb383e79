/**
 * Answers a server's request in an invalid message: the server waits for an answer, and not every server has a time limit of its own (JSON-RPC 2.0
 * section 5.1: -32600 and -32700).
 */
import { TokenBucket } from '@omnibus/lifecycle';
import { fault, toErrorObject } from '@omnibus/protocol';
import type { Transport, UnusableQuestion } from '../transport/transport.ts';

/** Bound on such answers in a second: a server that sends endless garbage may not read them. */
const perSecond = 50;

export class Refusals {
  readonly #transport: () => Transport | undefined;
  readonly #rate = TokenBucket.perSecond(perSecond);

  /** @param transport gives the one that is open. */
  constructor(transport: () => Transport | undefined) {
    this.#transport = transport;
  }

  /** Refuses a request. If its id could not be read either, that is possible only over a connection of messages. */
  refuse({ id, reason }: UnusableQuestion, problem: string): void {
    const transport = this.#transport();
    if (transport === undefined || (id === undefined && !transport.takesNamelessErrors) || !this.#rate.take()) return;
    transport.send({
      jsonrpc: '2.0',
      ...(id === undefined ? {} : { id }),
      error: toErrorObject(fault(reason, problem)),
    });
  }
}
