/**
 * Streamable HTTP as a client (2025-03-26 to 2025-11-25, transports). Each request is a POST whose response stream belongs
 * to it; a standing GET hears what belongs to no request. A broken response stream that had event ids is resumed by GET.
 *
 * Invariants
 *  H1  Every request ends in exactly one of: its answer, `requestFailed`, `abandon`, `lost`.
 *  H2  Our session id goes to this server and nowhere else.
 */
import { Link, Ring } from '@omnibus/collections';
import { classify, featuresOf, isLegacyRevision, isObject, type JsonRpcErrorObject, type JsonRpcId, type JsonRpcMessage, type JsonRpcRequest, type Revision } from '@omnibus/protocol';
import type { Child, ChildOptions } from './child-process.ts';
import type { HttpOptions } from './http-options.ts';
import { ResponseReader, silentObserver, type ResponseObserver } from './response-reader.ts';
import type { RequestFailure, Transport, TransportObserver } from './transport.ts';
import { startUrlProgram } from './url-program.ts';

export interface StreamableHttpOptions extends HttpOptions {
  /** A program that serves `url`, to be started first. */
  readonly child: ChildOptions | undefined;
}

const defaultRetryMs = 1_000;
const maxRetryMs = 30_000;
const maxResumptions = 5;
const deleteTimeoutMs = 2_000;

class OpenRequest extends Link {
  readonly id: JsonRpcId;
  reader: ResponseReader | undefined;
  lastEventId: string | undefined;
  retryMs = defaultRetryMs;
  resumptions = 0;
  timer: NodeJS.Timeout | undefined;

  constructor(id: JsonRpcId) {
    super();
    this.id = id;
  }
}

export class StreamableHttpTransport implements Transport {
  readonly isLegacyOnly = false;
  readonly closesToCancel = true;
  readonly #options: StreamableHttpOptions;
  readonly #observer: TransportObserver;
  readonly #origin: string;
  readonly #path: string;
  /** Requests without an answer yet. */
  readonly #open = new Ring<OpenRequest>();
  #child: Child | undefined;
  #sessionId: string | undefined;
  #revision: Revision | undefined;
  #standing: ResponseReader | undefined;
  #standingTimer: NodeJS.Timeout | undefined;
  #headers: Record<string, string> = {};
  #isClosed = false;

  constructor(options: StreamableHttpOptions, observer: TransportObserver) {
    this.#options = options;
    this.#observer = observer;
    const url = new URL(options.url);
    this.#path = `${url.pathname}${url.search}`;
    this.#origin = url.origin;
    this.#setHeaders();
  }

  async open(): Promise<void> {
    const { child, url, openTimeoutMs } = this.#options;
    if (child === undefined) return;
    this.#child = await startUrlProgram({ child, url, openTimeoutMs, onEnd: (problem) => this.#lose(problem), isClosed: () => this.#isClosed });
  }

