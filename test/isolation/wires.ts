/** The transports of clients in this suite. Every received byte is stored, since the checks need all of them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { WebSocket } from 'ws';
import type { JsonObject, JsonRpcId } from '@omnibus/protocol';
import type { Message } from '../support/raw-client.ts';
import { omnibusProgram } from '../support/processes.ts';

export interface WireObserver {
  /** @param request the request of its stream, if there are several. */
  readonly message: (message: Message, request: JsonRpcId | undefined) => void;
  readonly bytes: (text: string) => void;
  /** Called for a request that will not be answered, or (undefined) for all of them. */
  readonly broken: (request: JsonRpcId | undefined, why: string) => void;
}

export interface Wire {
  send(message: JsonObject, headers?: Readonly<Record<string, string>>): Promise<void>;
  /** The session exists: messages outside of requests can be received. */
  opened(revision: string): Promise<void>;
  /** Ends one request, where closing its stream cancels it. */
  abandon(id: JsonRpcId): void;
  close(): Promise<void>;
}

/** Headers that identify the caller; none where callers are anonymous. */
export type Credentials = Readonly<Record<string, string>>;

const maxReturns = 600;
const returnMs = 100;
/** An answer that takes longer counts as missing. */
const limitMs = 90_000;

/** Streamable HTTP; resumes a broken stream if it has an event id. */
export class HttpWire implements Wire {
  readonly #url: string;
  readonly #observer: WireObserver;
  readonly #credentials: Credentials;
  readonly #posts = new Map<JsonRpcId, AbortController>();
  readonly #over = new AbortController();
  #session: string | undefined;
  #revision: string | undefined;

  constructor(url: string, observer: WireObserver, credentials: Credentials) {
    this.#url = url;
    this.#observer = observer;
    this.#credentials = credentials;
  }

  async send(message: JsonObject, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const id = 'method' in message ? (message['id'] as JsonRpcId | undefined) : undefined;
    const connection = new AbortController();
    if (id !== undefined) this.#posts.set(id, connection);
    const signal = AbortSignal.any([connection.signal, this.#over.signal, AbortSignal.timeout(limitMs)]);
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...this.#headers(), ...headers },
        body: JSON.stringify(message),
        signal,
      });
      this.#keepHeaders(response);
      this.#session ??= response.headers.get('mcp-session-id') ?? undefined;
      if (response.status === 202 || id === undefined) {
        this.#observer.bytes(await response.text());
        return;
      }
      if (response.headers.get('content-type') === 'text/event-stream') {
        void this.#follow(response, id, signal);
        return;
      }
      const text = await response.text();
      this.#observer.bytes(text);
      if (text.startsWith('{')) this.#observer.message({ ...(JSON.parse(text) as Message), id }, id);
      else this.#observer.broken(id, `status ${response.status}`);
    } catch (error) {
      if (id === undefined) throw error;
      this.#observer.broken(id, (error as Error).name);
    }
  }

  /** Reads the stream of a request until its answer, over as many connections as it takes. */
  async #follow(first: Response, id: JsonRpcId, signal: AbortSignal): Promise<void> {
    let response: Response | undefined = first;
    const seen: { lastId: string | undefined; isAnswered: boolean } = { lastId: undefined, isAnswered: false };
    for (let round = 0; round < maxReturns && !signal.aborted; round += 1) {
      if (response?.status === 200) {
        await this.#read(response, (message, eventId) => {
          seen.lastId = eventId ?? seen.lastId;
          if (message === undefined) return;
          if (message.id === id && message.method === undefined) seen.isAnswered = true;
          this.#observer.message(message, id);
        });
      }
      if (seen.isAnswered) return;
      if (seen.lastId === undefined) break;
      if (round > 0) await wait(returnMs);
      response = await fetch(this.#url, {
        headers: { ...this.#headers(), accept: 'text/event-stream', 'last-event-id': seen.lastId },
        signal,
      }).catch(() => undefined);
      if (response !== undefined && response.status !== 200)
        this.#observer.bytes(await response.text().catch(() => ''));
    }
    this.#observer.broken(id, 'the stream ended');
  }

  async opened(revision: string): Promise<void> {
    this.#revision = revision;
    const first = await this.#listen(undefined);
    void this.#stand(first);
  }

  /** Reads the standing stream as long as the client exists. */
  async #stand(first: Response | undefined): Promise<void> {
    let response = first;
    let lastId: string | undefined;
    while (!this.#over.signal.aborted) {
      if (response?.status === 200) {
        await this.#read(response, (message, eventId) => {
          lastId = eventId ?? lastId;
          if (message !== undefined) this.#observer.message(message, undefined);
        });
      } else {
        this.#observer.bytes((await response?.text().catch(() => '')) ?? '');
        lastId = undefined;
      }
      await wait(returnMs);
      response = await this.#listen(lastId);
    }
  }

  #listen(lastId: string | undefined): Promise<Response | undefined> {
    return fetch(this.#url, {
      headers: {
        ...this.#headers(),
        accept: 'text/event-stream',
        ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
      },
      signal: this.#over.signal,
    }).catch(() => undefined);
  }

  abandon(id: JsonRpcId): void {
    this.#posts.get(id)?.abort();
  }

  async close(): Promise<void> {
    if (this.#session !== undefined)
      await fetch(this.#url, { method: 'DELETE', headers: this.#headers() }).catch(() => undefined);
    this.#over.abort();
  }

  #headers(): Record<string, string> {
    return {
      ...this.#credentials,
      accept: 'application/json, text/event-stream',
      ...(this.#session === undefined ? {} : { 'mcp-session-id': this.#session }),
      ...(this.#revision === undefined || this.#revision < '2025-06-18'
        ? {}
        : { 'mcp-protocol-version': this.#revision }),
    };
  }

  #keepHeaders(response: Response): void {
    this.#observer.bytes(JSON.stringify([...response.headers]));
  }

  async #read(response: Response, hear: (message: Message | undefined, id: string | undefined) => void): Promise<void> {
    const parser = createParser({
      onEvent: ({ data, id }) => hear(data === '' ? undefined : (JSON.parse(data) as Message), id),
    });
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        const text = decoder.decode(chunk, { stream: true });
        this.#observer.bytes(text);
        parser.feed(text);
      }
    } catch {
      return; // The stream is broken; the caller of this function resumes it.
    }
  }
}

