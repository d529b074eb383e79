/** How a client's bytes reach the gateway. Each sends one message and says what was wrong with what came back, if anything was. */
import { spawn, type ChildProcess } from 'node:child_process';
import { connect } from 'node:net';
import { createParser } from 'eventsource-parser';
import { WebSocket } from 'ws';
import { isObject } from '@omnibus/protocol';
import { parseAll, wrongWith } from './judge.ts';
import { hangMs } from './run.ts';
import { initialize } from './traffic.ts';

/** A stream that ends only when its client goes: read for as long. */
const standingMs = 300;

export interface Posted {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly method?: string;
  /** Of a request that is sent as it should be: exactly one answer has it. */
  readonly id?: number;
}

export interface Carrier extends AsyncDisposable {
  /** @returns what was wrong. */
  send(posted: Posted): Promise<string | undefined>;
}

const accept = { 'content-type': 'application/json', 'accept': 'application/json, text/event-stream' };

function firstWrong(texts: readonly string[]): string | undefined {
  for (const message of parseAll(texts)) {
    const problem = wrongWith(message);
    if (problem !== undefined) return `${problem}: ${JSON.stringify(message).slice(0, 500)}`;
  }
  return undefined;
}

function dataOf(events: string): string[] {
  const data: string[] = [];
  createParser({ onEvent: (event) => event.data !== '' && data.push(event.data) }).feed(events);
  return data;
}

/** Streamable HTTP, with a session that is opened again when it was ended. */
export class HttpCarrier implements Carrier {
  readonly #url: string;
  readonly #hasSession: boolean;
  #session: string | undefined;

  constructor(url: string, hasSession: boolean) {
    this.#url = url;
    this.#hasSession = hasSession;
  }

