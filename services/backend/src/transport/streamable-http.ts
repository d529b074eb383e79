/**
 * Streamable HTTP as a client (2025-03-26 to 2025-11-25, transports). Each request is a POST with a response stream of its own; a standing GET brings
 * messages outside of requests. A broken response stream with event ids is resumed by a GET.
 *
 * Invariants
 *  H1  Every request ends in exactly one of: its answer, `requestFailed`, `abandon`, `lost`.
 *  H2  Our session id goes to this server and nowhere else.
 */
import { Ring } from '@omnibus/collections';
import {
  classify,
  featuresOf,
  idKey,
  isJsonRpcId,
  isObject,
  isSameId,
  printable,
  readJson,
  type JsonObject,
  type JsonRpcErrorObject,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
  type Revision,
} from '@omnibus/protocol';
import type { Child, ChildOptions } from './child-process.ts';
import { Delivery, nameOf } from './delivery.ts';
import { lowerCased, type HttpOptions } from './http-options.ts';
import { mended } from './mending.ts';
import { OpenRequest } from './open-request.ts';
import { connectionProblem, describeRedirect, describeSilence, describeStatus, hadNoCredentials } from './problems.ts';
import { ResponseReader, silentObserver, type EndedResponse, type ResponseObserver } from './response-reader.ts';
import { isSessionId, saysSessionGone } from './server-words.ts';
import { StandingStream } from './standing-stream.ts';
import type { RequestFailure, Transport, TransportObserver } from './transport.ts';
import { acceptedCodings } from './unpacker.ts';
import { startUrlProgram } from './url-program.ts';

export interface StreamableHttpOptions extends HttpOptions {
  /** A program that serves `url` and has to be started first. */
  readonly child: ChildOptions | undefined;
}

const maxResumptions = 5;
const deleteTimeoutMs = 2_000;
/** Questions of the server whose call is remembered. */
const maxQuestions = 100;

export class StreamableHttpTransport implements Transport {
  readonly hasSessionsOnly = false;
  readonly closesToCancel = true;
  readonly keepsOrder = false;
  readonly takesNamelessErrors = false;
  readonly #options: StreamableHttpOptions;
  readonly #observer: TransportObserver;
  readonly #origin: string;
  readonly #path: string;
  /** Requests without an answer. */
  readonly #open = new Ring<OpenRequest>();
  #child: Child | undefined;
  #sessionId: string | undefined;
  #revision: Revision | undefined;
  #standing: StandingStream | undefined;
  /** The request whose stream carried a question of the server, by the question's id. */
  readonly #questions = new Map<string | number, OpenRequest>();
  readonly #delivery: Delivery;
  #headers: Record<string, string> = {};
  #isClosed = false;

