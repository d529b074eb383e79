/** The stream on which the messages for one HTTP POST of the client are sent. */
import {
  errorText,
  idKey,
  toErrorObject,
  type Begun,
  type GatewayFault,
  type JsonBytes,
  type JsonRpcId,
  type PostedMessage,
  type SessionCommand,
  type StreamId,
  type WorkerId,
} from '@omnibus/protocol';
import { digestOf } from './repeated.ts';
import { ResumableStream, type Asked, type Reply } from './resumable-stream.ts';
import type { StreamTable } from './stream-table.ts';

export type PostCommand = Extract<SessionCommand, { kind: 'post' | 'batch' }>;

/** The answer to one POST. It is closed by the answer to the last request of the POST. */
export class PostStream implements Asked {
  /** The W3C `traceparent` of the request. */
  readonly trace: string | undefined;
  readonly #stream: ResumableStream;
  readonly #table: StreamTable;
  readonly #command: PostCommand;
  #openRequests: number;
  left: (() => void) | undefined;
  /** Made when it is first asked for: it costs a text of the whole request. */
  #digest: string | undefined;

  /** @param requests number of requests in the POST that are to be answered. */
  constructor(command: PostCommand, reply: Reply, requests: number, table: StreamTable, edge: WorkerId | undefined) {
    this.#command = command;
    this.trace = command.kind === 'post' ? command.trace : undefined;
    this.#stream = new ResumableStream(command.stream, reply, table.home, command.sentUpTo, edge);
    this.#table = table;
    this.#openRequests = requests;
    if (requests === 0) return;
    table.add(this.#stream);
    this.#stream.asked = this;
  }

  /** Undefined for a batch, of which another request may have begun. */
  get id(): StreamId | undefined {
    return this.#command.kind === 'batch' ? undefined : this.#command.stream;
  }

  get origin(): StreamId | undefined {
    return this.#command.kind === 'batch' && repeatsId(this.#command.messages) ? undefined : this.#command.stream;
  }

  get begun(): Begun | undefined {
    return this.#command.begun;
  }

  /** The tag under which it is watched. */
  get tap(): string | undefined {
    return this.#command.kind === 'post' ? this.#command.tap : undefined;
  }

  /** Characters of its messages. */
  get length(): number {
    return JSON.stringify(this.#command.kind === 'post' ? this.#command.message : this.#command.messages).length;
  }

  get takesAway(): boolean {
    return this.#openRequests === 1 && this.#command.kind === 'post' && this.#stream.takesAway;
  }

  get digest(): string | undefined {
    return (this.#digest ??= digestOf(this.#command));
  }

  /** Its client has sent the same request before: it reads the earlier stream from now on. */
  continueAs(earlier: ResumableStream, edge: WorkerId | undefined): void {
    const reply = this.#stream.handOff();
    this.#table.join(this.#stream, earlier);
    earlier.resume(0, this.#command.stream, reply, edge);
  }

  giveUp(): void {
    this.#table.unkept(this);
  }

  /** Sends a message that belongs to a request of this POST and precedes its answer. */
  send(text: string): void {
    this.#stream.send(text, false, false);
  }

  answer(text: string | JsonBytes, missingScopes?: readonly string[]): void {
    this.#openRequests -= 1;
    const isLast = this.#openRequests === 0;
    this.#stream.send(text, true, isLast, missingScopes);
    if (!isLast) return;
    this.#table.ended(this.#stream);
    this.left?.();
  }

  answerMember(id: JsonRpcId, member: string | JsonBytes): void {
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
    this.answer(typeof member === 'string' ? `${head}${member}}` : member.within(head, '}'));
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
    this.left?.();
  }
}

/** Whether several requests of a batch have one id. */
function repeatsId(messages: readonly PostedMessage[]): boolean {
  const ids = messages.flatMap((each) => (each.kind === 'request' ? [idKey(each.message.id)] : []));
  return new Set(ids).size < ids.length;
}
