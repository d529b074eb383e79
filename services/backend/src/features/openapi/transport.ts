/** The MCP server of one API, in memory: it speaks 2026-07-28 to the connection, and HTTP to the API. */
import {
  errorTable,
  idKey,
  isObject,
  latestModernRevision,
  metaKeys,
  printable,
  version,
  type JsonObject,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
} from '@omnibus/protocol';
import { ArgumentProblem, requestOf, resultOf, toolError, type OperationPlan, type ToolResult } from '@omnibus/openapi';
import { unusableKey } from '../../catalog/reader.ts';
import type { TransportMaker } from '../../transport/http-options.ts';
import { lowerCased, userAgent } from '../../transport/http-options.ts';
import { hadNoCredentials } from '../../transport/problems.ts';
import { wasNotSent } from '../../transport/response-reader.ts';
import type { Transport, TransportObserver } from '../../transport/transport.ts';
import { exchange, ExchangeProblem } from './exchange.ts';
import type { Api, KeptDocument } from './kept-document.ts';

type Wire = Parameters<TransportMaker['create']>[0];

/** Headers that belong to one request or connection, and cannot be configured. */
const ownHeaders = new Set(['content-length', 'host', 'connection', 'transfer-encoding', 'expect']);

export class OpenApiTransport implements Transport {
  readonly needsNoProbe = false;
  readonly closesToCancel = true;
  readonly keepsOrder = true;
  readonly takesNamelessErrors = false;
  readonly hasState = false;
  readonly #document: KeptDocument;
  readonly #wire: Wire;
  readonly #observer: TransportObserver;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #secrets: ReadonlyMap<string, string>;
  /** Calls and subscriptions that are open, each with what ends it. */
  readonly #open = new Map<string | number, () => void>();
  #unfollow: () => void = () => undefined;
  #listens: JsonRpcId[] = [];

  constructor(document: KeptDocument, wire: Wire, observer: TransportObserver) {
    this.#document = document;
    this.#wire = wire;
    this.#observer = observer;
    this.#secrets = document.secrets;
    this.#headers = Object.fromEntries(
      Object.entries(lowerCased(wire.headers)).filter(([name]) => !ownHeaders.has(name)),
    );
  }

  async open(): Promise<void> {
    await this.#document.open();
    this.#unfollow = this.#document.onChange(() => this.#changed());
  }

  request(message: JsonRpcRequest): void {
    const { id, method, params = {} } = message;
    switch (method) {
      case 'server/discover':
        this.#answer(id, discovery(this.#document.current));
        return;
      case 'tools/list':
        void this.#list(id);
        return;
      case 'tools/call':
        void this.#call(id, params);
        return;
      case 'subscriptions/listen':
        this.#listen(id);
        return;
      case 'ping':
        this.#answer(id, {});
        return;
      default:
        this.#refuse(id, errorTable['method.unknown'].code, `an API has no ${printable(method, 100)}`);
    }
  }

  send(_message: JsonRpcMessage, settled?: () => void): void {
    settled?.();
  }

  abandon(id: JsonRpcId): void {
    const end = this.#open.get(idKey(id));
    this.#open.delete(idKey(id));
    this.#listens = this.#listens.filter((each) => idKey(each) !== idKey(id));
    end?.();
  }

  agreed(): void {
    // It speaks one revision.
  }

  listen(): void {
    // Announcements come on `subscriptions/listen`.
  }

  close(): Promise<void> {
    this.#unfollow();
    this.#listens = [];
    for (const end of this.#open.values()) end();
    this.#open.clear();
    return Promise.resolve();
  }

  #answer(id: JsonRpcId, result: JsonObject): void {
    // The connection sends the request before it waits for the answer.
    queueMicrotask(() =>
      this.#observer.message({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }, id),
    );
  }

  #refuse(id: JsonRpcId, code: number, text: string): void {
    queueMicrotask(() => this.#observer.message({ jsonrpc: '2.0', id, error: { code, message: text } }, id));
  }

  async #list(id: JsonRpcId): Promise<void> {
    const { tools, leftOut } = await this.#document.renew();
    const unusable = leftOut.map(({ name, problem }) => ({ name, _meta: { [unusableKey]: problem } }));
    this.#answer(id, { tools: [...tools, ...unusable], ttlMs: 0, cacheScope: 'private' });
  }

  #listen(id: JsonRpcId): void {
    this.#listens.push(id);
    this.#open.set(idKey(id), () => undefined);
    queueMicrotask(() =>
      this.#notify(id, 'notifications/subscriptions/acknowledged', { notifications: { toolsListChanged: true } }),
    );
  }

  #changed(): void {
    for (const id of this.#listens) this.#notify(id, 'notifications/tools/list_changed', {});
  }

  #notify(id: JsonRpcId, method: string, params: JsonObject): void {
    if (!this.#open.has(idKey(id))) return;
    this.#observer.message(
      { jsonrpc: '2.0', method, params: { ...params, _meta: { [metaKeys.subscriptionId]: id } } },
      id,
    );
  }

  async #call(id: JsonRpcId, { name, arguments: given }: JsonObject): Promise<void> {
    const api = this.#document.current;
    const plan = typeof name === 'string' ? api.plans.get(name) : undefined;
    if (plan === undefined) {
      this.#refuse(id, errorTable['params.invalid'].code, `there is no operation ${printable(String(name), 100)}`);
      return;
    }
    try {
      const result = await this.#send(id, api, plan, isObject(given) ? given : {});
      if (this.#open.delete(idKey(id))) this.#answer(id, result);
    } catch (error) {
      this.#failed(id, error as Error);
    }
  }

  async #send(id: JsonRpcId, api: Api, plan: OperationPlan, given: JsonObject): Promise<ToolResult> {
    const { dispatcher, reading, limits } = this.#wire;
    const { origin, pathname } = api.address;
    this.#open.set(idKey(id), () => undefined);
    const request = requestOf(plan, given, pathname.replace(/\/+$/, ''), this.#secrets);
    const open = exchange({
      dispatcher,
      origin,
      path: request.path,
      method: request.method,
      headers: {
        ...userAgent,
        'accept-encoding': 'gzip, br',
        ...request.headers,
        ...this.#headers,
      },
      body: request.body,
      maxBytes: limits.maxUpstreamMessageBytes,
      reading,
    });
    this.#open.set(idKey(id), () => open.abort());
    const answer = await open.answer;
    return resultOf(answer, {
      plan,
      address: `${origin}${request.path.replace(/\?.*$/s, '')}`,
      limits,
      secrets: this.#secrets,
      now: Date.now,
    });
  }

  #failed(id: JsonRpcId, error: Error): void {
    if (!this.#open.delete(idKey(id))) return;
    if (error instanceof ArgumentProblem) {
      this.#answer(id, toolError(`Nothing was sent to the API: ${error.message}.`));
      return;
    }
    const problem = printable(error.message, 300);
    if (error instanceof ExchangeProblem) {
      this.#answer(id, toolError(`The API has taken the request, but ${problem}. Ask for less, or for another form.`));
      return;
    }
    const isWithout = hadNoCredentials(error);
    this.#observer.requestFailed(
      id,
      wasNotSent(error)
        ? {
            kind: 'not-sent',
            problem: isWithout ? problem : `cannot connect: ${problem}`,
            hadNoCredentials: isWithout,
          }
        : { kind: 'lost', problem: `the connection broke: ${problem}` },
    );
  }
}

function discovery({ title }: Api): JsonObject {
  return {
    supportedVersions: [latestModernRevision],
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: title === '' ? 'api' : title, version },
  };
}
