/**
 * What a server hears that asked for something in a message that is none: it waits for an answer, and not every server has a limit of
 * its own (JSON-RPC 2.0 section 5.1: -32600 and -32700).
 */
import { TokenBucket } from '@omnibus/lifecycle';
import { fault, toErrorObject } from '@omnibus/protocol';
import type { Transport, UnusableQuestion } from '../transport/transport.ts';

/** A server that writes rubbish without end is not answered line by line: it may be one that does not read. */
const perSecond = 50;

export class Refusals {
  readonly #transport: () => Transport | undefined;
  readonly #rate = TokenBucket.perSecond(perSecond);

  /** @param transport the one that is open. */
  constructor(transport: () => Transport | undefined) {
    this.#transport = transport;
  }

  /** Where its id could not be read either, that can be said only over a connection of messages. */
  refuse({ id, reason }: UnusableQuestion, problem: string): void {
    const transport = this.#transport();
    if (transport === undefined || (id === undefined && !transport.takesNamelessErrors) || !this.#rate.take()) return;
    transport.send({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: toErrorObject(fault(reason, problem)) });
  }
}