/** HTTP+SSE (2024-11-05): one stream for all messages. */
export class EventSourceWire implements Wire {
  readonly #observer: WireObserver;
  readonly #credentials: Credentials;
  readonly #over = new AbortController();
  readonly #endpoint: Promise<string>;

  constructor(url: string, observer: WireObserver, credentials: Credentials) {
    this.#observer = observer;
    this.#credentials = credentials;
    const address = url.replace('/mcp', '/sse');
    const endpoint = Promise.withResolvers<string>();
    this.#endpoint = endpoint.promise;
    this.#endpoint.catch(() => undefined);
    void this.#open(address, (path) => endpoint.resolve(new URL(path, address).href)).catch((error: unknown) => {
      endpoint.reject(error as Error);
      observer.broken(undefined, 'the stream ended');
    });
  }

  async #open(address: string, found: (path: string) => void): Promise<void> {
    const response = await fetch(address, {
      headers: { ...this.#credentials, accept: 'text/event-stream' },
      signal: this.#over.signal,
    });
    const parser = createParser({
      onEvent: ({ event, data }) =>
        event === 'endpoint' ? found(data) : this.#observer.message(JSON.parse(data) as Message, undefined),
    });
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      const text = decoder.decode(chunk, { stream: true });
      this.#observer.bytes(text);
      parser.feed(text);
    }
    throw new Error('the stream ended');
  }

  async send(message: JsonObject): Promise<void> {
    const response = await fetch(await this.#endpoint, {
      method: 'POST',
      headers: { ...this.#credentials, 'content-type': 'application/json' },
      body: JSON.stringify(message),
      signal: this.#over.signal,
    });
    const text = await response.text();
    this.#observer.bytes(text);
    if (response.status !== 202)
      this.#observer.broken(message['id'] as JsonRpcId | undefined, `status ${response.status}: ${text}`);
  }

  opened(): Promise<void> {
    return Promise.resolve();
  }

  abandon(): void {
    // Requests have no streams of their own here: they are cancelled by `notifications/cancelled`.
  }

  close(): Promise<void> {
    this.#over.abort();
    return Promise.resolve();
  }
}

/** A connection with messages as lines or frames: a WebSocket, or a program. */
class LineWire implements Wire {
  readonly #write: (text: string) => void;
  readonly #end: () => Promise<void>;
  readonly #ready: Promise<void>;

  constructor(write: (text: string) => void, end: () => Promise<void>, ready: Promise<void>) {
    this.#write = write;
    this.#end = end;
    this.#ready = ready;
  }

  async send(message: JsonObject): Promise<void> {
    await this.#ready;
    this.#write(JSON.stringify(message));
  }

  opened(): Promise<void> {
    return Promise.resolve();
  }

  abandon(): void {
    // Requests have no streams of their own here (see EventSourceWire).
  }

  close(): Promise<void> {
    return this.#end();
  }
}

function hearLine(observer: WireObserver, text: string): void {
  observer.bytes(text);
  observer.message(JSON.parse(text) as Message, undefined);
}

export function webSocketWire(url: string, observer: WireObserver, headers: Credentials): Wire {
  const socket = new WebSocket(url.replace(/^http(.*\/)mcp/, 'ws$1ws'), 'mcp', { headers });
  socket.on('message', (data) => hearLine(observer, String(data as Buffer)));
  const ready = new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve());
    socket.once('error', reject);
  });
  ready.catch(() => undefined);
  socket.on('error', (error) => observer.broken(undefined, error.message));
  socket.on('close', () => observer.broken(undefined, 'the socket was closed'));
  const end = (): Promise<void> => {
    socket.close();
    return Promise.resolve();
  };
  return new LineWire((text) => socket.send(text), end, ready);
}

/** A process `omnibus stdio` that is connected to the tested gateway. */
export function stdioWire(url: string, observer: WireObserver, credentials: Credentials): Wire {
  const said = Object.entries(credentials).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
  const child = spawn('node', [omnibusProgram, 'stdio', '--connect', url, ...said], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  createInterface({ input: child.stdout }).on('line', (line) => hearLine(observer, line));
  child.stdin.on('error', () => observer.broken(undefined, 'stdin is closed'));
  const ended = once(child, 'exit');
  void ended.then(() => observer.broken(undefined, 'the program has ended'));
  const end = async (): Promise<void> => {
    child.stdin.end();
    await ended;
  };
  return new LineWire((text) => void child.stdin.write(`${text}\n`), end, Promise.resolve());
}
