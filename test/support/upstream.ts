/**
 * A Streamable HTTP server that a test controls: it speaks the real protocol on a real socket, and the test decides what its tools do, when it announces
 * a change, and when it is unavailable.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Heard } from '@omnibus/bus/testing';
import { isCustomMethod, type JsonObject, type JsonRpcId, type JsonRpcRequest } from '@omnibus/protocol';

export interface Call {
  readonly name: string;
  readonly args: JsonObject;
  readonly meta: JsonObject;
  readonly session: string;
  progress(progress: number, total?: number): void;
  log(level: string, data: unknown): void;
  answer(result: JsonObject): void;
  fail(code: number, message: string, data?: JsonObject): void;
  /** Ends the connection without an answer. */
  drop(): void;
}

export interface UpstreamOptions {
  readonly tools?: readonly JsonObject[];
  readonly resources?: readonly JsonObject[];
  readonly prompts?: readonly JsonObject[];
  /** Handles a tool call; default: answers with its arguments as text. */
  readonly onCall?: (call: Call) => void;
  /** Handles other methods; undefined for the default answer. */
  readonly onRequest?: (request: JsonRpcRequest) => JsonObject | undefined;
  /** The HTTP status with which a call is refused; undefined when it is accepted. */
  readonly refuses?: (name: string) => number | undefined;
  /** Hears the parameters of each `initialize`. */
  readonly onInitialize?: (params: JsonObject) => void;
  readonly protocolVersion?: string;
  readonly capabilities?: JsonObject;
  readonly port?: number;
  /** Milliseconds that an idle connection stays open; default: Node's. */
  readonly keepAliveMs?: number;
  /** Requests other than calls that are never answered. */
  readonly ignores?: (request: JsonRpcRequest) => boolean;
  /** The HTTP status with which a request other than a call is refused. */
  readonly refusesRequest?: (request: JsonRpcRequest) => number | undefined;
  /** The HTTP status for a request without a session id; default: 404. */
  readonly strangeStatus?: number;
}

export const tool = (name: string): JsonObject => ({ name, description: name, inputSchema: { type: 'object' } });
export const text = (content: string): JsonObject => ({ content: [{ type: 'text', text: content }] });

export class Upstream {
  /** Tool calls, in the order of arrival. */
  readonly calls = new Heard<Call>();
  readonly cancelled = new Heard<{ readonly requestId: JsonRpcId; readonly reason: string }>();
  readonly initialized = new Heard<string>();
  readonly requests: JsonRpcRequest[] = [];
  /** Answered requests, to wait for. */
  readonly answered = new Heard<JsonRpcRequest>();
  /** For a test's own use. */
  readonly looked = new Heard<Call>();
  /** Standing streams that were opened. */
  readonly listening = new Heard<string>();
  /** Received values of the header `Authorization`. */
  readonly authorizations = new Set<string | undefined>();
  tools: readonly JsonObject[];
  #options: UpstreamOptions;
  #server: Server | undefined;
  #port = 0;
  #sessions = new Set<string>();
  readonly #standing = new Map<ServerResponse, string>();
  #count = 0;

  private constructor(options: UpstreamOptions) {
    this.#options = options;
    this.tools = options.tools ?? [tool('echo')];
  }

