/**
 * One client for both ways to a server, directly over its transport or through the gateway, so that any difference between two answers is caused by the
 * gateway. It reads messages as they were sent, without an SDK that could add or remove members.
 */
import { once } from 'node:events';
import { createParser } from 'eventsource-parser';
import { Heard as Log } from '@omnibus/bus/testing';
import type { JsonObject } from '@omnibus/protocol';
import type { Message } from '../support/raw-client.ts';
import { startProcess } from '../support/processes.ts';

export const revisions = { legacy: '2025-11-25', modern: '2026-07-28' } as const;
export type Era = keyof typeof revisions;

/** The address of a server, or the command that starts it. */
export type Target =
  | { readonly url: string }
  | { readonly command: string; readonly args: readonly string[]; readonly env?: Readonly<Record<string, string>> };

/** An answer, and the messages before it on the same stream. */
export interface Heard {
  readonly answer: Message;
  readonly before: readonly Message[];
}

/** The capability that a client must declare for each question. */
const capabilityOf: Readonly<Record<string, string>> = {
  'roots/list': 'roots',
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
};

/** Answers in the place of a user, a model, and the client's settings. */
function answerTo({ method, params }: Message): JsonObject {
  switch (method) {
    case 'roots/list':
      return { roots: [] };
    case 'sampling/createMessage':
      return {
        role: 'assistant',
        content: { type: 'text', text: 'a model said this' },
        model: 'none',
        stopReason: 'endTurn',
      };
    case 'elicitation/create': {
      const properties = ((params?.['requestedSchema'] as JsonObject | undefined)?.['properties'] ?? {}) as Record<
        string,
        JsonObject
      >;
      return {
        action: 'accept',
        content: Object.fromEntries(
          Object.entries(properties).flatMap(([name, { type }]) =>
            type === 'string' ? [[name, 'a person said this']] : [],
          ),
        ),
      };
    }
    default:
      return {};
  }
}

/** Programs in Python may take half a minute to start on a busy machine. */
const limitMs = 120_000;
const prefix = 'io.modelcontextprotocol/';

interface Wire {
  send(message: Message): Promise<void>;
  close(): Promise<void>;
}

export class Speaker {
  readonly era: Era;
  readonly capabilities: JsonObject;
  readonly #wire: Wire;
  readonly #waiting = new Map<unknown, { readonly before: Message[]; answered(answer: Message): void }>();
  #nextId = 0;
  /** All log messages. */
  readonly logs = new Log<Message>();
  /** The answer to `initialize`, or to `server/discover`. */
  opening: Message = {};

  private constructor(target: Target, era: Era, capabilities: JsonObject) {
    this.era = era;
    this.capabilities = capabilities;
    const hear = (message: Message): void => this.#hear(message);
    this.#wire = 'url' in target ? new HttpWire(target.url, hear) : new StdioWire(target, hear);
  }

  /** Whether the server speaks the era of the connection. */
  get isUnderstood(): boolean {
    const { supportedVersions } = this.opening.result ?? {};
    return (
      this.opening.result !== undefined &&
      (!Array.isArray(supportedVersions) || supportedVersions.includes(revisions[this.era]))
    );
  }

  /** Initializes the connection; in the newer era, asks for the server's capabilities (`server/discover`). */
  static async open(target: Target, era: Era, capabilities: JsonObject = {}): Promise<Speaker> {
    const speaker = new Speaker(target, era, capabilities);
    if (era === 'modern') speaker.opening = (await speaker.request('server/discover')).answer;
    else {
      const { answer } = await speaker.request('initialize', {
        protocolVersion: revisions.legacy,
        capabilities,
        clientInfo: { name: 'speaker', version: '1' },
      });
      speaker.opening = answer;
      await speaker.#wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    }
    return speaker;
  }

  async request(method: string, params: JsonObject = {}): Promise<Heard> {
    const heard = await this.#once(method, params);
    const { resultType, inputRequests, requestState } = heard.answer.result ?? {};
    if (resultType !== 'input_required') return heard;
    const questions = Object.entries((inputRequests ?? {}) as Record<string, Message>);
    const inputResponses = Object.fromEntries(questions.map(([key, question]) => [key, answerTo(question)]));
    const { answer, before } = await this.request(method, {
      ...params,
      inputResponses,
      ...(requestState === undefined ? {} : { requestState }),
    });
    return { answer, before: [...heard.before, ...questions.map(([, question]) => question), ...before] };
  }

  async #once(method: string, params: JsonObject): Promise<Heard> {
    this.#nextId += 1;
    const id = this.#nextId;
    const { promise, resolve, reject } = Promise.withResolvers<Heard>();
    const before: Message[] = [];
    this.#waiting.set(id, { before, answered: (answer) => resolve({ answer, before }) });
    const limit = setTimeout(
      () => reject(new Error(`${method} ${JSON.stringify(params)} was not answered in ${limitMs / 1_000} s`)),
      limitMs,
    );
    const given =
      this.era === 'modern'
        ? { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), ...this.#envelope() } }
        : params;
    this.#wire.send({ jsonrpc: '2.0', id, method, params: given }).catch(reject);
    try {
      return await promise;
    } finally {
      clearTimeout(limit);
      this.#waiting.delete(id);
    }
  }

