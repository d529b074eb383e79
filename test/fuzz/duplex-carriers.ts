/** Clients with one connection for both directions: WebSocket, stdio, HTTP+SSE. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createParser } from 'eventsource-parser';
import { WebSocket } from 'ws';
import { isObject } from '@omnibus/protocol';
import { firstWrong, mayCancel, type Carrier, type Posted } from './carriers.ts';
import { parseAll } from './judge.ts';
import { hangMs } from './run.ts';
import { initialize } from './traffic.ts';

const fencePrefix = 'fuzz-ping-';

/** A message that was sent, and is open until the ping after it is answered and, where it has an id, itself too. */
interface Waiting {
  readonly fence: string;
  readonly id: number | undefined;
  readonly timer: NodeJS.Timeout;
  readonly done: (problem: string | undefined) => void;
  isFenced: boolean;
  isAnswered: boolean;
  problem: string | undefined;
}

/** A connection on which a ping follows each message: its answer shows that the connection still works, unless the gateway closes it. */
abstract class DuplexCarrier implements Carrier {
  #pings = 0;
  /** Open messages by the id of their ping (fence), in the order of sending. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #byId = new Map<number, Waiting>();
  /** Ids of answered messages, which must not be answered again. */
  readonly #answered = new Set<number>();
  #opening: Promise<string | undefined> | undefined;
  /** How often the gateway has closed the connection. */
  closings = 0;

  protected abstract open(): Promise<void>;
  protected abstract write(body: Buffer): void;
  protected abstract get isOpen(): boolean;
  abstract [Symbol.asyncDispose](): Promise<void>;

  protected heard(text: string): void {
    const wrong = firstWrong([text]);
    for (const message of parseAll([text])) {
      const id = isObject(message) && !('method' in message) ? message['id'] : undefined;
      const waiting = typeof id === 'string' ? this.#waiting.get(id) : this.#byId.get(id as number);
      if (wrong !== undefined) this.#blame(waiting, wrong);
      if (waiting === undefined) {
        if (this.#answered.has(id as number))
          this.#blame(undefined, `a second answer has the id ${String(id)}: ${text.slice(0, 500)}`);
        continue;
      }
      if (typeof id === 'string') {
        waiting.isFenced = true;
      } else {
        waiting.isAnswered = true;
        this.#answered.add(id as number);
        this.#byId.delete(id as number);
      }
      this.#settle(waiting);
    }
  }

  /** Assigns a problem to its message when that is known, otherwise to the oldest open message. */
  #blame(waiting: Waiting | undefined, problem: string): void {
    const [oldest] = this.#waiting.values();
    const blamed = waiting ?? oldest;
    if (blamed === undefined) throw new Error(`with nothing on its way: ${problem}`);
    blamed.problem ??= problem;
  }

  #settle(waiting: Waiting, isOver = waiting.isFenced && waiting.isAnswered): void {
    if (!isOver) return;
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting.fence);
    if (waiting.id !== undefined) this.#byId.delete(waiting.id);
    waiting.done(waiting.problem);
  }

  protected closed(): void {
    if (this.#waiting.size > 0) this.closings += 1;
    for (const waiting of [...this.#waiting.values()]) this.#settle(waiting, true);
  }

  async send({ body, id }: Posted): Promise<string | undefined> {
    // Repeated, since the connection may be closed again while other messages wait for it.
    while (!this.isOpen) {
      this.#opening ??= this.#open().finally(() => {
        this.#opening = undefined;
      });
      const problem = await this.#opening;
      if (problem !== undefined) return problem;
    }
    if (mayCancel(body)) {
      for (const waiting of [...this.#waiting.values()]) {
        waiting.isAnswered = true;
        this.#settle(waiting);
      }
    }
    return this.#fenced(body, id);
  }

  async #open(): Promise<string | undefined> {
    this.closed(); // Open messages were sent on the previous connection.
    await this.open();
    this.write(Buffer.from(JSON.stringify(initialize)));
    this.write(Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
    // The program and its servers have to start first, which must not count for the message that follows.
    const problem = await this.#fenced(undefined, undefined);
    return problem === undefined ? undefined : `of a new connection: ${problem}`;
  }

  /** Sends the message and a ping. @returns the problem, once both are answered or the connection is closed. */
  #fenced(body: Buffer | undefined, id: number | undefined): Promise<string | undefined> {
    this.#pings += 1;
    const fence = `${fencePrefix}${this.#pings}`;
    return new Promise((done) => {
      const timer = setTimeout(() => {
        waiting.problem ??= waiting.isFenced ? 'it is not answered' : 'the ping after it is not answered';
        this.#settle(waiting, true);
      }, hangMs);
      const waiting: Waiting = {
        fence,
        id,
        timer,
        done,
        isFenced: false,
        isAnswered: id === undefined,
        problem: undefined,
      };
      this.#waiting.set(fence, waiting);
      if (id !== undefined) this.#byId.set(id, waiting);
      if (body !== undefined) this.write(body);
      this.write(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: fence, method: 'ping' })));
      if (!this.isOpen) this.closed();
    });
  }
}

