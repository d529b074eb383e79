/**
 * A server that speaks exactly one revision, on a real socket, and offers all features of that revision: over Streamable HTTP, or HTTP+SSE for
 * 2024-11-05.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { Heard } from '@omnibus/bus/testing';
import { EraJobs } from './era-jobs.ts';
import { StandInServer } from '../support/stand-in-server.ts';
import {
  isObject,
  type JsonObject,
  type JsonRpcId,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@omnibus/protocol';

/** The revisions of the matrix, oldest first; they can be compared as texts. */
export const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const;
export type MatrixRevision = (typeof revisions)[number];

/** The functions that a tool can use during a call. */
interface Talk {
  readonly ask: (method: string, params: JsonObject) => Promise<JsonObject>;
  readonly notify: (method: string, params: JsonObject) => void;
  readonly cancelled: Promise<void>;
  /** Breaks the response after an event with an id; the following messages go to the client that resumes the stream. */
  readonly breakStream: () => void;
}

type Tool = (args: JsonObject, meta: JsonObject, talk: Talk) => JsonObject | Promise<JsonObject>;

class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

function unknownTask(): never {
  throw new RpcError(-32_602, 'no such task');
}

const text = (content: string): JsonObject => ({ content: [{ type: 'text', text: content }] });
const prefix = 'io.modelcontextprotocol/';
const relatedTask = `${prefix}related-task`;

/** Thrown where a tool needs input that the client has not given yet: it runs again with the input (2026-07-28). */
class InputRequired extends Error {
  readonly request: JsonObject;

  constructor(request: JsonObject) {
    super('input required');
    this.request = request;
  }
}

interface Stream {
  readonly id: string;
  response: ServerResponse | undefined;
  count: number;
  kept: string[];
}

export class EraServer extends StandInServer {
  readonly revision: MatrixRevision;
  readonly seen: { readonly method: string; readonly params: JsonObject }[] = [];
  /** Ends the wait of the tool `impatient`. */
  readonly hurried = new Heard<true>();
  /** The answers to its questions. */
  readonly answers = new Heard<JsonRpcResponse>();
  /** The capabilities that the last client declared. */
  clientCapabilities: JsonObject = {};
  /** The one stream of HTTP+SSE, or the standing GET streams. */
  readonly #standing = new Set<Stream>();
  readonly #streams = new Map<string, Stream>();
  readonly #listeners = new Set<{ readonly id: JsonRpcId; readonly wanted: JsonObject; readonly stream: Stream }>();
  readonly #questions = new Map<number, (answer: JsonRpcResponse) => void>();
  readonly #cancels = new Map<JsonRpcId, () => void>();
  readonly #tasks = new Map<
    string,
    { task: JsonObject; result: Promise<JsonObject>; ask: (talk: Talk) => Promise<void> }
  >();
  #nextQuestion = 0;
  #nextStream = 0;
  readonly #jobs = new EraJobs();
  #lastHeaders: IncomingMessage['headers'] = {};
  /** From the first call on, the tool `picky` demands that an argument is repeated in a header. */
  #wantsHeader = false;
  #wasSetLevel = false;
  #nextTask = 0;
  #sessions = 0;

  private constructor(revision: MatrixRevision) {
    super();
    this.revision = revision;
  }

  static start(revision: MatrixRevision): Promise<EraServer> {
    return new EraServer(revision).listen();
  }