  request(message: JsonRpcRequest, headers?: Readonly<Record<string, string>>): void {
    const open = new OpenRequest(message.id);
    const reader = new ResponseReader(this.#requestObserver(open), this.#options.maxMessageBytes);
    open.reader = reader;
    this.#open.add(open);
    this.#dispatch('POST', JSON.stringify(message), headers === undefined ? this.#headers : { ...this.#headers, ...headers }, reader);
  }

  send(message: JsonRpcMessage): void {
    const reader = new ResponseReader({ ...silentObserver, message: (value) => this.#observer.message(value, undefined) }, this.#options.maxMessageBytes);
    this.#dispatch('POST', JSON.stringify(message), this.#headers, reader);
  }

  abandon(id: JsonRpcId): void {
    const open = this.#open.toArray().find((each) => each.id === id);
    if (open === undefined) return;
    this.#take(open);
    open.reader?.abort();
  }

  initialized(revision: Revision): void {
    this.#revision = revision;
    this.#setHeaders();
    if (isLegacyRevision(revision)) this.#listen(undefined, defaultRetryMs);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#standingTimer);
    this.#standing?.abort();
    for (const { id } of this.#open.toArray()) this.abandon(id);
    await this.#deleteSession();
    await this.#child?.stop();
  }

  /** @returns false once the request is answered or given up: then nobody waits for it. */
  #take(open: OpenRequest): boolean {
    if (!this.#open.remove(open)) return false;
    if (open.timer !== undefined) clearTimeout(open.timer);
    return true;
  }

  #fail(open: OpenRequest, failure: RequestFailure): void {
    if (this.#take(open)) this.#observer.requestFailed(open.id, failure); // H1
  }

  #requestObserver(open: OpenRequest): ResponseObserver {
    const { id } = open;
    return {
      started: (status, headers) => {
        const session = headers['mcp-session-id'];
        if (typeof session === 'string' && status < 300 && this.#revision === undefined) {
          this.#sessionId = session;
          this.#setHeaders();
        }
      },
      message: (value) => {
        if (isObject(value) && value['id'] === id && ('result' in value || 'error' in value)) this.#take(open);
        this.#observer.message(value, id);
      },
      otherEvent: () => undefined,
      invalid: (problem) => {
        this.#observer.invalid(problem);
        this.#fail(open, { kind: 'invalid', problem });
      },
      eventId: (eventId) => {
        open.lastEventId = eventId;
        open.resumptions = 0;
      },
      retry: (ms) => {
        open.retryMs = Math.min(ms, maxRetryMs);
      },
      ended: (status, errorBody) => {
        if (!this.#open.has(open)) return;
        if (status === 404 && this.#sessionId !== undefined) this.#fail(open, { kind: 'session-gone', problem: 'the server has ended our session' });
        else if (status >= 300 && status < 400) this.#fail(open, { kind: 'refused', httpStatus: status, problem: `the server redirects (HTTP ${status}); configure the address it redirects to` });
        else if (status >= 400) this.#fail(open, { kind: 'refused', httpStatus: status, problem: `the server answered HTTP ${status}${errorBody === '' ? '' : `: ${errorBody.slice(0, 300)}`}`, ...errorIn(errorBody) });
        else this.#resume(open, 'the server ended its answer without a result');
      },
      failed: (error, isSent) => {
        if (!this.#open.has(open)) return;
        if (isSent) this.#resume(open, `the connection broke: ${error.message}`);
        else this.#fail(open, { kind: 'not-sent', problem: `cannot connect: ${error.message}` });
      },
    };
  }

  /** Continues a broken response stream after its last event (2025-11-25, Resumability and Redelivery). */
  #resume(open: OpenRequest, problem: string): void {
    if (open.lastEventId === undefined || open.resumptions >= maxResumptions || this.#isClosed) {
      this.#fail(open, { kind: 'lost', problem });
      return;
    }
    open.resumptions += 1;
    open.timer = setTimeout(() => {
      const reader = new ResponseReader(this.#requestObserver(open), this.#options.maxMessageBytes);
      open.reader = reader;
      this.#dispatch('GET', undefined, this.#listenHeaders(open.lastEventId), reader);
    }, open.retryMs);
  }

  /** The standing stream for what belongs to no request. A server that offers none says 405. */
  #listen(lastEventId: string | undefined, retryMs: number): void {
    if (this.#isClosed) return;
    const state = { lastEventId, retryMs };
    const again = (): void => {
      this.#standingTimer = setTimeout(() => this.#listen(state.lastEventId, state.retryMs), state.retryMs);
    };
    this.#standing = new ResponseReader({
      ...silentObserver,
      message: (value) => this.#observer.message(value, undefined),
      invalid: (problem) => this.#observer.invalid(problem),
      eventId: (id) => {
        state.lastEventId = id;
      },
      retry: (ms) => {
        state.retryMs = Math.min(ms, maxRetryMs);
      },
      ended: (status) => {
        if (this.#isClosed || status === 405) return;
        if (status === 404 && this.#sessionId !== undefined) this.#observer.sessionGone();
        else if (status < 400) again();
      },
      failed: (error, isSent) => {
        if (this.#isClosed) return;
        if (isSent) again();
        else this.#lose(`cannot connect: ${error.message}`);
      },
    }, this.#options.maxMessageBytes);
    this.#dispatch('GET', undefined, this.#listenHeaders(lastEventId), this.#standing);
  }

  #lose(problem: string): void {
    if (!this.#isClosed) this.#observer.lost(problem);
  }

  #dispatch(method: 'POST' | 'GET' | 'DELETE', body: string | undefined, headers: Readonly<Record<string, string>>, reader: ResponseReader): void {
    this.#options.dispatcher.dispatch({ origin: this.#origin, method, path: this.#path, headers, body: body ?? null }, reader);
  }

  #listenHeaders(lastEventId: string | undefined): Readonly<Record<string, string>> {
    return { ...this.#headers, accept: 'text/event-stream', ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) };
  }

  #setHeaders(): void {
    this.#headers = {
      ...Object.fromEntries(Object.entries(this.#options.headers).map(([name, value]) => [name.toLowerCase(), value])),
      'accept': 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(this.#sessionId === undefined ? {} : { 'mcp-session-id': this.#sessionId }), // H2
      ...(this.#revision !== undefined && featuresOf(this.#revision).versionHeader ? { 'mcp-protocol-version': this.#revision } : {}),
    };
  }

  #deleteSession(): Promise<void> {
    if (this.#sessionId === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, deleteTimeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      this.#dispatch('DELETE', undefined, this.#headers, new ResponseReader({ ...silentObserver, ended: done, failed: done }, this.#options.maxMessageBytes));
    });
  }
}

/** The JSON-RPC error in the body of a refusal, when there is one. */
function errorIn(body: string): { readonly error?: JsonRpcErrorObject } {
  try {
    const value: unknown = JSON.parse(body);
    const classified = classify(value);
    return classified.kind === 'response' && classified.message.error !== undefined ? { error: classified.message.error } : {};
  } catch {
    return {}; // Not JSON: a proxy's page, or text for people.
  }
}
