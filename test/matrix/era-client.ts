/** A client that speaks exactly one revision, and keeps everything that it receives. */
import { createParser } from 'eventsource-parser';
import { Heard } from '@omnibus/bus/testing';
import type { JsonObject, JsonRpcId } from '@omnibus/protocol';
import type { Message } from '../support/raw-client.ts';
import type { MatrixRevision } from './era-server.ts';

export interface Reply {
  /** Messages on the request's stream, up to and including its answer. */
  readonly messages: readonly Message[];
  readonly last: Message;
  readonly result: JsonObject;
}

const prefix = 'io.modelcontextprotocol/';

type Answerer = (params: JsonObject) => JsonObject;

export interface EraClientOptions {
  readonly url: string;
  readonly revision: MatrixRevision;
  /** Its answers to questions of servers; it declares the capabilities for these only. */
  readonly answers: Readonly<Record<string, Answerer>>;
  readonly capabilities: JsonObject;
  /** Sent with every request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
}

export class EraClient {
  readonly revision: MatrixRevision;
  readonly pushed = new Heard<Message>();
  readonly asked = new Heard<Message>();
  /** The result of the gateway's handshake. */
  introduction: JsonObject = {};
  /** The log level that it sends with each request (2026-07-28). */
  logLevel: string | undefined;
  readonly #options: EraClientOptions;
  readonly #abort = new AbortController();
  /** For a request that takes several rounds: the id of the latest one, by that of the first. */
  readonly #rounds = new Map<JsonRpcId, JsonRpcId>();
  readonly #waiting = new Map<JsonRpcId, { readonly messages: Message[]; readonly resolve: (last: Message) => void }>();
  readonly #posts = new Map<JsonRpcId, AbortController>();
  #session: string | undefined;
  #postUrl: string;
  #nextId = 0;

  private constructor(options: EraClientOptions) {
    this.#options = options;
    this.revision = options.revision;
    this.#postUrl = options.url;
  }

  static async open(options: EraClientOptions): Promise<EraClient> {
    const client = new EraClient(options);
    if (client.isModern) {
      client.introduction = (await client.request('server/discover')).result;
      client.#listenModern();
      return client;
    }
    if (client.isEventSource) await client.#openEventSource();
    const reply = await client.request('initialize', {
      protocolVersion: options.revision,
      capabilities: options.capabilities,
      clientInfo: { name: 'era', version: '1' },
    });
    client.introduction = reply.result;
    await client.notify('notifications/initialized');
    if (!client.isEventSource) await client.#listen({});
    return client;
  }

  get isEventSource(): boolean {
    return this.revision === '2024-11-05';
  }

  /** Whether its revision has no sessions, so that every request stands alone. */
  get isModern(): boolean {
    return this.revision === '2026-07-28';
  }

  has(since: MatrixRevision): boolean {
    return this.revision >= since;
  }

  newId(): JsonRpcId {
    this.#nextId += 1;
    return this.#nextId;
  }

  async request(method: string, params: JsonObject = {}, id: JsonRpcId = this.newId()): Promise<Reply> {
    if (this.isModern) return this.#requestModern(method, params, id);
    const messages: Message[] = [];
    const answered = new Promise<Message>((resolve) => this.#waiting.set(id, { messages, resolve }));
    await this.#post({ jsonrpc: '2.0', id, method, params });
    const last = await answered;
    return { messages, last, result: last.result ?? {} };
  }

  /** Sends requests until the result: it answers required inputs and sends the request again with them. */
  async #requestModern(method: string, params: JsonObject, id: JsonRpcId): Promise<Reply> {
    const messages: Message[] = [];
    let more: JsonObject = {};
    let requestId = id;
    for (;;) {
      const last = await new Promise<Message>((resolve, reject) => {
        this.#waiting.set(requestId, { messages, resolve });
        this.#post({ jsonrpc: '2.0', id: requestId, method, params: this.#enveloped({ ...params, ...more }) }).catch(
          reject,
        );
      });
      if (last.result?.['resultType'] !== 'input_required') return { messages, last, result: last.result ?? {} };
      const requests = (last.result['inputRequests'] ?? {}) as Record<string, { method: string; params: JsonObject }>;
      const inputResponses = Object.fromEntries(
        Object.entries(requests).map(([key, request]) => {
          this.asked.add({ ...request, id: requestId });
          return [key, this.#options.answers[request.method]?.(request.params)];
        }),
      );
      const { requestState } = last.result;
      more = { inputResponses, ...(requestState === undefined ? {} : { requestState }) };
      requestId = this.newId();
      this.#rounds.set(id, requestId);
    }
  }

