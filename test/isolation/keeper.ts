/**
 * A server that stores what clients send, and repeats it wherever the protocol allows: results, errors, progress, log messages, questions, resources,
 * tasks, completions, cursors. One keeper serves one connection of one revision; the transport belongs to its host (`keeper-hosts.ts`,
 * `fixtures/keeper-stdio.ts`). It checks that a question is answered by the client that it concerns.
 */
import {
  isObject,
  type JsonObject,
  type JsonRpcId,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@omnibus/protocol';
import { secretsIn, type Secret } from './markers.ts';

export type KeeperRevision = '2024-11-05' | '2025-06-18' | '2025-11-25' | '2026-07-28';
export type Send = (message: JsonObject) => void;

/** An observation that only a server can make. */
export type Note = { readonly connection: string } & (
  | { readonly kind: 'open'; readonly capabilities: JsonObject }
  /** The first message with a client's secret on this connection. */
  | { readonly kind: 'secret'; readonly secret: Secret }
  /** The answer to a question outside of calls. */
  | { readonly kind: 'later'; readonly marker: string; readonly answer: string }
  /** A message with a client's secret came with that user's token. */
  | { readonly kind: 'account'; readonly secret: Secret; readonly user: string }
  /** A client's roots were read over this connection: from then on, secrets of its users are observed again. */
  | { readonly kind: 'roots' }
  | { readonly kind: 'wrong answer'; readonly marker: string; readonly answer: string }
);

/** The state that all connections of one server share, as with real servers. */
export class KeeperStore {
  readonly tasks = new Map<
    string,
    { task: JsonObject; readonly marker: string; inputRequests?: JsonObject | undefined; result?: JsonObject }
  >();
  readonly #shown = new Set<Send>();

  /** Subscribes a connection to notifications about resources. */
  join(send: Send): () => void {
    this.#shown.add(send);
    return () => this.#shown.delete(send);
  }

  announce(uri: string): void {
    for (const send of this.#shown) send({ uri });
  }

  nextTask(): string {
    return `task-${this.tasks.size + 1}`;
  }
}

export interface KeeperOptions {
  readonly revision: KeeperRevision;
  readonly connection: string;
  readonly store: KeeperStore;
  readonly note: (note: Note) => void;
  /** Sends messages that belong to no request. */
  readonly standing: Send;
}

interface Tool {
  readonly since?: KeeperRevision;
  readonly until?: KeeperRevision;
  readonly more?: JsonObject;
}

const prefix = 'io.modelcontextprotocol/';
const tools: Readonly<Record<string, Tool>> = {
  echo: {},
  talk: {},
  fail: {},
  ask: {},
  touch: {},
  count: {},
  wait: {},
  later: {},
  task: { since: '2025-11-25', until: '2025-11-25', more: { execution: { taskSupport: 'optional' } } },
  job: { since: '2026-07-28' },
};

class Refused extends Error {
  readonly code: number;
  readonly data: JsonObject | undefined;

  constructor(code: number, message: string, data?: JsonObject) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The client must repeat the request with the answer (2026-07-28). */
class Wanted extends Error {
  readonly request: JsonObject;

  constructor(request: JsonObject) {
    super('wanted');
    this.request = request;
  }
}

/** After this time, the call that caused a question has ended. */
const laterMs = 50;

/** A moment in which other calls can be processed. */
const moment = (): Promise<void> =>
  new Promise((go) => {
    setTimeout(go, Math.random() * 8);
  });

export class Keeper {
  readonly #options: KeeperOptions;
  readonly #seen = new Set<Secret>();
  readonly #questions = new Map<JsonRpcId, (answer: JsonRpcResponse) => void>();
  /** Requests that can be cancelled. Several clients may use the same id, so a request is identified by id and stream. */
  #cancels: readonly { readonly id: JsonRpcId; readonly own: Send; readonly cancel: () => void }[] = [];
  readonly #subscriptions = new Set<string>();
  #listening: readonly { readonly id: JsonRpcId; readonly uris: readonly string[]; readonly own: Send }[] = [];
  readonly #leave: () => void;
  #count = 0;
  #nextQuestion = 0;
  #level: string | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#leave = options.store.join(({ uri }) => this.#updated(String(uri)));
  }

  get isModern(): boolean {
    return this.#options.revision === '2026-07-28';
  }

  /** Ends the connection. */
  close(): void {
    this.#leave();
  }

  /** Ends a stream of `subscriptions/listen`, or cancels a request. @param stream that has ended, where each request has its own. */
  drop(id: JsonRpcId, stream?: Send): void {
    const isMeant = (each: { readonly id: JsonRpcId; readonly own: Send }): boolean =>
      each.id === id && (stream === undefined || each.own === stream);
    this.#listening = this.#listening.filter((each) => !isMeant(each));
    for (const each of this.#cancels) if (isMeant(each)) each.cancel();
  }

  /**
   * @param own sends messages that belong to this request; the same as `standing` where there is only one stream.
   * @returns once the request is answered.
   */
  async receive(message: JsonRpcRequest | JsonRpcResponse, own: Send): Promise<void> {
    this.#witness(message);
    if (!('method' in message)) {
      this.#questions.get(message.id as JsonRpcId)?.(message);
      return;
    }
    const { id, method, params = {} } = message;
    if (id === undefined) {
      if (method === 'notifications/cancelled') this.drop(params['requestId'] as JsonRpcId);
      return;
    }
    try {
      const result =
        method === 'subscriptions/listen' ? this.#listen(id, params, own) : await this.#serve(id, method, params, own);
      if (result !== undefined)
        own({
          jsonrpc: '2.0',
          id,
          result: this.isModern
            ? {
                resultType: 'complete',
                ...(/list$|read$|discover$/.test(method) ? { ttlMs: 0, cacheScope: 'public' } : {}),
                ...result,
              }
            : result,
        });
    } catch (error) {
      if (error instanceof Wanted)
        own({
          jsonrpc: '2.0',
          id,
          result: {
            resultType: 'input_required',
            inputRequests: { wanted: error.request },
            requestState: JSON.stringify(params['arguments'] ?? {}),
          },
        });
      else if (error instanceof Refused)
        own({
          jsonrpc: '2.0',
          id,
          error: {
            code: error.code,
            message: error.message,
            ...(error.data === undefined ? {} : { data: error.data }),
          },
        });
      else own({ jsonrpc: '2.0', id, error: { code: -32_603, message: String(error) } });
    } finally {
      this.#cancels = this.#cancels.filter((each) => each.id !== id || each.own !== own);
    }
  }

  #witness(message: object): void {
    const { connection, note } = this.#options;
    // A cursor is made by this server: it may contain the secret of the client that made the last task, and does not show who uses the connection.
    for (const secret of secretsIn(
      JSON.stringify(message, (name, value: unknown) => (name === 'cursor' ? undefined : value)),
    )) {
      if (this.#seen.has(secret)) continue;
      this.#seen.add(secret);
      note({ connection, kind: 'secret', secret });
    }
  }

  async #serve(id: JsonRpcId, method: string, params: JsonObject, own: Send): Promise<JsonObject | undefined> {
    const { revision, connection, note } = this.#options;
    const uri = String(params['uri']);
    switch (method) {
      case 'server/discover':
        if (!this.isModern) throw new Refused(-32_601, `Method not found: ${method}`);
        return { supportedVersions: [revision], capabilities: this.#capabilities() };
      case 'initialize':
        if (this.isModern) throw new Refused(-32_601, `Method not found: ${method}`);
        note({ connection, kind: 'open', capabilities: params['capabilities'] as JsonObject });
        return {
          protocolVersion: revision,
          capabilities: this.#capabilities(),
          serverInfo: { name: 'keeper', version: '1' },
        };
      case 'logging/setLevel':
        this.#level = String(params['level']);
        return {};
      case 'ping':
        return {};
      case 'tools/list':
        return {
          tools: Object.entries(tools)
            .filter(([, { since, until }]) => (since ?? '') <= revision && revision <= (until ?? '9'))
            .map(([name, { more }]) => ({
              name,
              inputSchema: { type: 'object' },
              annotations: { readOnlyHint: name !== 'task' && name !== 'job' },
              ...more,
            })),
        };
      case 'tools/call':
        return this.#call(id, params, own);
      case 'resources/list':
        return { resources: [] };
      case 'resources/templates/list':
        return { resourceTemplates: [{ uriTemplate: `${this.#scheme}://note/{id}`, name: 'note' }] };
      case 'resources/read':
        await moment();
        return { contents: [{ uri, text: `the note at ${uri}` }] };
      case 'resources/subscribe':
        this.#subscriptions.add(uri);
        return {};
      case 'resources/unsubscribe':
        this.#subscriptions.delete(uri);
        return {};
      case 'prompts/list':
        return { prompts: [{ name: 'tell', arguments: [{ name: 'marker', required: true }] }] };
      case 'prompts/get':
        await moment();
        return { messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(params['arguments']) } }] };
      case 'completion/complete':
        await moment();
        return { completion: { values: [`${String((params['argument'] as JsonObject)['value'])}!`] } };
      default:
        if (method.startsWith('tasks/') && revision >= '2025-11-25') return this.#task(method, params, own);
        throw new Refused(-32_601, `Method not found: ${method}`);
    }
  }

  get #scheme(): string {
    return `keeper-${this.#options.connection.split('/')[0]}`;
  }

  #capabilities(): JsonObject {
    const { revision } = this.#options;
    return {
      tools: {},
      prompts: {},
      resources: { subscribe: true },
      logging: {},
      ...(revision === '2024-11-05' ? {} : { completions: {} }),
      ...(revision === '2025-11-25' ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } } : {}),
      ...(this.isModern ? { extensions: { [`${prefix}tasks`]: {} } } : {}),
    };
  }

  async #call(id: JsonRpcId, params: JsonObject, own: Send): Promise<JsonObject> {
    const args = (params['arguments'] ?? {}) as JsonObject;
    const meta = (params['_meta'] ?? {}) as JsonObject;
    const marker = String(args['marker']);
    const text = (said: string): JsonObject => ({
      content: [{ type: 'text', text: said }],
      _meta: { 'test/marker': meta['test/marker'] ?? null },
    });
    const via = args['via'] === 'standing' && !this.isModern ? this.#options.standing : own;
    await moment();
    switch (params['name']) {
      case 'talk':
        await this.#talk(marker, meta, own, via);
        return text(`talked of ${marker}`);
      case 'fail':
        throw new Refused(-32_050, `it failed with ${marker}`, { marker });
      case 'touch':
        this.#options.store.announce(`${this.#scheme}://note/${marker}`);
        return text(`touched ${marker}`);
      case 'count':
        this.#count += 1;
        return text(`${marker} ${this.#count}`);
      case 'wait':
        own({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken: meta['progressToken'], progress: 1 },
        });
        await new Promise<void>((cancel) => {
          this.#cancels = [...this.#cancels, { id, own, cancel }];
        });
        return text(`too late for ${marker}`);
      case 'later':
        setTimeout(
          () =>
            void this.#ask('form', marker, params, this.#options.standing).then((answer) =>
              this.#options.note({ connection: this.#options.connection, kind: 'later', marker, answer }),
            ),
          laterMs,
        );
        return text(`later ${marker}`);
      case 'ask':
        return text(`${marker} was answered ${await this.#ask(String(args['what']), marker, params, via)}`);
      case 'task':
        return params['task'] === undefined ? text(`at once ${marker}`) : { task: this.#newTask(marker, undefined) };
      case 'job':
        return { resultType: 'task', ...this.#newTask(marker, jobQuestion(marker)) };
      default:
        return text(`echo of ${marker}`);
    }
  }

  /** Sends progress and log messages. */
  async #talk(marker: string, meta: JsonObject, own: Send, via: Send): Promise<void> {
    for (const progress of [1, 2]) {
      const { progressToken } = meta;
      if (progressToken !== undefined)
        own({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: {
            progressToken,
            progress,
            ...(this.#options.revision === '2024-11-05' ? {} : { message: `step of ${marker}` }),
          },
        });
      const isWanted = this.isModern ? meta[`${prefix}logLevel`] !== undefined : this.#level !== undefined;
      if (isWanted)
        via({
          jsonrpc: '2.0',
          method: 'notifications/message',
          params: { level: 'error', logger: 'keeper', data: { said: marker } },
        });
      await moment();
    }
  }

  // --- questions -------------------------------------------------------------------------------------------------------

  /** @returns the answer as JSON; a refusal counts as an answer. */
  async #ask(what: string, marker: string, params: JsonObject, send: Send): Promise<string> {
    const { connection, note } = this.#options;
    const [method, question] = questionOf(what, marker, this.isModern);
    if (this.isModern) {
      const responses = params['inputResponses'];
      if (!isObject(responses)) throw new Wanted({ method, params: question });
      const answer = JSON.stringify(responses['wanted'] ?? null);
      this.#check(what, marker, answer);
      if (params['requestState'] !== JSON.stringify(params['arguments']))
        note({ connection, kind: 'wrong answer', marker, answer: `state ${JSON.stringify(params['requestState'])}` });
      return answer;
    }
    const id = this.#nextQuestion;
    this.#nextQuestion += 1;
    const { result, error } = await new Promise<JsonRpcResponse>((resolve) => {
      this.#questions.set(id, resolve);
      send({ jsonrpc: '2.0', id, method, params: question });
    });
    this.#questions.delete(id);
    if (result === undefined) return `refused: ${String(error?.message)}`;
    const answer = JSON.stringify(result);
    this.#check(what, marker, answer);
    if (what === 'url')
      send({ jsonrpc: '2.0', method: 'notifications/elicitation/complete', params: { elicitationId: `e-${marker}` } });
    return answer;
  }

  /** Roots belong to a client and not to a call; the answer to a URL elicitation has no content. */
  #check(what: string, marker: string, answer: string): void {
    const { connection, note } = this.#options;
    const secret = marker.slice(0, marker.lastIndexOf('-'));
    if (what === 'roots' && !isUnanswered(answer)) {
      note({ connection, kind: 'roots' });
      this.#seen.clear();
      this.#seen.add(secret);
      note({ connection, kind: 'secret', secret });
    }
    const isRight =
      what === 'url'
        ? secretsIn(answer).size === 0
        : answer.includes(what === 'roots' ? secret : `"${marker}"`) || isUnanswered(answer);
    if (!isRight) note({ connection, kind: 'wrong answer', marker, answer });
  }

  // --- resources -------------------------------------------------------------------------------------------------------

  #updated(uri: string): void {
    if (this.#subscriptions.has(uri))
      this.#options.standing({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
    for (const { id, uris, own } of this.#listening) {
      if (uris.includes(uri))
        own({
          jsonrpc: '2.0',
          method: 'notifications/resources/updated',
          params: { uri, _meta: { [`${prefix}subscriptionId`]: id } },
        });
    }
  }

  #listen(id: JsonRpcId, params: JsonObject, own: Send): undefined {
    const notifications = (params['notifications'] ?? {}) as JsonObject;
    this.#listening = [
      ...this.#listening,
      { id, uris: (notifications['resourceSubscriptions'] ?? []) as string[], own },
    ];
    own({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications, _meta: { [`${prefix}subscriptionId`]: id } },
    });
  }

  // --- tasks -----------------------------------------------------------------------------------------------------------

  /** Ids are sequential, and every connection of the server serves every task, so the gateway must keep tasks apart. */
  #newTask(marker: string, inputRequests: JsonObject | undefined): JsonObject {
    const { store, standing } = this.#options;
    const now = new Date().toISOString();
    const taskId = store.nextTask();
    const times = this.isModern ? { ttlMs: 60_000, pollIntervalMs: 20 } : { ttl: 60_000, pollInterval: 20 };
    const task = {
      taskId,
      status: 'working',
      statusMessage: `works on ${marker}`,
      createdAt: now,
      lastUpdatedAt: now,
      ...times,
    };
    const known = {
      task: inputRequests === undefined ? task : { ...task, status: 'input_required' },
      marker,
      inputRequests,
    };
    store.tasks.set(taskId, known);
    if (inputRequests !== undefined) return known.task;
    void moment().then(() => {
      known.task = { ...task, status: 'completed', statusMessage: `worked on ${marker}` };
      standing({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: known.task });
    });
    return task;
  }

  async #task(method: string, params: JsonObject, own: Send): Promise<JsonObject> {
    const { store } = this.#options;
    if (method === 'tasks/list') {
      const all = [...store.tasks.values()];
      return {
        tasks: all.map(({ task }) => task),
        ...(all.length < 3 || params['cursor'] !== undefined ? {} : { nextCursor: `after-${all.at(-1)?.marker}` }),
      };
    }
    const known = store.tasks.get(String(params['taskId']));
    if (known === undefined) throw new Refused(-32_602, 'no such task');
    const { marker } = known;
    if (method === 'tasks/get')
      return {
        ...known.task,
        ...(known.inputRequests === undefined ? {} : { inputRequests: known.inputRequests }),
        ...(known.result === undefined || !this.isModern ? {} : { result: known.result }),
      };
    if (method === 'tasks/cancel') return known.task;
    if (method === 'tasks/update') {
      const responses = params['inputResponses'];
      if (known.inputRequests !== undefined && isObject(responses)) {
        this.#check('form', marker, JSON.stringify(responses['wanted'] ?? null));
        known.inputRequests = undefined;
        known.task = { ...known.task, status: 'completed', statusMessage: `worked on ${marker}` };
        known.result = { content: [{ type: 'text', text: `job of ${marker}` }] };
      }
      return {};
    }
    const related = { [`${prefix}related-task`]: { taskId: known.task['taskId'] } };
    const answer =
      params['_meta'] !== undefined && 'test/asks' in (params['_meta'] as object)
        ? await this.#ask('form', marker, params, own)
        : '';
    return { content: [{ type: 'text', text: `task of ${marker} ${answer}` }], _meta: related };
  }
}

/** Whether the client has refused, or has not answered; roots that cannot be attributed are empty. */
function isUnanswered(answer: string): boolean {
  return answer === 'null' || answer === '{"roots":[]}' || /"action":"(cancel|decline)"/.test(answer);
}

function questionOf(what: string, marker: string, isModern: boolean): readonly [method: string, params: JsonObject] {
  switch (what) {
    case 'sampling':
      return [
        'sampling/createMessage',
        { messages: [{ role: 'user', content: { type: 'text', text: `sample ${marker}` } }], maxTokens: 5 },
      ];
    case 'url':
      return [
        'elicitation/create',
        {
          mode: 'url',
          message: `visit ${marker}`,
          url: `https://example.com/${marker}`,
          ...(isModern ? {} : { elicitationId: `e-${marker}` }),
        },
      ];
    case 'roots':
      return ['roots/list', {}];
    default:
      return [
        'elicitation/create',
        {
          message: `fill in ${marker}`,
          requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } },
        },
      ];
  }
}

/** The question of a task, which its owner answers. */
const jobQuestion = (marker: string) => ({
  wanted: {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: `job ${marker}`,
      requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } },
    },
  },
});