export class WebSocketCarrier extends DuplexCarrier {
  readonly #url: string;
  #socket: WebSocket | undefined;

  constructor(url: string) {
    super();
    this.#url = url.replace(/^http/, 'ws').replace(/\/mcp$/, '/ws');
  }

  protected get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  protected open(): Promise<void> {
    const socket = new WebSocket(this.#url);
    this.#socket = socket;
    socket.on('message', (data: Buffer) => this.heard(data.toString()));
    // The end of the previous connection says nothing about this one.
    const closed = (): void => {
      if (this.#socket === socket) this.closed();
    };
    socket.on('error', closed);
    socket.on('close', closed);
    return new Promise((resolve, reject) => {
      socket.once('open', () => resolve());
      socket.once('error', reject);
    });
  }

  protected write(body: Buffer): void {
    this.#socket?.send(body, { binary: false });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#socket?.terminate();
    return Promise.resolve();
  }
}

/** A process `omnibus stdio`, with messages as lines. */
export class StdioCarrier extends DuplexCarrier {
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  /** How often it was started: it must not end while its client is there. */
  starts = 0;

  constructor(args: readonly string[]) {
    super();
    this.#args = args;
  }

  protected get isOpen(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  protected open(): Promise<void> {
    this.starts += 1;
    const child = spawn('node', [...this.#args], { stdio: ['pipe', 'pipe', 'ignore'] });
    this.#child = child;
    // Not by readline, which also ends a line at U+2028, a character that JSON may contain.
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.heard(line);
    });
    child.stdin.on('error', () => this.closed());
    this.#ended = new Promise((resolve) => {
      child.once('exit', () => {
        this.closed();
        resolve();
      });
    });
    return Promise.resolve();
  }

  protected write(body: Buffer): void {
    this.#child?.stdin?.write(Buffer.concat([body, Buffer.from('\n')]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child?.stdin?.end();
    await this.#ended;
  }
}

/** HTTP+SSE of 2024-11-05: answers come on the stream. */
export class EventSourceCarrier extends DuplexCarrier {
  readonly #url: string;
  #connection: AbortController | undefined;
  #endpoint: string | undefined;

  constructor(url: string) {
    super();
    this.#url = url.replace(/\/mcp$/, '/sse');
  }

  protected get isOpen(): boolean {
    return this.#endpoint !== undefined;
  }

  protected async open(): Promise<void> {
    this.#connection = new AbortController();
    const response = await fetch(this.#url, {
      headers: { accept: 'text/event-stream' },
      signal: this.#connection.signal,
    });
    await new Promise<void>((resolve) => {
      const parser = createParser({
        onEvent: ({ event, data }) => {
          if (event !== 'endpoint') this.heard(data);
          else {
            this.#endpoint = new URL(data, this.#url).href;
            resolve();
          }
        },
      });
      void this.#read(response, parser).finally(() => {
        this.#endpoint = undefined;
        this.closed();
        resolve();
      });
    });
  }

  async #read(response: Response, parser: { feed(text: string): void }): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
    } catch {
      this.#endpoint = undefined; // The connection was closed, by either side.
    }
  }

  protected write(body: Buffer): void {
    if (this.#endpoint === undefined) return;
    // A refusal is in the answer to the POST; two POSTs have no defined order.
    fetch(this.#endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Uint8Array(body),
      signal: AbortSignal.timeout(hangMs),
    })
      .then(async (response) => {
        const text = await response.text();
        if (response.status !== 202)
          this.heard(text === '' ? '{"jsonrpc":"2.0","error":{"code":-32050,"message":"empty"}}' : text);
      })
      .catch(() => this.closed());
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#connection?.abort();
    return Promise.resolve();
  }
}