  #envelope(): JsonObject {
    return {
      [`${prefix}protocolVersion`]: revisions.modern,
      [`${prefix}clientCapabilities`]: this.capabilities,
      [`${prefix}clientInfo`]: { name: 'speaker', version: '1' },
    };
  }

  #hear(message: Message): void {
    if (message.method === undefined) this.#waiting.get(message.id)?.answered(message);
    else {
      if (message.method === 'notifications/message') this.logs.add(message);
      // One request is open at a time, so every message belongs to it.
      for (const { before } of this.#waiting.values()) before.push(message);
      if (message.id === undefined) return;
      const needed = capabilityOf[message.method];
      const isServed = needed === undefined || needed in this.capabilities;
      void this.#wire.send({
        jsonrpc: '2.0',
        id: message.id,
        ...(isServed ? { result: answerTo(message) } : { error: { code: -32_601, message: 'Method not found' } }),
      });
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#wire.close();
  }
}

class StdioWire implements Wire {
  readonly #process;

  constructor({ command, args, env }: Exclude<Target, { url: string }>, hear: (message: Message) => void) {
    this.#process = startProcess(command, args, env, 'pipe');
    let rest = '';
    this.#process.child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() as string;
      for (const line of lines) if (line.startsWith('{')) hear(JSON.parse(line) as Message);
    });
  }

  async send(message: Message): Promise<void> {
    const { stdin } = this.#process.child;
    if (stdin?.write(`${JSON.stringify(message)}\n`) === false) await once(stdin, 'drain');
  }

  close(): Promise<void> {
    this.#process.child.stdin?.end();
    return this.#process[Symbol.asyncDispose]();
  }
}

class HttpWire implements Wire {
  readonly #url: string;
  readonly #hear: (message: Message) => void;
  readonly #end = new AbortController();
  readonly #headers: Record<string, string> = {};

  constructor(url: string, hear: (message: Message) => void) {
    this.#url = url;
    this.#hear = hear;
  }

  async send(message: Message): Promise<void> {
    const { method, params } = message;
    const isModern = params?.['_meta'] !== undefined && `${prefix}protocolVersion` in (params['_meta'] as JsonObject);
    const name = params?.['name'] ?? params?.['uri'] ?? params?.['taskId'];
    // Header values are ASCII, so other names are encoded (2026-07-28 transports, Encoding).
    const encoded =
      typeof name === 'string' && /[^\x21-\x7e ]/.test(name)
        ? `=?base64?${Buffer.from(name).toString('base64')}?=`
        : name;
    const modern = {
      'mcp-protocol-version': revisions.modern,
      'mcp-method': method ?? '',
      ...(typeof encoded === 'string' ? { 'mcp-name': encoded } : {}),
    };
    const response = await fetch(this.#url, {
      method: 'POST',
      signal: this.#end.signal,
      body: JSON.stringify(message),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(isModern ? modern : this.#headers),
      },
    });
    const session = response.headers.get('mcp-session-id');
    if (method === 'initialize')
      Object.assign(
        this.#headers,
        { 'mcp-protocol-version': revisions.legacy },
        session === null ? {} : { 'mcp-session-id': session },
      );
    if (method === 'notifications/initialized' && 'mcp-session-id' in this.#headers) void this.#standing();
    if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
      const text = await response.text();
      if (text.startsWith('{')) this.#hear(JSON.parse(text) as Message);
      else if (message.id !== undefined && method !== undefined)
        this.#hear({
          id: message.id,
          error: { code: 0, message: `no JSON-RPC, but HTTP ${response.status}: ${text}` },
        });
      return;
    }
    // The stream ends after the answer; questions on it are answered while it is read.
    await this.#read(response);
  }

  async #standing(): Promise<void> {
    const response = await fetch(this.#url, {
      headers: { accept: 'text/event-stream', ...this.#headers },
      signal: this.#end.signal,
    }).catch(() => undefined);
    if (response?.status === 200) await this.#read(response).catch(() => undefined);
  }

  async #read(response: Response): Promise<void> {
    const parser = createParser({
      onEvent: ({ data }) => (data === '' ? undefined : this.#hear(JSON.parse(data) as Message)),
    });
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
      parser.feed(decoder.decode(chunk, { stream: true }));
  }

  async close(): Promise<void> {
    if ('mcp-session-id' in this.#headers)
      await fetch(this.#url, { method: 'DELETE', headers: this.#headers }).catch(() => undefined);
    this.#end.abort();
  }
}