  #enveloped(params: JsonObject): JsonObject {
    return {
      ...params,
      _meta: {
        [`${prefix}clientCapabilities`]: this.#options.capabilities,
        ...(params['_meta'] as JsonObject | undefined),
        [`${prefix}protocolVersion`]: this.revision,
        ...(this.logLevel === undefined ? {} : { [`${prefix}logLevel`]: this.logLevel }),
      },
    };
  }

  /** Listens for changes of lists and of resources. @returns a function that ends it. */
  listenTo(notifications: JsonObject): () => void {
    const connection = new AbortController();
    const id = this.newId();
    void this.#postFrom(
      { jsonrpc: '2.0', id, method: 'subscriptions/listen', params: this.#enveloped({ notifications }) },
      connection.signal,
      undefined,
    ).catch(() => undefined);
    return () => connection.abort();
  }

  #listenModern(): void {
    const stop = this.listenTo({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true });
    this.#abort.signal.addEventListener('abort', stop);
  }

  /** Calls a tool; `onFirst` runs when the first message has come on its stream. */
  call(name: string, args: JsonObject = {}, more: JsonObject = {}, id?: JsonRpcId): Promise<Reply> {
    return this.request('tools/call', { name, arguments: args, ...more }, id);
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    return this.#post({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) });
  }

  /** Sends several messages in one body (2025-03-26). */
  async batch(messages: readonly { readonly method: string; readonly params?: JsonObject }[]): Promise<Message[]> {
    const response = await fetch(this.#postUrl, {
      method: 'POST',
      headers: this.#headers(),
      body: JSON.stringify(messages.map((message) => ({ jsonrpc: '2.0', id: this.newId(), ...message }))),
    });
    return (await response.json()) as Message[];
  }

  [Symbol.dispose](): void {
    this.#abort.abort();
  }

  /** Cancels one request as a client of 2026-07-28 does, by closing its stream: the current one, when it takes several rounds. */
  close(id: JsonRpcId): void {
    this.#posts.get(this.#rounds.get(id) ?? id)?.abort();
  }

  #headers(message: JsonObject = {}): Record<string, string> {
    const { method, params } = message as { readonly method?: string; readonly params?: JsonObject };
    const name = params?.['name'] ?? params?.['uri'] ?? params?.['taskId'];
    const own = this.#options.headers;
    if (this.isModern) {
      return {
        ...own,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': this.revision,
        ...(method === undefined ? {} : { 'mcp-method': method }),
        ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      };
    }
    return {
      ...own,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(this.#session === undefined ? {} : { 'mcp-session-id': this.#session }),
      ...(this.#session !== undefined && this.has('2025-06-18') ? { 'mcp-protocol-version': this.revision } : {}),
    };
  }

  async #post(message: JsonObject): Promise<void> {
    const connection = new AbortController();
    const id = message['id'] as JsonRpcId;
    this.#posts.set(id, connection);
    this.#abort.signal.addEventListener('abort', () => connection.abort());
    await this.#postFrom(message, connection.signal, id);
  }

  /** @param owner the request to which the received messages belong; undefined for those outside of requests. */
  async #postFrom(message: JsonObject, signal: AbortController['signal'], owner: JsonRpcId | undefined): Promise<void> {
    const response = await fetch(this.#postUrl, {
      method: 'POST',
      headers: this.#headers(message),
      body: JSON.stringify(message),
      signal,
    });
    if (this.isEventSource) {
      if (response.status !== 202) throw new Error(`POST answered ${response.status}: ${await response.text()}`);
      return;
    }
    this.#session ??= response.headers.get('mcp-session-id') ?? undefined;
    if (response.status === 202) return;
    if (response.headers.get('content-type') === 'application/json')
      this.#hear((await response.json()) as Message, owner);
    else this.#read(response, owner);
  }

  async #listen(headers: Readonly<Record<string, string>>): Promise<void> {
    const response = await fetch(this.#options.url, {
      headers: { ...this.#headers(), ...headers },
      signal: this.#abort.signal,
    });
    if (response.status !== 200) throw new Error(`GET answered ${response.status}`);
    this.#read(response, undefined);
  }

  async #openEventSource(): Promise<void> {
    const opened = new Heard<string>();
    const response = await fetch(this.#options.url.replace('/mcp', '/sse'), {
      headers: { accept: 'text/event-stream', ...this.#options.headers },
      signal: this.#abort.signal,
    });
    if (response.status !== 200) throw new Error(`GET answered ${response.status}`);
    this.#read(response, undefined, opened.add);
    const [endpoint] = await opened.until(1);
    this.#postUrl = new URL(endpoint as string, this.#options.url).href;
  }

  /** @param request the request of the stream. */
  #read(response: Response, request: JsonRpcId | undefined, onEndpoint?: (data: string) => void): void {
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event === 'endpoint') onEndpoint?.(data);
        else if (data !== '') this.#hear(JSON.parse(data) as Message, request);
      },
    });
    const decoder = new TextDecoder();
    const read = async (): Promise<void> => {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
        parser.feed(decoder.decode(chunk, { stream: true }));
    };
    read().catch(() => undefined);
  }

  #hear(message: Message, request: JsonRpcId | undefined): void {
    const isRequest = message.method !== undefined && message.id !== undefined;
    if (isRequest) this.#answer(message);
    const answered =
      message.method === undefined && message.id !== undefined ? this.#waiting.get(message.id) : undefined;
    if (answered !== undefined && message.id !== undefined) {
      this.#waiting.delete(message.id);
      answered.resolve(message);
      return;
    }
    // On a single stream, every message between a request and its answer may belong to the request.
    const owner =
      request === undefined
        ? this.isEventSource
          ? [...this.#waiting.values()].at(-1)
          : undefined
        : this.#waiting.get(request);
    owner?.messages.push(message);
    if (request === undefined) this.pushed.add(message);
  }

  #answer(question: Message): void {
    const answerer = this.#options.answers[question.method as string];
    const answer =
      answerer === undefined
        ? { error: { code: -32_601, message: 'not here' } }
        : { result: answerer(question.params ?? {}) };
    this.asked.add(question);
    const token = (question.params?.['_meta'] as JsonObject | undefined)?.['progressToken'];
    const said =
      token === undefined
        ? Promise.resolve()
        : this.notify('notifications/progress', { progressToken: token, progress: 1 });
    void said.then(() => this.#post({ jsonrpc: '2.0', id: question.id, ...answer })).catch(() => undefined);
  }
}

/** The capabilities of a client that supports everything of its revision. */
export function capabilitiesOf(revision: MatrixRevision): JsonObject {
  return {
    roots: { listChanged: true },
    sampling: {},
    ...(revision >= '2025-11-25'
      ? { elicitation: { form: {}, url: {} } }
      : revision >= '2025-06-18'
        ? { elicitation: {} }
        : {}),
  };
}