  /** The address of a sign-in page. */
  get url(): string {
    return `http://127.0.0.1:${this.port}${this.isEventSource ? '/sse' : '/mcp'}`;
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

  /** Sends a message outside of requests. */
  push(method: string, params?: JsonObject): void {
    if (this.isModern) this.#tellListeners(method, params ?? {});
    for (const stream of this.#standing)
      this.#write(stream, { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) });
  }

  /** A client of 2026-07-28 receives only the notifications that it listens for. */
  #tellListeners(method: string, params: JsonObject): void {
    for (const { id, wanted, stream } of this.#listeners) {
      const kind = /^notifications\/(\w+)\/list_changed$/.exec(method)?.[1];
      const uris = (wanted['resourceSubscriptions'] ?? []) as unknown[];
      const isWanted =
        kind === undefined
          ? method === 'notifications/resources/updated' && uris.includes(params['uri'])
          : wanted[`${kind}ListChanged`] === true;
      if (isWanted)
        this.#write(stream, {
          jsonrpc: '2.0',
          method,
          params: { ...params, _meta: { [`${prefix}subscriptionId`]: id } },
        });
    }
  }

  readonly #tools: Record<
    string,
    { readonly since: MatrixRevision; readonly until?: MatrixRevision; readonly more?: JsonObject; readonly run: Tool }
  > = {
    app: {
      since: '2025-06-18',
      more: { _meta: { ui: { resourceUri: 'ui://era/app.html' } } },
      run: () => text('shown'),
    },
    echo: { since: '2024-11-05', run: ({ say }) => text(String(say)) },
    fails: { since: '2024-11-05', run: () => ({ ...text('it failed'), isError: true }) },
    progress: {
      since: '2024-11-05',
      run: (_args, { progressToken }, { notify }) => {
        for (const progress of [1, 2, 3])
          notify('notifications/progress', {
            progressToken,
            progress,
            total: 3,
            ...(this.has('2025-03-26') ? { message: `step ${progress}` } : {}),
          });
        return text('done');
      },
    },
    log: {
      since: '2024-11-05',
      run: (_args, _meta, { notify }) => {
        // An older server sends no log messages before `logging/setLevel`.
        if (!this.isModern && !this.#wasSetLevel) return text('done');
        notify('notifications/message', { level: 'debug', logger: 'era', data: 'quiet' });
        notify('notifications/message', { level: 'error', logger: 'era', data: 'loud' });
        return text('done');
      },
    },
    wait: {
      since: '2024-11-05',
      run: async ({ late }, { progressToken }, { notify, cancelled }) => {
        notify('notifications/progress', { progressToken, progress: 1 });
        await cancelled;
        if (late === true) return text('too late');
        throw new RpcError(-32_000, 'never sent');
      },
    },
    sample: {
      since: '2024-11-05',
      run: async (_args, _meta, { ask }) =>
        text(
          JSON.stringify(
            await ask('sampling/createMessage', {
              messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }],
              maxTokens: 5,
            }),
          ),
        ),
    },
    roots: {
      since: '2024-11-05',
      run: async (_args, _meta, { ask }) => text(JSON.stringify(await ask('roots/list', {}))),
    },
    'slow-question': {
      since: '2024-11-05',
      run: async (_args, _meta, { ask }) =>
        text(JSON.stringify(await ask('roots/list', { _meta: { progressToken: 'of the server' } }))),
    },
    audio: {
      since: '2025-03-26',
      run: () => ({ content: [{ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }] }),
    },
    link: { since: '2025-06-18', run: () => ({ content: [{ type: 'resource_link', uri: 'era://one', name: 'one' }] }) },
    structured: {
      since: '2025-06-18',
      more: { outputSchema: { type: 'object', properties: { n: { type: 'number' } } } },
      run: () => ({ content: [], structuredContent: { n: 7 } }),
    },
    form: {
      since: '2025-06-18',
      run: async ({ say }, _meta, { ask }) =>
        text(
          JSON.stringify(
            await ask('elicitation/create', {
              message: typeof say === 'string' ? say : 'Well?',
              requestedSchema: {
                type: 'object',
                properties: { answer: { type: 'string', ...(this.has('2025-11-25') ? { default: 'yes' } : {}) } },
                required: ['answer'],
              },
            }),
          ),
        ),
    },
    both: {
      since: '2025-06-18',
      run: async (_args, _meta, { ask }) => {
        const question = (message: string): Promise<JsonObject> =>
          ask('elicitation/create', {
            message,
            requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } },
          });
        return text(JSON.stringify(await Promise.all([question('first'), question('second')])));
      },
    },
    impatient: {
      since: '2025-06-18',
      until: '2025-11-25',
      run: async (_args, _meta, { ask, notify }) => {
        const id = this.#nextQuestion;
        void ask('elicitation/create', {
          message: 'quick!',
          requestedSchema: { type: 'object', properties: {} },
        }).catch(() => undefined);
        await this.hurried.until(1);
        notify('notifications/cancelled', { requestId: id, reason: 'too slow' });
        return text('I could not wait');
      },
    },
    visit: {
      since: '2025-11-25',
      run: async (_args, _meta, { ask }) => {
        const answer = await ask('elicitation/create', {
          mode: 'url',
          message: 'Go',
          url: 'https://example.com/go',
          ...(this.isModern ? {} : { elicitationId: 'e1' }),
        });
        if (!this.isModern) this.push('notifications/elicitation/complete', { elicitationId: 'e1' });
        return text(JSON.stringify(answer));
      },
    },
    refused: {
      since: '2025-11-25',
      until: '2025-11-25',
      run: () => {
        throw new RpcError(-32_042, 'URL elicitation required', {
          elicitations: [{ mode: 'url', elicitationId: 'e2', url: 'https://example.com/first', message: 'First' }],
        });
      },
    },
    polled: {
      since: '2025-03-26',
      until: '2025-11-25',
      run: (_args, _meta, { breakStream }) => {
        breakStream();
        return text('after the break');
      },
    },
    picky: {
      since: '2026-07-28',
      run: ({ region }) => {
        if (this.#lastHeaders['mcp-param-region'] === region) return text('as it should be');
        this.#wantsHeader = true;
        throw new RpcError(-32_020, 'Mcp-Param-Region is missing');
      },
    },
    job: {
      since: '2026-07-28',
      run: () => {
        if (!JSON.stringify(this.clientCapabilities).includes(`${prefix}tasks`))
          throw new RpcError(-32_021, 'runs as a task', {
            requiredCapabilities: { extensions: { [`${prefix}tasks`]: {} } },
          });
        return this.#jobs.create();
      },
    },
    any: {
      since: '2026-07-28',
      more: { outputSchema: { type: 'array', items: { type: 'number' } } },
      run: () => ({ content: [], structuredContent: [1, 2] }),
    },
    task: {
      since: '2025-11-25',
      until: '2025-11-25',
      more: { execution: { taskSupport: 'required' } },
      run: () => text('the result of a task'),
    },
  };

  // --- the wire ----------------------------------------------------------------------------------------------------------

  protected async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'DELETE') {
      response.writeHead(204).end();
      return;
    }
    if (request.method === 'GET' && this.isModern) {
      response.writeHead(405).end();
      return;
    }
    if (request.method === 'GET') {
      this.#open(request, response);
      return;
    }
    if (this.isEventSource && !request.url?.startsWith('/messages')) {
      response.writeHead(405).end();
      return;
    }
    const message = (await json(request)) as JsonRpcRequest;
    if (this.isEventSource) {
      response.writeHead(202).end('Accepted');
      const stream = this.#streams.get(new URL(request.url ?? '', 'http://era').searchParams.get('stream') ?? '');
      if (stream !== undefined) await this.#receive(message, stream, undefined);
      return;
    }
    if (!('id' in message) || !('method' in message)) {
      response.writeHead(202).end();
      await this.#receive(message, undefined, undefined);
      return;
    }
    const stream = this.#newStream(response);
    if (this.isModern) {
      this.#lastHeaders = request.headers;
      this.#receiveModern(message, stream, response);
      return;
    }
    if (message.method === 'initialize') {
      this.#sessions += 1;
      response.setHeader('mcp-session-id', `era-${this.#sessions}`);
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    await this.#receive(message, stream, () => stream.response?.end());
  }

  #receiveModern(message: JsonRpcRequest, stream: Stream, response: ServerResponse): void {
    const meta = (message.params?.['_meta'] ?? {}) as JsonObject;
    if (meta[`${prefix}protocolVersion`] !== this.revision) {
      response.writeHead(400, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          jsonrpc: '2.0',
          id: message.id,
          error: { code: -32_022, message: 'not supported', data: { supported: [this.revision] } },
        }),
      );
      return;
    }
    this.clientCapabilities = meta[`${prefix}clientCapabilities`] as JsonObject;
    response.once('close', () => {
      if (response.writableFinished) return;
      if (message.method !== 'subscriptions/listen')
        this.seen.push({ method: 'notifications/cancelled', params: { requestId: message.id } });
      this.#cancels.get(message.id)?.();
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    if (message.method !== 'subscriptions/listen') {
      void this.#receive(message, stream, () => stream.response?.end());
      return;
    }
    const wanted = (message.params?.['notifications'] ?? {}) as JsonObject;
    this.seen.push({ method: message.method, params: message.params ?? {} });
    this.#write(stream, {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: wanted, _meta: { [`${prefix}subscriptionId`]: message.id } },
    });
    const listening = { id: message.id, wanted, stream };
    this.#listeners.add(listening);
    response.once('close', () => this.#listeners.delete(listening));
    for (const uri of (wanted['resourceSubscriptions'] ?? []) as string[])
      this.push('notifications/resources/updated', { uri });
  }

  #open(request: IncomingMessage, response: ServerResponse): void {
    const after = request.headers['last-event-id'];
    if (typeof after === 'string') {
      const [id = '', seen] = after.split('.');
      const stream = this.#streams.get(id);
      if (stream === undefined) {
        response.writeHead(400).end();
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      stream.response = response;
      for (const event of stream.kept.slice(Number(seen))) response.write(event);
      return;
    }
    const stream = this.#newStream(response);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    this.#standing.add(stream);
    response.once('close', () => this.#standing.delete(stream));
    if (this.isEventSource) response.write(`event: endpoint\ndata: /messages?stream=${stream.id}\n\n`);
  }

  #newStream(response: ServerResponse): Stream {
    this.#nextStream += 1;
    const stream: Stream = { id: `s${this.#nextStream}`, response, count: 0, kept: [] };
    this.#streams.set(stream.id, stream);
    return stream;
  }

  #write(stream: Stream, message: JsonObject): void {
    stream.count += 1;
    const id = this.has('2025-03-26') && !this.isModern ? `id: ${stream.id}.${stream.count}\n` : '';
    const event = `${id}event: message\ndata: ${JSON.stringify(message)}\n\n`;
    stream.kept.push(event);
    stream.response?.write(event);
  }

  // --- messages ------------------------------------------------------------------------------------------------------------

  async #receive(
    message: JsonRpcRequest | JsonRpcResponse,
    stream: Stream | undefined,
    done: (() => void) | undefined,
  ): Promise<void> {
    if (!('method' in message)) {
      this.answers.add(message);
      this.#questions.get(Number(message.id))?.(message);
      this.#questions.delete(Number(message.id));
      return;
    }
    const { id, method, params = {} } = message;
    this.seen.push({ method, params });
    if (method === 'logging/setLevel') this.#wasSetLevel = true;
    if (id === undefined || stream === undefined) {
      if (method === 'notifications/cancelled') this.#cancels.get(params['requestId'] as JsonRpcId)?.();
      return;
    }
    const talk = this.#talkOf(id, params, stream);
    try {
      const result = await this.#serve(method, params, talk);
      const cached = /list$|read$|discover$/.test(method) ? { ttlMs: 0, cacheScope: 'public' } : {};
      this.#write(stream, {
        jsonrpc: '2.0',
        id,
        result: this.isModern ? { resultType: 'complete', ...cached, ...result } : result,
      });
    } catch (error) {
      if (error instanceof InputRequired) {
        this.#write(stream, {
          jsonrpc: '2.0',
          id,
          result: { resultType: 'input_required', inputRequests: { asked: error.request }, requestState: 'as it was' },
        });
        done?.();
        return;
      }
      const { code, message: problem, data } = error instanceof RpcError ? error : new RpcError(-32_603, String(error));
      if (problem !== 'never sent')
        this.#write(stream, {
          jsonrpc: '2.0',
          id,
          error: { code, message: problem, ...(data === undefined ? {} : { data }) },
        });
    }
    this.#cancels.delete(id);
    done?.();
  }

  /** What a tool may do while it runs. */
  #talkOf(id: JsonRpcId, params: JsonObject, stream: Stream): Talk {
    return {
      ask: (asked, question) =>
        this.isModern ? this.#given(params, asked, question) : this.#ask(stream, asked, question),
      notify: (name, content) => {
        // Log messages are sent only to clients that requested them with the request.
        const isWanted =
          !this.isModern ||
          name !== 'notifications/message' ||
          ((params['_meta'] ?? {}) as JsonObject)[`${prefix}logLevel`] !== undefined;
        if (isWanted) this.#write(stream, { jsonrpc: '2.0', method: name, params: content });
      },
      cancelled: new Promise((resolve) => this.#cancels.set(id, resolve)),
      breakStream: () => {
        this.#write(stream, {
          jsonrpc: '2.0',
          method: 'notifications/message',
          params: { level: 'debug', data: 'about to break' },
        });
        stream.response?.write('retry: 10\n\n');
        stream.response?.end();
        stream.response = undefined;
      },
    };
  }

  /** The input of the client, or a result that requires it. */
  #given(params: JsonObject, method: string, question: JsonObject): Promise<JsonObject> {
    const responses = params['inputResponses'];
    if (!isObject(responses)) return Promise.reject(new InputRequired({ method, params: question }));
    if (params['requestState'] !== 'as it was')
      return Promise.reject(new RpcError(-32_602, 'the state came back changed'));
    return Promise.resolve(responses['asked'] as JsonObject);
  }

  #ask(stream: Stream, method: string, params: JsonObject): Promise<JsonObject> {
    const id = this.#nextQuestion;
    this.#nextQuestion += 1;
    return new Promise((resolve, reject) => {
      this.#questions.set(id, ({ result, error }) =>
        result === undefined ? reject(new RpcError(error?.code ?? 0, `refused: ${error?.message}`)) : resolve(result),
      );
      this.#write(stream, { jsonrpc: '2.0', id, method, params });
    });
  }

  async #serve(method: string, params: JsonObject, talk: Talk): Promise<JsonObject> {
    switch (method) {
      case 'server/discover':
        if (!this.isModern) throw new RpcError(-32_601, `Method not found: ${method}`);
        return {
          supportedVersions: [this.revision],
          capabilities: this.#capabilities(),
          instructions: `I am ${this.revision}`,
        };
      case 'initialize':
        this.clientCapabilities = params['capabilities'] as JsonObject;
        return {
          protocolVersion: this.revision,
          capabilities: this.#capabilities(),
          serverInfo: { name: 'era', version: this.revision },
          instructions: `I am ${this.revision}`,
        };
      case 'ping':
      case 'logging/setLevel':
        return {};
      case 'tools/list':
        return { tools: this.#listed() };
      case 'tools/call':
        return this.#call(params, talk);
      case 'prompts/list':
        return { prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }] }] };
      case 'prompts/get':
        return {
          messages: [
            {
              role: 'user',
              content: { type: 'text', text: `Hello, ${String((params['arguments'] as JsonObject)['who'])}` },
            },
          ],
        };
      case 'resources/list':
        return { resources: [{ uri: `era-${this.revision}://one`, name: 'one' }] };
      case 'resources/templates/list':
        return { resourceTemplates: [{ uriTemplate: `era-${this.revision}://item/{id}`, name: 'item' }] };
      case 'resources/read':
        if (String(params['uri']).endsWith('missing'))
          throw new RpcError(this.isModern ? -32_602 : -32_002, 'Resource not found', { uri: params['uri'] });
        return { contents: [{ uri: params['uri'], text: `content of ${String(params['uri'])}` }] };
      case 'resources/subscribe':
        this.push('notifications/resources/updated', { uri: params['uri'] });
        return {};
      case 'resources/unsubscribe':
        return {};
      case 'completion/complete':
        return { completion: { values: [`${String((params['argument'] as JsonObject)['value'])}!`] } };
      default:
        return this.#serveExtension(method, params, talk);
    }
  }

  #listed(): JsonObject[] {
    return Object.entries(this.#tools)
      .filter(([, tool]) => this.#offers(tool))
      .map(([name, { more }]) => ({
        name,
        description: name,
        inputSchema:
          name === 'picky' && this.#wantsHeader
            ? { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }
            : { type: 'object' },
        ...more,
      }));
  }

  /** The methods of extensions. */
  async #serveExtension(method: string, params: JsonObject, talk: Talk): Promise<JsonObject> {
    if (method.startsWith('tasks/') && this.isModern) return { ...(this.#jobs.serve(method, params) ?? unknownTask()) };
    if (method === 'skills/list' && this.isModern)
      return {
        skills: [{ uri: 'skill://era/greeting/SKILL.md', frontmatter: { name: 'greeting' }, resources: 'dynamic' }],
      };
    if (method === 'skills/get' && this.isModern) return { uri: params['uri'], frontmatter: { name: 'greeting' } };
    if (method.startsWith('tasks/') && this.revision === '2025-11-25') return this.#serveTask(method, params, talk);
    throw new RpcError(-32_601, `Method not found: ${method}`);
  }

  #offers({ since, until }: { readonly since: MatrixRevision; readonly until?: MatrixRevision }): boolean {
    return this.has(since) && (until === undefined || this.revision <= until);
  }

  #capabilities(): JsonObject {
    return {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
      ...(this.has('2025-03-26') ? { completions: {} } : {}),
      ...(this.isModern
        ? { extensions: { [`${prefix}tasks`]: {}, [`${prefix}skills`]: {}, [`${prefix}ui`]: {} } }
        : {}),
      ...(this.revision === '2025-11-25' ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } } : {}),
    };
  }

  #call(params: JsonObject, talk: Talk): JsonObject | Promise<JsonObject> {
    const name = String(params['name']);
    const tool = this.#tools[name];
    if (tool === undefined || !this.#offers(tool)) throw new RpcError(-32_602, `Unknown tool: ${name}`);
    const args = (params['arguments'] ?? {}) as JsonObject;
    const meta = (params['_meta'] ?? {}) as JsonObject;
    if (name !== 'task') return tool.run(args, meta, talk);
    if (!isObject(params['task'])) throw new RpcError(-32_601, 'this tool runs as a task');
    return this.#createTask(tool.run(args, meta, talk) as JsonObject);
  }

  /** A task that asks one question when its result is fetched, as the reference server does. */
  #createTask(result: JsonObject): JsonObject {
    this.#nextTask += 1;
    const taskId = `task-${this.#nextTask}`;
    const now = new Date().toISOString();
    const task = {
      taskId,
      status: 'input_required',
      createdAt: now,
      lastUpdatedAt: now,
      ttl: 60_000,
      pollInterval: 10,
    };
    const finish = Promise.withResolvers<JsonObject>();
    this.#tasks.set(taskId, {
      task,
      result: finish.promise,
      ask: async ({ ask }) => {
        const known = this.#tasks.get(taskId);
        if (known === undefined || known.task['status'] !== 'input_required') return;
        const answer = await ask('roots/list', { _meta: { [relatedTask]: { taskId } } });
        known.task = { ...known.task, status: 'completed' };
        this.push('notifications/tasks/status', known.task);
        finish.resolve({ ...result, answer, _meta: { [relatedTask]: { taskId } } });
      },
    });
    this.push('notifications/tasks/status', task); // Sent before the answer that creates the task, as the reference server does.
    return { task };
  }

  async #serveTask(method: string, params: JsonObject, talk: Talk): Promise<JsonObject> {
    if (method === 'tasks/list') return { tasks: [...this.#tasks.values()].map(({ task }) => task) };
    const known = this.#tasks.get(String(params['taskId']));
    if (known === undefined) throw new RpcError(-32_602, 'no such task');
    if (method === 'tasks/get') return known.task;
    if (method === 'tasks/cancel') {
      if (known.task['status'] !== 'input_required') throw new RpcError(-32_602, 'the task has ended');
      known.task = { ...known.task, status: 'cancelled' };
      return known.task;
    }
    await known.ask(talk);
    return known.result;
  }
}