  constructor(options: StreamableHttpOptions, observer: TransportObserver) {
    this.#options = options;
    this.#observer = observer;
    const url = new URL(options.url);
    this.#path = `${url.pathname}${url.search}`;
    this.#origin = url.origin;
    this.#setHeaders();
    this.#delivery = new Delivery({
      limits: options.limits,
      reading: options.reading,
      post: (body, reader) => this.#dispatch('POST', body, this.#headers, reader),
      message: (value) => observer.message(value, undefined),
      delivered: (message) => void this.#forgetQuestion(message),
      failed: (message, problem) => this.#undelivered(message, problem),
    });
  }

  get hasState(): boolean {
    return this.#sessionId !== undefined;
  }

  async open(): Promise<void> {
    const { child, url, openTimeoutMs } = this.#options;
    if (child === undefined) return;
    this.#child = await startUrlProgram({
      child,
      url,
      openTimeoutMs,
      onEnd: (problem) => this.#lose(problem),
      isClosed: () => this.#isClosed,
    });
  }

  request(message: JsonRpcRequest, headers?: Readonly<Record<string, string>>): void {
    const open = new OpenRequest(message.id);
    const reader = new ResponseReader(this.#requestObserver(open), this.#options.limits, this.#options.reading);
    open.reader = reader;
    this.#open.add(open);
    this.#dispatch(
      'POST',
      JSON.stringify(message),
      headers === undefined ? this.#headers : { ...this.#headers, ...headers },
      reader,
    );
  }

  send(message: JsonRpcMessage, settled?: () => void): void {
    this.#delivery.deliver(message, settled);
  }

  abandon(id: JsonRpcId): void {
    const open = this.#open.find((each) => isSameId(each.id, id));
    if (open === undefined) return;
    this.#take(open);
    open.reader?.abort();
  }

  agreed(revision: Revision): void {
    this.#revision = revision;
    this.#setHeaders();
  }

  listen(): void {
    this.#standing = new StandingStream({
      observer: this.#observer,
      limits: this.#options.limits,
      reading: this.#options.reading,
      get: (lastEventId, reader) => this.#dispatch('GET', undefined, this.#listenHeaders(lastEventId), reader),
      sessionGone: () => {
        if (this.#sessionId !== undefined) this.#observer.sessionGone();
      },
      lost: (problem) => this.#lose(problem),
    });
    this.#standing.open();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#delivery.close();
    this.#standing?.close();
    for (const { id } of this.#open.toArray()) this.abandon(id);
    await this.#deleteSession();
    await this.#child?.stop();
  }

  /** The answer to a question could not be delivered, so the server will not continue the call that asked; the caller must not wait without end. */
  #undelivered(message: JsonRpcMessage, problem: string): void {
    this.#observer.dropped('undelivered', `${nameOf(message)}: ${problem}`);
    const open = this.#forgetQuestion(message);
    if (open === undefined || !this.#open.has(open)) return;
    open.reader?.abort();
    this.#fail(open, { kind: 'lost', problem: `the answer to what it asked could not be delivered: ${problem}` });
  }

  #forgetQuestion(message: JsonRpcMessage): OpenRequest | undefined {
    if ('method' in message || message.id === undefined) return undefined;
    const open = this.#questions.get(idKey(message.id));
    this.#questions.delete(idKey(message.id));
    return open;
  }

  /** @returns false when the request was already answered or given up. */
  #take(open: OpenRequest): boolean {
    if (!this.#open.remove(open)) return false;
    if (this.#questions.size > 0)
      for (const [id, asker] of this.#questions) if (asker === open) this.#questions.delete(id);
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
        if (session === undefined || status >= 300 || this.#revision !== undefined || open.isResumed) return;
        if (typeof session !== 'string' || !isSessionId(session)) {
          open.reader?.abort();
          this.#fail(open, {
            kind: 'invalid',
            problem: 'the session id it gave cannot be used: up to 4,096 visible ASCII characters are allowed',
          });
          return;
        }
        this.#sessionId = session;
        this.#options.noteSession?.(session);
        this.#setHeaders();
      },
      message: (value) => {
        open.reconnecting.isWell();
        for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) this.#note(each, open);
        this.#observer.message(isNamelessError(value) ? { ...value, id } : value, id);
      },
      otherEvent: () => undefined,
      invalid: (problem, answered, question) => {
        if (isSameId(answered, id)) {
          this.#fail(open, { kind: 'invalid', problem });
          return;
        }
        // A later event may be the answer. If none has come by the end of the stream, this one counts as the answer.
        if (answered === undefined) open.unreadable ??= problem;
        this.#observer.dropped('invalid', problem, question);
      },
      eventId: (eventId) => {
        open.lastEventId = eventId;
        open.resumptions = 0;
        open.reconnecting.hasMoved();
      },
      retry: (ms) => open.reconnecting.ask(ms),
      ended: (response) => {
        if (!this.#open.has(open)) return;
        if (open.unreadable === undefined) this.#ended(open, response);
        else this.#fail(open, { kind: 'invalid', problem: open.unreadable });
      },
      failed: (error, isSent) => {
        if (!this.#open.has(open)) return;
        const problem = connectionProblem(error, isSent);
        if (open.unreadable !== undefined) this.#fail(open, { kind: 'invalid', problem: open.unreadable });
        else if (isSent || open.isResumed) this.#resume(open, problem);
        else this.#fail(open, { kind: 'not-sent', problem, hadNoCredentials: hadNoCredentials(error) });
      },
    };
  }

  /** Looks at one message of a request's stream: it may be the answer, or a question whose answer has to be sent to the same place. */
  #note(value: unknown, open: OpenRequest): void {
    if (!isObject(value)) return;
    if ('method' in value) {
      if (isJsonRpcId(value['id']) && this.#questions.size < maxQuestions)
        this.#questions.set(idKey(value['id']), open);
    } else if (isSameId(value['id'], open.id) || isNamelessError(value)) this.#take(open);
  }

  #ended(open: OpenRequest, response: EndedResponse): void {
    const { status, mediaType, errorBody } = response;
    if (status < 300) {
      if (mediaType === 'text/event-stream' || open.isResumed)
        this.#resume(open, 'the server ended its answer without a result');
      else this.#fail(open, { kind: 'invalid', problem: describeSilence(response) });
      return;
    }
    // Only the answer to the POST itself proves that nothing was executed (2025-11-25 basic/transports, Session Management).
    if (open.isResumed)
      this.#fail(open, {
        kind: 'lost',
        problem: `the server took the request, but does not go on with its answer (HTTP ${status})`,
      });
    else if (
      status === 404 &&
      this.#sessionId !== undefined &&
      !answersRequest(errorBody, open.id, this.#options.limits)
    )
      this.#fail(open, { kind: 'session-gone', problem: 'the server has ended our session' });
    else if (status < 400)
      this.#fail(open, {
        kind: 'refused',
        httpStatus: status,
        problem: describeRedirect(response, 'POST', this.#options.url),
      });
    else {
      const said = errorIn(errorBody, open.id, this.#options.limits);
      this.#fail(open, {
        kind: 'refused',
        httpStatus: status,
        problem: describeStatus(response),
        doubtsSession: doubtsSession(response),
        retryAfterMs: response.retryAfterMs,
        ...said,
      });
      if (said.isAnswer === true) return;
    }
    if (response.location !== undefined)
      this.#observer.dropped('refusal', `HTTP ${status} to ${printable(response.location, 200)}`);
    if (errorBody !== '') this.#observer.dropped('refusal', `HTTP ${status}: ${errorBody}`);
  }

  /** Resumes a broken response stream after its last event (2025-11-25, Resumability and Redelivery). */
  #resume(open: OpenRequest, problem: string): void {
    if (
      open.lastEventId === undefined ||
      open.lastEventId === '' ||
      open.resumptions >= maxResumptions ||
      this.#isClosed
    ) {
      this.#fail(open, { kind: 'lost', problem });
      return;
    }
    open.resumptions += 1;
    open.isResumed = true;
    open.timer = setTimeout(() => {
      const reader = new ResponseReader(this.#requestObserver(open), this.#options.limits, this.#options.reading);
      open.reader = reader;
      this.#dispatch('GET', undefined, this.#listenHeaders(open.lastEventId), reader);
    }, open.reconnecting.next());
  }

  #lose(problem: string): void {
    if (!this.#isClosed) this.#observer.lost(problem);
  }

  #dispatch(
    method: 'POST' | 'GET' | 'DELETE',
    body: string | undefined,
    headers: Readonly<Record<string, string>>,
    reader: ResponseReader,
  ): void {
    this.#options.dispatcher.dispatch(
      { origin: this.#origin, method, path: this.#path, headers, body: body ?? null },
      reader,
    );
  }

  #listenHeaders(lastEventId: string | undefined): Readonly<Record<string, string>> {
    return {
      ...this.#headers,
      accept: 'text/event-stream',
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    };
  }

  #setHeaders(): void {
    this.#headers = {
      'accept-encoding': acceptedCodings,
      ...lowerCased(this.#options.headers),
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(this.#sessionId === undefined ? {} : { 'mcp-session-id': this.#sessionId }), // H2
      ...(this.#revision !== undefined && featuresOf(this.#revision).versionHeader
        ? { 'mcp-protocol-version': this.#revision }
        : {}),
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
      this.#dispatch(
        'DELETE',
        undefined,
        this.#headers,
        new ResponseReader(
          { ...silentObserver, ended: done, failed: done },
          this.#options.limits,
          this.#options.reading,
        ),
      );
    });
  }
}

