/** An MCP client for commands, over a pair of streams with one JSON-RPC message per line, as in the stdio transport. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { isObject, parseJson, type JsonObject } from '@omnibus/protocol';
import { CommandProblem, problemOf } from './problem.ts';

export interface LineClientOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Answers a request of the server. The server gets its exception as a JSON-RPC error. */
  readonly asked: (method: string, params: JsonObject) => Promise<JsonObject>;
  /** Receives notifications of the server, except progress. */
  readonly heard: (method: string, params: JsonObject) => void;
}

interface Waiting {
  readonly resolve: (result: JsonObject) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: ((progress: JsonObject) => void) | undefined;
}

export interface RequestOptions {
  readonly onProgress?: (progress: JsonObject) => void;
  /** When it aborts, the request is cancelled at the server and rejected here. */
  readonly signal?: AbortSignal;
}

export class LineClient {
  readonly #options: LineClientOptions;
  /** Requests without an answer, by id; as many as one command makes at once. */
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #gone: CommandProblem | undefined;

  constructor(options: LineClientOptions) {
    this.#options = options;
    createInterface({ input: options.input, crlfDelay: Infinity })
      .on('line', (line) => this.#receive(line))
      .on('close', () => this.fail(new CommandProblem('unreachable', 'the connection has ended')));
  }

  /** @throws {CommandProblem} for an error response of the gateway or the server. */
  request(method: string, params: JsonObject = {}, { onProgress, signal }: RequestOptions = {}): Promise<JsonObject> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onProgress });
      signal?.addEventListener(
        'abort',
        () => {
          this.notify('notifications/cancelled', { requestId: id });
          this.#waiting.delete(id);
          reject(signal.reason as Error);
        },
        { once: true },
      );
      this.#write({
        jsonrpc: '2.0',
        id,
        method,
        params:
          onProgress === undefined
            ? params
            : { ...params, _meta: { ...(isObject(params['_meta']) ? params['_meta'] : {}), progressToken: id } },
      });
    });
  }

  notify(method: string, params?: JsonObject): void {
    this.#write({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) });
  }

  /** Rejects all open requests, and later ones: the connection is gone. */
  fail(problem: CommandProblem): void {
    this.#gone ??= problem;
    for (const { reject } of this.#waiting.values()) reject(this.#gone);
    this.#waiting.clear();
  }

  #write(message: JsonObject): void {
    this.#options.output.write(`${JSON.stringify(message)}\n`);
  }

  #receive(line: string): void {
    const message = parseJson(line);
    if (!isObject(message)) return;
    const { id, method, params, result, error } = message;
    if (typeof method === 'string') {
      const given = isObject(params) ? params : {};
      if (id === undefined) this.#hear(method, given);
      else void this.#serve(id, method, given);
      return;
    }
    // An error without an id answers the last request.
    const key = typeof id === 'number' ? id : this.#lastId;
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    if (isObject(error))
      waiting?.reject(
        problemOf(error as unknown as { readonly code: number; readonly message: string; readonly data?: unknown }),
      );
    else waiting?.resolve(isObject(result) ? result : {});
  }

  #hear(method: string, params: JsonObject): void {
    if (method === 'notifications/progress') this.#waiting.get(params['progressToken'] as number)?.onProgress?.(params);
    else this.#options.heard(method, params);
  }

  async #serve(id: unknown, method: string, params: JsonObject): Promise<void> {
    try {
      this.#write({ jsonrpc: '2.0', id, result: method === 'ping' ? {} : await this.#options.asked(method, params) });
    } catch (error) {
      this.#write({ jsonrpc: '2.0', id, error: { code: -32_601, message: (error as Error).message } });
    }
  }
}
