/**
 * A server of either era that sends, on the stream of a call, exactly the messages in the call's arguments, so that a test can send a message through the
 * gateway and compare it at the other end. It keeps all received messages.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Heard } from '@omnibus/bus/testing';
import type { JsonObject, JsonRpcId } from '@omnibus/protocol';
import type { Message } from './raw-client.ts';
import { StandInServer } from './stand-in-server.ts';

export interface SpeakerOptions {
  readonly isModern?: boolean;
  readonly capabilities?: JsonObject;
  readonly prompts?: readonly JsonObject[];
  /** The result of a method that no revision defines; undefined where the server does not support it either. */
  readonly custom?: (method: string, params: JsonObject) => JsonObject | undefined;
}

const modernRevision = '2026-07-28';

/** Arguments of the tool `say`: messages before its result, each with the call's progress token in place of `$token`. */
export interface SayArguments extends JsonObject {
  readonly messages?: readonly JsonObject[];
  readonly result?: JsonObject;
  /** Whether it never answers. */
  readonly holds?: boolean;
  /** The id of a question in the messages; it waits for the answer and returns it. */
  readonly asks?: JsonRpcId;
}

export class Speaker extends StandInServer {
  /** Requests, notifications and answers, in the order of arrival. */
  readonly heard = new Heard<Message>();
  /** Calls with streams that their reader closed. */
  readonly closed = new Heard<JsonRpcId>();
  /** What happens after each message that comes before a result. */
  between: (() => Promise<void>) | undefined;
  readonly #options: SpeakerOptions;
  readonly #standing = new Set<ServerResponse>();

  private constructor(options: SpeakerOptions) {
    super();
    this.#options = options;
  }

  static start(options: SpeakerOptions = {}): Promise<Speaker> {
    return new Speaker(options).listen();
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  /** The latest message of a method. */
  latest(method: string): Message | undefined {
    return this.heard.values.findLast((message) => message.method === method);
  }

  /** Sends a message on every standing stream. */
  announce(message: JsonObject): void {
    for (const response of this.#standing) write(response, message);
  }

  protected handle(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method === 'POST') this.#hear(JSON.parse(Buffer.concat(chunks).toString()) as Message, response);
      else this.#stand(request.method === 'GET', response);
    });
  }

  #stand(isGet: boolean, response: ServerResponse): void {
    if (!isGet || this.#options.isModern === true) {
      response.writeHead(405).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    this.#standing.add(response);
    response.once('close', () => this.#standing.delete(response));
  }

  #hear(message: Message, response: ServerResponse): void {
    const { isModern = false, capabilities = {}, prompts, custom } = this.#options;
    const { id, method, params = {} } = message;
    this.heard.add(message);
    if (id === undefined || method === undefined) {
      response.writeHead(202).end();
      return;
    }
    const answer = (result: JsonObject): void =>
      reply(response, { id, result: isModern ? { resultType: 'complete', ...result } : result });
    const offered = { tools: {}, ...(prompts === undefined ? {} : { prompts: {} }), ...capabilities };
    if (method === 'initialize' && !isModern)
      answer({ protocolVersion: '2025-11-25', capabilities: offered, serverInfo: { name: 'speaker', version: '1' } });
    else if (method === 'server/discover' && isModern)
      answer({ supportedVersions: [modernRevision], capabilities: offered, ttlMs: 0, cacheScope: 'private' });
    else if (method === 'tools/list')
      answer({
        tools: ['say', 'other'].map((name) => ({ name, inputSchema: { type: 'object' } })),
        ...(isModern ? { ttlMs: 0, cacheScope: 'private' } : {}),
      });
    else if (method === 'prompts/list') answer({ prompts, ...(isModern ? { ttlMs: 0, cacheScope: 'private' } : {}) });
    else if (method === 'prompts/get') answer({ messages: [] });
    else if (method === 'ping' && !isModern) answer({});
    else if (method === 'tools/call' || method === 'subscriptions/listen') void this.#say(id, params, response);
    else {
      const result = custom?.(method, params);
      if (result === undefined)
        reply(response, { id, error: { code: -32_601, message: `no ${method} here` } }, isModern ? 404 : 200);
      else answer(result);
    }
  }

  async #say(id: JsonRpcId, { arguments: given, _meta }: JsonObject, response: ServerResponse): Promise<void> {
    const { messages = [], result = { content: [] }, holds = false, asks } = (given ?? { holds: true }) as SayArguments;
    const token = JSON.stringify((_meta as JsonObject | undefined)?.['progressToken'] ?? null);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    response.once('close', () => {
      if (!response.writableFinished) this.closed.add(id);
    });
    for (const message of messages) {
      write(response, JSON.parse(JSON.stringify(message).replaceAll('"$token"', token)) as JsonObject);
      await this.between?.();
    }
    if (holds) return;
    const asked =
      asks === undefined
        ? undefined
        : await this.heard.untilSome((message) => message.id === asks && message.method === undefined);
    const whole =
      asked === undefined ? result : { content: [], structuredContent: { result: asked.result, error: asked.error } };
    write(response, { id, result: this.#options.isModern === true ? { resultType: 'complete', ...whole } : whole });
    response.end();
  }
}

function reply(response: ServerResponse, message: JsonObject, status = 200): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

function write(response: ServerResponse, message: JsonObject): void {
  if (!response.writableEnded) response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
}
