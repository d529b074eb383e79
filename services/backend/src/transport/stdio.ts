/** stdio (all revisions): one JSON value per line on stdin and stdout; stderr is for people. */
import type { JsonRpcId, JsonRpcMessage, JsonRpcRequest } from '@omnibus/protocol';
import { Child, type ChildOptions } from './child-process.ts';
import type { Transport, TransportObserver } from './transport.ts';

export interface StdioOptions extends ChildOptions {
  /** Bytes of one line, and of what waits to be read by the child. */
  readonly maxMessageBytes: number;
}

const newline = 10;

export class StdioTransport implements Transport {
  readonly isLegacyOnly = false;
  readonly closesToCancel = false;
  readonly #options: StdioOptions;
  readonly #observer: TransportObserver;
  #child: Child | undefined;
  /** Bytes since the last newline, and their number. */
  #partial: Buffer[] = [];
  #partialBytes = 0;
  #isClosing = false;

  constructor(options: StdioOptions, observer: TransportObserver) {
    this.#options = options;
    this.#observer = observer;
  }

  open(): Promise<void> {
    const child = new Child(this.#options);
    this.#child = child;
    child.process.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    void child.ended.then((problem) => {
      if (!this.#isClosing) this.#observer.lost(problem);
    });
    return Promise.resolve();
  }

  request(message: JsonRpcRequest): void {
    const problem = this.#write(message);
    if (problem !== undefined) this.#observer.requestFailed(message.id, { kind: 'not-sent', problem });
  }

  send(message: JsonRpcMessage): void {
    this.#write(message);
  }

  abandon(_id: JsonRpcId): void {
    // Nothing is held open for a single request here.
  }

  initialized(): void {
    // Lines are the same in every revision.
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#child?.stop();
  }

  #write(message: JsonRpcMessage): string | undefined {
    const stdin = this.#child?.process.stdin;
    if (stdin === undefined || !stdin.writable) return 'the process takes no input any more';
    if (stdin.writableLength > this.#options.maxMessageBytes) return 'the process does not read its input';
    stdin.write(`${JSON.stringify(message)}\n`);
    return undefined;
  }

  #read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#partial.push(chunk.subarray(start, end));
      const line = this.#partial.length === 1 ? (this.#partial[0] as Buffer) : Buffer.concat(this.#partial);
      this.#partial = [];
      this.#partialBytes = 0;
      this.#parse(line.toString('utf8'));
      start = end + 1;
    }
    if (start === chunk.length) return;
    this.#partial.push(chunk.subarray(start));
    this.#partialBytes += chunk.length - start;
    if (this.#partialBytes > this.#options.maxMessageBytes) {
      this.#observer.lost(`the process wrote a line of more than ${this.#options.maxMessageBytes} bytes`);
      void this.close();
    }
  }

  #parse(line: string): void {
    if (line.trim() === '') return;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      this.#observer.invalid(`the process wrote to stdout what is no JSON: ${line.slice(0, 200)}`);
      return;
    }
    this.#observer.message(value, undefined);
  }
}
