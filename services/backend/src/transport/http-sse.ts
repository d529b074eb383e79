/**
 * HTTP+SSE as a client (2024-11-05, basic/transports): one stream brings all messages of the server, beginning with the address to POST to. The connection
 * ends with the stream.
 */
import type { Dispatcher } from 'undici';
import {
  idKey,
  isJsonRpcId,
  isObject,
  printable,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
  type ServerTrouble,
} from '@omnibus/protocol';
import { Delivery, nameOf } from './delivery.ts';
import { lowerCased, usualHeaders, type HttpOptions } from './http-options.ts';
import { connectionProblem, describeRedirect, describeStatus, hadNoCredentials } from './problems.ts';
import { ResponseReader, silentObserver } from './response-reader.ts';
import type { Transport, TransportObserver, UnusableQuestion } from './transport.ts';
import { acceptedCodings } from './unpacker.ts';
import { SignInWanted, Troubled, troubleOfStatus, UnusableStream } from './trouble.ts';

export class HttpSseTransport implements Transport {
  readonly needsNoProbe = true;
  readonly closesToCancel = false;
  readonly keepsOrder = true;
  readonly takesNamelessErrors = false;
  readonly hasState = true;
  readonly #options: HttpOptions;
  readonly #observer: TransportObserver;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #delivery: Delivery;
  /** POSTs of requests that the server has not answered over HTTP, by the id of the request. */
  readonly #posts = new Map<string | number, ResponseReader>();
  #stream: ResponseReader | undefined;
  /** The address to POST to; undefined until the server has named it. */
  #endpoint: URL | undefined;
  #isClosed = false;

