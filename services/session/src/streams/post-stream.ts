/** The stream on which the messages for one HTTP POST of the client are sent. */
import {
  errorText,
  toErrorObject,
  type GatewayFault,
  type JsonRpcId,
  type SessionCommand,
  type WorkerId,
} from '@omnibus/protocol';
import { ResumableStream, type Reply } from './resumable-stream.ts';
import type { StreamTable } from './stream-table.ts';

export type PostCommand = Extract<SessionCommand, { kind: 'post' | 'batch' }>;

/** The answer to one POST. It is closed by the answer to the last request of the POST. */
export class PostStream {
  readonly #stream: ResumableStream;
  readonly #table: StreamTable;
  #openRequests: number;

  /** The W3C `traceparent` of the request. */
  readonly trace: string | undefined;
  /** The tag under which it is watched. */
  readonly tap: string | undefined;

  /** @param requests number of requests in the POST that are to be answered. */
  constructor(
    { stream: id, sentUpTo, ...command }: PostCommand,
    reply: Reply,
    requests: number,
    table: StreamTable,
    edge?: WorkerId,
  ) {
    this.trace = command.kind === 'post' ? command.trace : undefined;
    this.tap = command.kind === 'post' ? command.tap : undefined;
    this.#stream = new ResumableStream(id, reply, table.home, sentUpTo, edge);
    this.#table = table;
    this.#openRequests = requests;
    if (requests > 0) table.add(this.#stream);
  }

  /** Sends a message that belongs to a request of this POST and precedes its answer. */
  send(text: string): void {
    this.#stream.send(text, false, false);
  }

  answer(text: string, missingScopes?: readonly string[]): void {
    this.#openRequests -= 1;
    const isLast = this.#openRequests === 0;
    this.#stream.send(text, true, isLast, missingScopes);
    if (isLast) this.#table.ended(this.#stream);
  }

  answerMember(id: JsonRpcId, member: string): void {
    this.answer(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${member}}`);
  }

  refuse(id: JsonRpcId, gatewayFault: GatewayFault): void {
    this.answer(
      errorText(id, toErrorObject(gatewayFault)),
      gatewayFault.reason === 'auth.scope'
        ? (gatewayFault.data?.['requiredScopes'] as readonly string[] | undefined)
        : undefined,
    );
  }

  /** Counts a request as done without an answer: a cancelled request gets none (2025-11-25 basic/utilities/cancellation). */
  leaveUnanswered(): void {
    this.#openRequests -= 1;
    if (this.#openRequests > 0) return;
    this.#stream.end();
    this.#table.ended(this.#stream);
  }
}
