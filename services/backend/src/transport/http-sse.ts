/**
 * HTTP+SSE as a client (2024-11-05, basic/transports): one stream brings everything the server says, first of all the
 * address to POST to. When the stream is over, so is the connection.
 */
import type { Dispatcher } from 'undici';
import type { JsonRpcId, JsonRpcMessage, JsonRpcRequest } from '@omnibus/protocol';
import type { HttpOptions } from './http-options.ts';
import { ResponseReader, silentObserver } from './response-reader.ts';
import type { Transport, TransportObserver } from './transport.ts';

export class HttpSseTransport implements Transport {
  readonly isLegacyOnly = true;
  readonly closesToCancel = false;
  readonly #options: HttpOptions;
  readonly #observer: TransportObserver;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  #stream: ResponseReader | undefined;
  /** Where to POST; undefined until the server has said. */
  #endpoint: URL | undefined;
  #isClosed = false;

  constructor(options: HttpOptions, observer: TransportObserver) {
    this.#options = options;
    this.#observer = observer;
    this.#url = new URL(options.url);
    this.#headers = Object.fromEntries(Object.entries(options.headers).map(([name, value]) => [name.toLowerCase(), value]));
  }

  /** Resolves when the server has named the address to POST to. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => fail(`no endpoint event came within ${this.#options.openTimeoutMs} ms`), this.#options.openTimeoutMs);
      const fail = (problem: string): void => {
        clearTimeout(limit);
        if (this.#endpoint === undefined) {
          this.#stream?.abort();
          reject(new Error(problem));
        } else if (!this.#isClosed) {
          this.#observer.lost(problem);
        }
      };
      this.#stream = new ResponseReader({
        ...silentObserver,
        message: (value) => this.#observer.message(value, undefined),
        invalid: (problem) => this.#observer.invalid(problem),
        otherEvent: (name, data) => {
          if (name !== 'endpoint' || this.#endpoint !== undefined) return;
          const endpoint = URL.canParse(data, this.#url.href) ? new URL(data, this.#url) : undefined;
          // What the server names is where our credentials go, so it may not name another host.
          if (endpoint?.origin !== this.#url.origin) {
            fail(`the server named an address of another origin to post to: ${data.slice(0, 200)}`);
            return;
          }
          clearTimeout(limit);
          this.#endpoint = endpoint;
          resolve();
        },
        ended: (status, body) => fail(status >= 400 ? `the server answered HTTP ${status}${body === '' ? '' : `: ${body.slice(0, 300)}`}` : 'the server ended the stream'),
        failed: (error, isSent) => fail(isSent ? `the stream broke: ${error.message}` : `cannot connect: ${error.message}`),
      }, this.#options.maxMessageBytes);
      this.#dispatch('GET', this.#url, undefined, this.#stream);
    });
  }

  request(message: JsonRpcRequest): void {
    const { id } = message;
    this.#post(message, {
      refused: (problem, httpStatus) => this.#observer.requestFailed(id, { kind: 'refused', problem, httpStatus }),
      failed: (problem, isSent) => this.#observer.requestFailed(id, { kind: isSent ? 'lost' : 'not-sent', problem }),
    });
  }

  send(message: JsonRpcMessage): void {
    this.#post(message, { refused: () => undefined, failed: () => undefined });
  }

  abandon(_id: JsonRpcId): void {
    // Nothing is held open for a single request here.
  }

  initialized(): void {
    // The stream is open already, and the wire is the same in every revision.
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#stream?.abort();
    return Promise.resolve();
  }

  #post(message: JsonRpcMessage, hear: { refused(problem: string, status: number): void; failed(problem: string, isSent: boolean): void }): void {
    if (this.#endpoint === undefined) {
      hear.failed('the stream is not open', false);
      return;
    }
    this.#dispatch('POST', this.#endpoint, JSON.stringify(message), new ResponseReader({
      ...silentObserver,
      ended: (status, body) => {
        if (status >= 300) hear.refused(`the server answered HTTP ${status}${body === '' ? '' : `: ${body.slice(0, 300)}`}`, status);
      },
      failed: (error, isSent) => hear.failed(`the connection broke: ${error.message}`, isSent),
    }, this.#options.maxMessageBytes));
  }

  #dispatch(method: Dispatcher.HttpMethod, { origin, pathname, search }: URL, body: string | undefined, reader: ResponseReader): void {
    const headers = { ...this.#headers, ...(method === 'GET' ? { accept: 'text/event-stream' } : { 'content-type': 'application/json' }) };
    this.#options.dispatcher.dispatch({ origin, method, path: `${pathname}${search}`, headers, body: body ?? null }, reader);
  }
}
