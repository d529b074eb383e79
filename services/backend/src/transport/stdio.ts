/** The transport over stdio (all revisions): one JSON value on each line of stdin and stdout; stderr is for people. */
import type { JsonRpcId, JsonRpcMessage, JsonRpcRequest, RepairCounts } from '@omnibus/protocol';
import { Child, type ChildOptions } from './child-process.ts';
import { readIncoming, type MessageLimits } from './incoming.ts';
import { Lines } from './lines.ts';
import { messageAfterText } from './mending.ts';
import type { StartUps } from './start-ups.ts';
import type { Transport, TransportObserver } from './transport.ts';

export interface StdioOptions extends ChildOptions {
  /** Limits of messages, which also bound unread messages to the program. */
  readonly limits: MessageLimits;
  /** Where the program waits for its turn to start; undefined for one that starts at once, since a user waits for it. */
  readonly startUps?: StartUps | undefined;
}

export class StdioTransport implements Transport {
  readonly needsNoProbe = false;
  readonly closesToCancel = false;
  readonly keepsOrder = true;
  readonly takesNamelessErrors = true;
  readonly hasState = true;
  readonly #options: StdioOptions;
  readonly #observer: TransportObserver;
  #child: Child | undefined;
  readonly #lines: Lines;
  readonly #closing = new AbortController();
  /** Gives up the place among the programs that start. */
  #started: () => void = () => undefined;

  constructor(options: StdioOptions, observer: TransportObserver) {
    this.#options = options;
    this.#observer = observer;
    const { maxUpstreamMessageBytes: maxBytes } = options.limits;
    this.#lines = new Lines({
      maxBytes,
      line: (line) => this.#hear(line),
      tooLong: () => {
        this.#observer.lost(`the program wrote a line of more than ${maxBytes} bytes`, 'speech');
        void this.close();
      },
    });
  }

  async open(): Promise<void> {
    this.#started = (await this.#options.startUps?.turn(this.#closing.signal)) ?? this.#started;
    this.#closing.signal.throwIfAborted();
    const child = new Child(this.#options);
    this.#child = child;
    child.onOutput((chunk) => this.#lines.read(chunk));
    child.talks();
    await child.started;
    void child.ended.then((problem) => {
      if (!this.#closing.signal.aborted) this.#observer.lost(problem, 'ended');
    });
  }

  request(message: JsonRpcRequest): void {
    const problem = this.#write(message);
    if (problem !== undefined) this.#observer.requestFailed(message.id, { kind: 'not-sent', problem });
  }

  send(message: JsonRpcMessage, settled?: () => void): void {
    const problem = this.#write(message);
    if (problem !== undefined) this.#observer.dropped('undelivered', problem);
    settled?.();
  }

  abandon(_id: JsonRpcId): void {
    // A single request has no resource here.
  }

  /** Lines are the same in every revision. */
  agreed(): void {
    this.#started();
  }

  listen(): void {
    // The server's messages are received already.
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#started();
    this.#lines.end();
    await this.#child?.stop();
  }

  #write(message: JsonRpcMessage): string | undefined {
    return this.#child === undefined
      ? 'the program has not been started'
      : this.#child.write(`${JSON.stringify(message)}\n`, this.#options.limits.maxUpstreamMessageBytes);
  }

  #hear(line: Buffer): void {
    const { limits } = this.#options;
    const incoming = readIncoming(line, limits);
    if ('value' in incoming) this.#observer.message(incoming.value, undefined);
    else if (limits.repairs !== undefined && this.#hearAfterText(line, limits.repairs)) return;
    else if (incoming.id === null || incoming.id === undefined)
      this.#observer.dropped(
        'invalid',
        `${incoming.problem}: ${line.subarray(0, shownBytes).toString('latin1')}`,
        incoming.question,
        incoming.isAnswer,
      );
    else this.#observer.requestFailed(incoming.id, { kind: 'invalid', problem: incoming.problem });
  }

  /** @returns whether a message follows text on the line, and was passed on. */
  #hearAfterText(line: Buffer, repairs: RepairCounts): boolean {
    const found = this.#observer.takesAfterText() ? messageAfterText(line) : undefined;
    const incoming = found === undefined ? undefined : readIncoming(found.message, this.#options.limits);
    if (found === undefined || incoming === undefined || !('value' in incoming)) return false;
    repairs.note('text-before-message', this.#options.redactor.excerpt(found.text, shownBytes));
    this.#observer.message(incoming.value, undefined);
    return true;
  }
}

/** Characters of an invalid line that the log shows. */
const shownBytes = 200;