function doubtsSession({ status, errorBody }: EndedResponse): boolean {
  return status === 410 || (status < 500 && saysSessionGone(errorBody));
}

/** Whether a message is an error without a request id (JSON-RPC 2.0, section 5). On a request's own stream it can only be meant for that request. */
function isNamelessError(value: unknown): value is JsonObject {
  return (
    isObject(value) && 'error' in value && !('method' in value) && (value['id'] === undefined || value['id'] === null)
  );
}

/**
 * Whether a 404 is the answer of a server that knows our session: its error has the request's own id and does not speak of sessions. One tool that answers
 * so must not end the session, which all callers share.
 */
function answersRequest(body: string, id: JsonRpcId, limits: HttpOptions['limits']): boolean {
  return !saysSessionGone(body) && errorIn(body, id, limits).hasOwnId === true;
}

/** The JSON-RPC error in the body of a refusal, if there is one. */
function errorIn(
  body: string,
  id: JsonRpcId,
  limits: HttpOptions['limits'],
): { readonly error?: JsonRpcErrorObject; readonly isAnswer?: boolean; readonly hasOwnId?: boolean } {
  const read = readJson(body, limits.maxUpstreamMessageBytes, limits);
  if (read.kind === 'refused') return {}; // Not JSON: a proxy's page, or text for people.
  const classified = classify(limits.repairs === undefined ? read.value : mended(read.value, limits.repairs));
  if (classified.kind !== 'response' || classified.message.error === undefined) return {};
  const hasOwnId = isSameId(classified.message.id, id);
  return { error: classified.message.error, isAnswer: classified.message.id === undefined || hasOwnId, hasOwnId };
}
