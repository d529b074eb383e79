/** A client that sends exactly the test's messages, and shows exactly the received ones. */
import { createParser } from 'eventsource-parser';
import { Heard } from '@omnibus/bus/testing';
import type { JsonObject, JsonRpcId } from '@omnibus/protocol';

export interface Message extends JsonObject {
  readonly id?: JsonRpcId;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: JsonObject };
}

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly session: string | null;
  /** All messages in the answer, in order; entries of a batch are separate messages. */
  readonly messages: readonly Message[];
  /** The last message. */
  readonly last: Message;
  readonly body: string;
}

export class RawClient {
  readonly url: string;
  session: string | undefined;
  /** Sent with every request, such as `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  #nextId = 0;
  readonly #abort = new AbortController();
  #standing: Promise<Heard<Message>> | undefined;

  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.url = url;
    this.headers = headers;
  }

  /** Initializes and confirms. */
  static async open(
    url: string,
    revision = '2025-11-25',
    headers: Readonly<Record<string, string>> = {},
    capabilities: JsonObject = {},
  ): Promise<RawClient> {
    const client = new RawClient(url, headers);
    const answer = await client.initialize(revision, capabilities);
    if (answer.status !== 200) throw new Error(`initialize was answered ${answer.status}: ${answer.body}`);
    client.session = answer.session ?? undefined;
    await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return client;
  }

  /** The same session at another edge. */
  at(url: string): RawClient {
    const client = new RawClient(url, this.headers);
    client.session = this.session;
    return client;
  }

  initialize(protocolVersion: string, capabilities: JsonObject = {}): Promise<Answer> {
    return this.post({
      jsonrpc: '2.0',
      id: 'init',
      method: 'initialize',
      params: { protocolVersion, capabilities, clientInfo: { name: 'raw', version: '1' } },
    });
  }

  request(method: string, params?: JsonObject, id?: JsonRpcId): Promise<Answer> {
    this.#nextId += 1;
    return this.post({ jsonrpc: '2.0', id: id ?? this.#nextId, method, ...(params === undefined ? {} : { params }) });
  }

  callTool(name: string, args: JsonObject = {}, meta?: JsonObject, id?: JsonRpcId): Promise<Answer> {
    return this.request('tools/call', { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) }, id);
  }

  async post(
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
    signal: AbortSignal = this.#abort.signal,
  ): Promise<Answer> {
    const response = await this.#fetch(body, headers, signal);
    const content = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const messages = type.startsWith('text/event-stream') ? parseEvents(content) : parseJson(content);
    return {
      status: response.status,
      type,
      session: response.headers.get('mcp-session-id'),
      messages,
      last: messages.at(-1) as Message,
      body: content,
    };
  }

  /**
   * Posts a request, and passes each message of the answer on as it arrives.
   * @returns the status.
   */
  async stream(
    body: unknown,
    hear: (message: Message) => Promise<void>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<number> {
    const response = await this.#fetch(body, headers, this.#abort.signal);
    const waiting: Promise<void>[] = [];
    const parser = createParser({
      onEvent: ({ data }) => {
        if (data !== '') waiting.push(hear(JSON.parse(data) as Message));
      },
    });
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
      parser.feed(decoder.decode(chunk, { stream: true }));
    await Promise.all(waiting);
    return response.status;
  }

  #fetch(body: unknown, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    return fetch(this.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(this.session === undefined ? {} : { 'mcp-session-id': this.session }),
        ...this.headers,
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal,
    });
  }

  /** The one GET stream of the client, opened at the first call of this method. */
  standing(): Promise<Heard<Message>> {
    this.#standing ??= this.listen();
    return this.#standing;
  }

  /** Opens a GET stream and resolves once it is attached. */
  async listen(): Promise<Heard<Message>> {
    const heard = new Heard<Message>();
    const response = await fetch(this.url, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': this.session as string, ...this.headers },
      signal: this.#abort.signal,
    });
    if (response.status !== 200 || response.body === null)
      throw new Error(`GET answered ${response.status}: ${await response.text()}`);
    const parser = createParser({ onEvent: ({ data }) => heard.add(JSON.parse(data) as Message) });
    const decoder = new TextDecoder();
    const read = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
      for await (const chunk of stream) parser.feed(decoder.decode(chunk, { stream: true }));
    };
    read(response.body).catch(() => undefined);
    return heard;
  }

  async delete(): Promise<number> {
    const response = await fetch(this.url, {
      method: 'DELETE',
      headers: { 'mcp-session-id': this.session as string, ...this.headers },
    });
    return response.status;
  }

  /** Resolves with the names of the tools once the list satisfies the condition; the list is read again when a change is announced. */
  async untilTools(isExpected: (names: readonly string[]) => boolean): Promise<readonly string[]> {
    const heard = await this.standing();
    for (;;) {
      const announced = heard.values.length;
      const names = await this.toolNames();
      if (isExpected(names)) return names;
      await heard.until(announced + 1);
    }
  }

  async toolNames(): Promise<string[]> {
    const answer = await this.request('tools/list');
    return (answer.last.result?.['tools'] as { name: string }[]).map(({ name }) => name);
  }

  [Symbol.dispose](): void {
    this.#abort.abort();
  }
}

function parseEvents(content: string): Message[] {
  const messages: Message[] = [];
  createParser({ onEvent: ({ data }) => messages.push(JSON.parse(data) as Message) }).feed(content);
  return messages;
}

function parseJson(content: string): Message[] {
  if (content === '') return [];
  const value = JSON.parse(content) as Message | Message[];
  return Array.isArray(value) ? value : [value];
}