  constructor(options: HttpOptions, observer: TransportObserver) {
    this.#options = options;
    this.#observer = observer;
    this.#url = new URL(options.url);
    this.#headers = { 'accept-encoding': acceptedCodings, ...usualHeaders, ...lowerCased(options.headers) };
    this.#delivery = new Delivery({
      limits: options.limits,
      reading: options.reading,
      post: (body, reader) => {
        if (this.#endpoint !== undefined) this.#dispatch('POST', this.#endpoint, body, reader);
      },
      message: () => undefined,
      delivered: () => undefined,
      failed: (message, problem) => observer.dropped('undelivered', `${nameOf(message)}: ${problem}`),
    });
  }

  /** Resolves when the server has named the address to POST to. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const limit = setTimeout(
        () => fail(`no endpoint event came within ${this.#options.openTimeoutMs} ms`, 'time'),
        this.#options.openTimeoutMs,
      );
      const fail = (
        problem: string,
        trouble: ServerTrouble = 'speech',
        error = new Troubled(trouble, problem),
      ): void => {
        clearTimeout(limit);
        if (this.#endpoint === undefined) {
          this.#stream?.abort();
          reject(error);
        } else if (!this.#isClosed) {
          this.#observer.lost(problem);
        }
      };
      this.#stream = new ResponseReader(
        {
          ...silentObserver,
          message: (value) => this.#heard(value),
          invalid: (problem, id, question) => this.#misheard(problem, id, question),
          otherEvent: (name, data) => {
            if (name !== 'endpoint') return;
            const problem = this.#moveTo(data);
            if (problem !== undefined) fail(problem, 'speech', new UnusableStream(problem));
            else {
              clearTimeout(limit);
              resolve();
            }
          },
          ended: (response) => {
            if (response.errorBody !== '') this.#observer.dropped('refusal', response.errorBody);
            if (response.location !== undefined) {
              fail(describeRedirect(response, 'GET', this.#url.href), troubleOfStatus(response.status));
              return;
            }
            fail(
              response.status >= 300 || response.mediaType !== 'text/event-stream'
                ? describeStatus(response)
                : 'the server ended the stream',
              response.status >= 300 ? troubleOfStatus(response.status) : 'speech',
              response.status === 401 ? new SignInWanted(describeStatus(response)) : undefined,
            );
          },
          failed: (error, isSent) => fail(connectionProblem(error, isSent), 'address'),
        },
        this.#options.limits,
        this.#options.reading,
      );
      this.#dispatch('GET', this.#url, undefined, this.#stream);
    });
  }

  /** @returns the problem of an address that the server names first and that cannot be used. */
  #moveTo(data: string): string | undefined {
    const endpoint = this.#endpointIn(data);
    const problem = `the server named an address of another origin to post to: ${printable(data, 200)}`;
    if (endpoint !== undefined) this.#endpoint = endpoint;
    else if (this.#endpoint === undefined) return problem;
    else this.#observer.dropped('refusal', problem);
    return undefined;
  }

  /** @returns undefined for an address of another origin, since our credentials would be sent there. */
  #endpointIn(data: string): URL | undefined {
    const base = this.#stream?.address ?? this.#url;
    const endpoint = URL.canParse(data, base.href) ? new URL(data, base) : undefined;
    return endpoint?.origin === this.#url.origin ? endpoint : undefined;
  }

  request(message: JsonRpcRequest): void {
    const { id } = message;
    if (this.#endpoint === undefined) {
      this.#observer.requestFailed(id, { kind: 'not-sent', problem: 'the stream is not open' });
      return;
    }
    const reader = new ResponseReader(
      {
        ...silentObserver,
        ended: (response) => {
          const { status, errorBody } = response;
          this.#posts.delete(idKey(id));
          if (status < 300) return;
          this.#observer.requestFailed(id, {
            kind: 'refused',
            problem: describeStatus(response),
            httpStatus: status,
            retryAfterMs: response.retryAfterMs,
          });
          if (errorBody !== '') this.#observer.dropped('refusal', errorBody);
        },
        failed: (error, isSent) => {
          const problem = connectionProblem(error, isSent);
          this.#posts.delete(idKey(id));
          this.#observer.requestFailed(
            id,
            isSent
              ? { kind: 'lost', problem }
              : { kind: 'not-sent', problem, hadNoCredentials: hadNoCredentials(error) },
          );
        },
      },
      this.#options.limits,
      this.#options.reading,
    );
    this.#posts.set(idKey(id), reader);
    this.#dispatch('POST', this.#endpoint, JSON.stringify(message), reader);
  }

  #heard(value: unknown): void {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value])
      if (isObject(each) && !('method' in each) && isJsonRpcId(each['id'])) this.abandon(each['id']);
    this.#observer.message(value, undefined);
  }

  /** An unreadable message on the stream. */
  #misheard(problem: string, id: JsonRpcId | null | undefined, question?: UnusableQuestion): void {
    if (id === undefined || id === null) this.#observer.dropped('invalid', problem, question);
    else {
      this.abandon(id);
      this.#observer.requestFailed(id, { kind: 'invalid', problem });
    }
  }

  send(message: JsonRpcMessage, settled?: () => void): void {
    this.#delivery.deliver(message, settled);
  }

  /** Its answer has come, or is not wanted any more. */
  abandon(id: JsonRpcId): void {
    this.#posts.get(idKey(id))?.letEnd();
  }

  agreed(): void {
    // The wire is the same in every revision.
  }

  listen(): void {
    // The stream is open already.
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#delivery.close();
    for (const reader of this.#posts.values()) reader.abort();
    this.#posts.clear();
    this.#stream?.abort();
    return Promise.resolve();
  }

  #dispatch(
    method: Dispatcher.HttpMethod,
    { origin, pathname, search }: URL,
    body: string | undefined,
    reader: ResponseReader,
  ): void {
    const headers = {
      ...this.#headers,
      ...(method === 'GET' ? { accept: 'text/event-stream' } : { 'content-type': 'application/json' }),
    };
    this.#options.dispatcher.dispatch(
      { origin, method, path: `${pathname}${search}`, headers, body: body ?? null },
      reader,
    );
  }
}