  async send({ body, headers, method = 'POST', id }: Posted): Promise<string | undefined> {
    if (this.#hasSession && this.#session === undefined) await this.#open();
    const isStanding = method === 'GET' || body.includes('subscriptions/listen');
    const limit = AbortSignal.timeout(isStanding ? standingMs : hangMs);
    let status = 0;
    let type = '';
    const chunks: Buffer[] = [];
    try {
      const response = await fetch(this.#url, {
        method, signal: limit, headers: { ...accept, ...(this.#session === undefined ? {} : { 'mcp-session-id': this.#session }), ...headers }, ...(method === 'GET' || method === 'DELETE' ? {} : { body: new Uint8Array(body) }),
      });
      status = response.status;
      type = response.headers.get('content-type') ?? '';
      for await (const chunk of response.body ?? []) chunks.push(Buffer.from(chunk as Uint8Array));
    } catch (error) {
      if (limit.aborted && !isStanding) return 'it is not answered';
      if (!limit.aborted && !/fetch failed|terminated/.test(String(error))) throw error; // No header at all for the client's library.
    }
    if (status === 404 || status === 0) this.#session = undefined;
    if (status >= 500 && ![502, 503].includes(status)) return `HTTP ${status}`;
    const content = Buffer.concat(chunks).toString();
    if (isStanding && limit.aborted) return undefined;
    const texts = type.startsWith('text/event-stream') ? dataOf(content) : content === '' ? [] : [content];
    const answers = parseAll(texts).filter((message) => isObject(message) && !('method' in message) && message['id'] === id);
    return firstWrong(texts) ?? (id !== undefined && answers.length !== 1 ? `${answers.length} answers with its id: HTTP ${status} ${content.slice(0, 500)}` : undefined);
  }

  async #open(): Promise<void> {
    const response = await fetch(this.#url, { method: 'POST', headers: accept, body: JSON.stringify(initialize), signal: AbortSignal.timeout(hangMs) });
    await response.text();
    this.#session = response.headers.get('mcp-session-id') ?? undefined;
    if (this.#session === undefined) return;
    await (await fetch(this.#url, { method: 'POST', headers: { ...accept, 'mcp-session-id': this.#session }, body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' })).text();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#session !== undefined) await fetch(this.#url, { method: 'DELETE', headers: { 'mcp-session-id': this.#session }, signal: AbortSignal.timeout(hangMs) });
  }
}

/** A request line, headers and body as text on a socket, where no library has a say. */
export async function sendRaw(url: string, bytes: Buffer): Promise<string | undefined> {
  const { hostname, port } = new URL(url);
  const chunks: Buffer[] = [];
  const ended = await new Promise<'closed' | 'silent'>((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    const done = (how: 'closed' | 'silent') => (): void => {
      socket.destroy();
      resolve(how);
    };
    socket.setTimeout(standingMs, done('silent'));
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', done('closed'));
    socket.on('close', done('closed'));
  });
  const head = Buffer.concat(chunks).toString('latin1');
  if (head === '') return undefined; // Whoever has not said everything yet is waited for, or was closed upon.
  return /^HTTP\/1\.1 (?:[1-4]\d\d|50[1235]) /.test(head) ? undefined : `${ended} after ${head.slice(0, 200)}`;
}

/** A connection on which a ping after each message shows that the connection goes on, or that it was closed. */
abstract class DuplexCarrier implements Carrier {
  #pings = 0;
  readonly #texts: string[] = [];
  readonly #waiting = new Map<string, () => void>();

  protected abstract open(): Promise<void>;
  protected abstract write(body: Buffer): void;
  protected abstract get isOpen(): boolean;
  abstract [Symbol.asyncDispose](): Promise<void>;

  protected heard(text: string): void {
    this.#texts.push(text);
    const id = /"id":"(fuzz-ping-\d+)"/.exec(text)?.[1];
    if (id !== undefined) this.#waiting.get(id)?.();
  }

  protected closed(): void {
    for (const done of this.#waiting.values()) done();
  }

  async send({ body }: Posted): Promise<string | undefined> {
    if (!this.isOpen) {
      await this.open();
      this.write(Buffer.from(JSON.stringify(initialize)));
      this.write(Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
      // A program has to start first, and its servers; that is no answer to what is sent then.
      if (!await this.#isAnswered(undefined)) return 'the first ping of a new connection is not answered';
    }
    return await this.#isAnswered(body) ? firstWrong(this.#texts.splice(0)) : 'the ping after it is not answered';
  }

  /** Whether a ping that follows is answered, or the connection closed. */
  async #isAnswered(body: Buffer | undefined): Promise<boolean> {
    this.#pings += 1;
    const id = `fuzz-ping-${this.#pings}`;
    const answered = new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), hangMs);
      this.#waiting.set(id, () => {
        clearTimeout(timer);
        resolve(true);
      });
    });
    if (body !== undefined) this.write(body);
    this.write(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })));
    if (!this.isOpen) this.closed();
    const isAnswered = await answered;
    this.#waiting.delete(id);
    return isAnswered;
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
    socket.on('error', () => this.closed());
    socket.on('close', () => this.closed());
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

/** A process `omnibus stdio`; messages are lines. */
export class StdioCarrier extends DuplexCarrier {
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  /** How often it was started: it never ends while its client is there. */
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
    // Not by readline: it ends a line at U+2028 too, which JSON may hold as it is.
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
    const response = await fetch(this.#url, { headers: { accept: 'text/event-stream' }, signal: this.#connection.signal });
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
      this.#endpoint = undefined; // Broken, by either side.
    }
  }

  protected write(body: Buffer): void {
    if (this.#endpoint === undefined) return;
    // What is refused is said in the answer to the POST; the order of two POSTs is nobody's.
    fetch(this.#endpoint, { method: 'POST', headers: { 'content-type': 'application/json' }, body: new Uint8Array(body), signal: AbortSignal.timeout(hangMs) })
      .then(async (response) => {
        const text = await response.text();
        if (response.status !== 202) this.heard(text === '' ? '{"jsonrpc":"2.0","error":{"code":-32050,"message":"empty"}}' : text);
      })
      .catch(() => this.closed());
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#connection?.abort();
    return Promise.resolve();
  }
}