  static async start(options: UpstreamOptions = {}): Promise<Upstream> {
    const upstream = new Upstream(options);
    await upstream.listen();
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  async listen(): Promise<void> {
    this.#server = createServer((request, response) => void this.#handle(request, response));
    if (this.#options.keepAliveMs !== undefined) this.#server.keepAliveTimeout = this.#options.keepAliveMs;
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Stops: connections break, and new ones are refused. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.closeAllConnections();
    await server[Symbol.asyncDispose]();
    this.#sessions.clear();
  }

  /** Forgets its sessions, as a restarted server does, and continues to serve. */
  forgetSessions(): void {
    this.#sessions.clear();
    for (const response of this.#standing.keys()) response.end();
  }

  /** Sends a notification on the standing stream. */
  notify(method: string, params: JsonObject = {}): void {
    for (const response of this.#standing.keys()) writeEvent(response, { jsonrpc: '2.0', method, params });
  }

  /** Sends a request on the standing stream of one of its sessions; the answer is in `requests`. */
  ask(session: string, id: JsonRpcId, method: string, params: JsonObject = {}): void {
    for (const [response, of] of this.#standing)
      if (of === session) writeEvent(response, { jsonrpc: '2.0', id, method, params });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = request.headers['mcp-session-id'];
    this.authorizations.add(request.headers.authorization);
    if (request.method === 'GET') {
      if (typeof session !== 'string' || !this.#sessions.has(session)) {
        response.writeHead(404).end();
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      this.#standing.set(response, session);
      this.listening.add(session);
      response.once('close', () => this.#standing.delete(response));
      return;
    }
    if (request.method === 'DELETE') {
      this.#sessions.delete(String(session));
      response.writeHead(204).end();
      return;
    }
    const message = (await json(request)) as JsonRpcRequest;
    if (message.method === 'initialize') {
      this.#initialize(message, response);
      return;
    }
    if (typeof session !== 'string' || !this.#sessions.has(session)) {
      response.writeHead(session === undefined ? (this.#options.strangeStatus ?? 404) : 404).end();
      return;
    }
    if (message.id === undefined) {
      if (message.method === 'notifications/cancelled')
        this.cancelled.add(message.params as { requestId: JsonRpcId; reason: string });
      response.writeHead(202).end();
      return;
    }
    this.requests.push(message);
    this.answered.add(message);
    if (message.method === 'tools/call') this.#call(message, session, response);
    else this.#answer(message, response);
  }

  #initialize({ id, params }: JsonRpcRequest, response: ServerResponse): void {
    this.#options.onInitialize?.(params ?? {});
    this.#count += 1;
    const session = `upstream-session-${this.#count}`;
    this.#sessions.add(session);
    const result = {
      protocolVersion: this.#options.protocolVersion ?? params?.['protocolVersion'],
      capabilities: {
        tools: { listChanged: true },
        ...(this.#options.resources === undefined ? {} : { resources: { subscribe: true } }),
        ...(this.#options.prompts === undefined ? {} : { prompts: {} }),
        ...this.#options.capabilities,
      },
      serverInfo: { name: 'scripted', version: '1' },
    };
    response
      .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    this.initialized.add(session);
  }

  #answer(message: JsonRpcRequest, response: ServerResponse): void {
    if (this.#options.ignores?.(message) === true) return;
    const refused = this.#options.refusesRequest?.(message);
    if (refused !== undefined) {
      response.writeHead(refused).end();
      return;
    }
    const usual: Record<string, JsonObject> = {
      'tools/list': { tools: this.tools },
      'resources/list': { resources: this.#options.resources ?? [] },
      'resources/templates/list': { resourceTemplates: [] },
      'prompts/list': { prompts: this.#options.prompts ?? [] },
      'resources/read': {
        contents: [{ uri: message.params?.['uri'], text: `content of ${String(message.params?.['uri'])}` }],
      },
    };
    const result = this.#options.onRequest?.(message) ?? usual[message.method];
    const answer =
      result === undefined && isCustomMethod(message.method)
        ? { error: { code: -32_601, message: 'no such method' } }
        : { result: result ?? {} };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }));
  }

  #call({ id, params }: JsonRpcRequest, session: string, response: ServerResponse): void {
    const refused = this.#options.refuses?.(String(params?.['name']));
    if (refused !== undefined) {
      response.writeHead(refused).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const meta = (params?.['_meta'] ?? {}) as JsonObject;
    const send = (message: JsonObject): void => writeEvent(response, { jsonrpc: '2.0', ...message });
    const finish = (message: JsonObject): void => {
      send({ id, ...message });
      response.end();
    };
    const call: Call = {
      name: String(params?.['name']),
      args: (params?.['arguments'] ?? {}) as JsonObject,
      meta,
      session,
      progress: (progress, total) =>
        send({ method: 'notifications/progress', params: { progressToken: meta['progressToken'], progress, total } }),
      log: (level, data) => send({ method: 'notifications/message', params: { level, data } }),
      answer: (result) => finish({ result }),
      fail: (code, message, data) => finish({ error: { code, message, ...(data === undefined ? {} : { data }) } }),
      drop: () => response.destroy(),
    };
    this.calls.add(call);
    (this.#options.onCall ?? ((each: Call) => each.answer(text(JSON.stringify(each.args)))))(call);
  }
}

function writeEvent(response: ServerResponse, message: JsonObject): void {
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}
