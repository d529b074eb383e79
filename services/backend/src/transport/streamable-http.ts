/**
 * Streamable HTTP as a client (2025-03-26 to 2025-11-25, transports). Each request is a POST with a response stream of its own; a standing GET brings
 * messages outside of requests. A broken response stream with event ids is resumed by a GET.
 *
 * Invariants
 *  H1  Every request ends in exactly one of: its answer, `requestFailed`, `abandon`, `lost`.
 *  H2  Our session id goes to this server and nowhere else.
 */
import { Link, Ring } from '@omnibus/collections';
import {
  featuresOf,
  idKey,
  isJsonRpcId,
  isObject,
  isSameId,
  printable,
  type JsonObject,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
  type Revision,
} from '@omnibus/protocol';
import type { Child, ChildOptions } from './child-process.ts';
import { Delivery, nameOf } from './delivery.ts';
import { streamableHeaders, type HttpOptions } from './http-options.ts';
import { connectionProblem, describeSilence, hadNoCredentials } from './problems.ts';
import { refusalOf } from './refusal-body.ts';
import { ResponseReader, type EndedResponse, type ResponseHeaders, type ResponseObserver } from './response-reader.ts';
import { isNamelessError, Reconnecting } from './server-words.ts';
import { isUsableSession, untilEnded, unusableSession } from './session-id.ts';
import { StandingStream } from './standing-stream.ts';
import type { RequestFailure, Transport, TransportObserver, UnusableQuestion } from './transport.ts';
import { startUrlProgram } from './url-program.ts';

export interface StreamableHttpOptions extends HttpOptions {
  /** A program that serves `url` and must be started first. */
  readonly child: ChildOptions | undefined;
}

const maxResumptions = 5;
const withoutResult = 'the server ended its answer without a result';
/** Milliseconds after an empty stream in which a server that has never answered on its standing stream may do so; it has failed more likely. */
const firstAnswerMs = 5_000;
/** Bound on questions of the server with a recorded call. */
const maxQuestions = 100;

export class StreamableHttpTransport implements Transport {
  readonly needsNoProbe = false;
  readonly closesToCancel = true;
  readonly keepsOrder = false;
  readonly takesNamelessErrors = false;
  readonly #options: StreamableHttpOptions;
  readonly observer: TransportObserver;
  readonly #origin: string;
  readonly #path: string;
  /** Requests without an answer. */
  readonly #open = new Ring<OpenRequest>();
  #child: Child | undefined;
  #sessionId: string | undefined;
  #revision: Revision | undefined;
  #standing: StandingStream | undefined;
  /** The request of a question's stream, by the question's id. */
  readonly #questions = new Map<string | number, OpenRequest>();
  /** Requests that were answered HTTP 202, or with an empty stream: their answers come on the standing stream, if at all. */
  readonly #deferred = new Set<OpenRequest>();
  /** Whether the server has answered a request on its standing stream. */
  #answersHere = false;
  readonly #delivery: Delivery;
  #headers: Record<string, string> = {};
  #isClosed = false;

  constructor(options: StreamableHttpOptions, observer: TransportObserver) {
    this.#options = options;
    this.observer = observer;
    const url = new URL(options.url);
    this.#path = `${url.pathname}${url.search}`;
    this.#origin = url.origin;
    this.#setHeaders();
    this.#delivery = new Delivery({
      limits: options.limits,
      reading: options.reading,
      post: (body, reader) => this.#dispatch('POST', body, this.#headers, reader),
      message: (value) => observer.message(value, undefined),
      sessionId: () => this.#sessionId,
      renamed: (session) => this.renamed(session),
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
    const { limits, reading, dispatcher } = this.#options;
    const open = new OpenRequest(message.id, this, this.#revision === undefined, this.#sessionId);
    const reader = new ResponseReader(open, limits, reading);
    open.reader = reader;
    this.#open.add(open);
    (dispatcher.direct ?? dispatcher).dispatch(
      {
        origin: this.#origin,
        method: 'POST',
        path: this.#path,
        headers: headers === undefined ? this.#headers : { ...this.#headers, ...headers },
        body: JSON.stringify(message),
      },
      reader,
    );
  }

  send(message: JsonRpcMessage, settled?: () => void): void {
    this.#delivery.deliver(message, settled);
  }

  abandon(id: JsonRpcId): void {
    const open = this.#open.find((each) => isSameId(each.id, id));
    if (open === undefined) return;
    this.take(open);
    open.reader?.abort();
  }

  agreed(revision: Revision): void {
    this.#revision = revision;
    this.#setHeaders();
  }

  listen(): void {
    this.#standing = new StandingStream({
      observer: this.observer,
      limits: this.#options.limits,
      reading: this.#options.reading,
      session: () => this.#sessionId,
      get: (lastEventId, reader) => this.#dispatch('GET', undefined, this.#listenHeaders(lastEventId), reader),
      message: (value) => this.#heard(value),
      invalid: (problem, answered, question) => this.#misheard(problem, answered, question),
      stopped: () => {
        for (const open of this.#deferred)
          this.fail(open, { kind: 'lost', problem: 'the stream on which its answer was to come has ended' });
      },
      lost: (problem) => this.#lose(problem),
    });
    this.#standing.open();
  }

  /** A message on the standing stream. */
  #heard(value: unknown): void {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
      const open = isObject(each) && !('method' in each) ? this.#openOf(each['id']) : undefined;
      if (open === undefined) continue;
      this.#answersHere = true;
      if (open.isDoubtful) this.#options.limits.repairs?.note('deferred-answer', 'an empty stream');
      // Its HTTP 202 may come later.
      this.take(open);
      open.reader?.letEnd();
    }
    this.observer.message(value, undefined);
  }

  /** An unreadable message on the standing stream. */
  #misheard(problem: string, answered: JsonRpcId | null | undefined, question?: UnusableQuestion): void {
    const open = this.#openOf(answered);
    if (open !== undefined && this.#deferred.has(open)) this.fail(open, { kind: 'invalid', problem });
    else {
      open?.suspect(problem);
      this.observer.dropped('invalid', problem, question);
    }
  }

  #openOf(id: unknown): OpenRequest | undefined {
    return this.#open.find((each) => isSameId(id, each.id));
  }

  /** Some servers accept a request as if it were a notification, or with a stream of no event, and answer it on the standing stream. */
  #isDeferred(open: OpenRequest, { status, mediaType }: EndedResponse): boolean {
    const { repairs } = this.#options.limits;
    const isEmpty = mediaType === 'text/event-stream' && !open.hasHeard && open.lastEventId === undefined;
    if ((!isEmpty && (status !== 202 || mediaType !== '')) || open.isResumed || repairs === undefined) return false;
    if (this.#standing?.mayBring !== true) return false;
    this.#deferred.add(open);
    open.isDoubtful = isEmpty && !this.#answersHere;
    if (open.isDoubtful)
      open.timer = setTimeout(() => {
        // It may have answered another request there since.
        if (!this.#answersHere) this.resume(open, withoutResult);
      }, firstAnswerMs);
    else repairs.note('deferred-answer', isEmpty ? 'an empty stream' : 'HTTP 202');
    return true;
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
    this.observer.dropped('undelivered', `${nameOf(message)}: ${problem}`);
    const open = this.#forgetQuestion(message);
    if (open === undefined || open.isOver) return;
    open.reader?.abort();
    this.fail(open, { kind: 'lost', problem: `the answer to what it asked could not be delivered: ${problem}` });
  }

  #forgetQuestion(message: JsonRpcMessage): OpenRequest | undefined {
    if ('method' in message || message.id === undefined) return undefined;
    const open = this.#questions.get(idKey(message.id));
    this.#questions.delete(idKey(message.id));
    return open;
  }

  /** @returns false when the request was already answered or given up. */
  take(open: OpenRequest): boolean {
    if (open.isOver) return false;
    open.isOver = true;
    this.#open.remove(open);
    if (this.#deferred.size > 0) this.#deferred.delete(open);
    if (this.#questions.size > 0)
      for (const [id, asker] of this.#questions) if (asker === open) this.#questions.delete(id);
    if (open.timer !== undefined) clearTimeout(open.timer);
    return true;
  }

  fail(open: OpenRequest, failure: RequestFailure): void {
    if (this.take(open)) this.observer.requestFailed(open.id, failure); // H1
  }

  /** The headers of the answer to the first request have come. */
  started(open: OpenRequest, status: number, headers: ResponseHeaders): void {
    const session = headers['mcp-session-id'];
    if (session === undefined || status >= 300 || this.#revision !== undefined || open.isResumed) return;
    const { repairs } = this.#options.limits;
    if (session === '' && repairs !== undefined) {
      repairs.note('empty-session', 'Mcp-Session-Id');
      return;
    }
    if (!isUsableSession(session, repairs)) {
      open.reader?.abort();
      this.fail(open, { kind: 'invalid', problem: unusableSession });
      return;
    }
    this.#enter(session);
  }

  /**
   * A later answer names another session: the official SDK clients follow the newest id. No session begins after the handshake, since callers may share a
   * connection without one.
   */
  renamed(session: string): void {
    const { repairs } = this.#options.limits;
    if (this.#revision === undefined || !featuresOf(this.#revision).sessions) return;
    if (this.#sessionId === undefined && this.#standing !== undefined) return;
    if (repairs === undefined || session === this.#sessionId || session === '' || !isUsableSession(session, repairs))
      return;
    repairs.note('new-session', 'Mcp-Session-Id');
    this.#enter(session);
  }

  #enter(session: string): void {
    this.#sessionId = session;
    this.#options.noteSession?.(session);
    this.#setHeaders();
  }

  /** A question of the server came on the stream of a request. */
  asked(open: OpenRequest, { id }: JsonObject): void {
    if (isJsonRpcId(id) && this.#questions.size < maxQuestions) this.#questions.set(idKey(id), open);
  }

  /** A response has ended, and none of its messages was the answer. */
  ended(open: OpenRequest, response: EndedResponse): void {
    const { status, mediaType, errorBody } = response;
    if (status < 300) {
      if (this.#isDeferred(open, response)) return;
      if (mediaType === 'text/event-stream' || open.isResumed) this.resume(open, withoutResult);
      else this.fail(open, { kind: 'invalid', problem: describeSilence(response), saidNothing: true });
      return;
    }
    const { limits, url } = this.#options;
    const failure = refusalOf(response, open, { limits, url, session: this.#sessionId });
    this.fail(open, failure);
    if (failure.kind === 'refused' && failure.isAnswer === true) return;
    if (response.location !== undefined)
      this.observer.dropped('refusal', `HTTP ${status} to ${printable(response.location, 200)}`);
    if (errorBody !== '') this.observer.dropped('refusal', `HTTP ${status}: ${errorBody}`);
  }

  /** Resumes a broken response stream after its last event (2025-11-25, Resumability and Redelivery). */
  resume(open: OpenRequest, problem: string): void {
    if (
      open.lastEventId === undefined ||
      open.lastEventId === '' ||
      open.resumptions >= maxResumptions ||
      this.#isClosed
    ) {
      this.fail(open, { kind: 'lost', problem });
      return;
    }
    open.resumptions += 1;
    open.isResumed = true;
    open.timer = setTimeout(() => {
      const reader = new ResponseReader(open, this.#options.limits, this.#options.reading);
      open.reader = reader;
      this.#dispatch('GET', undefined, this.#listenHeaders(open.lastEventId), reader);
    }, open.reconnecting.next());
  }

  #lose(problem: string): void {
    if (!this.#isClosed) this.observer.lost(problem);
  }

  #dispatch(
    method: 'POST' | 'GET' | 'DELETE',
    body: string | undefined,
    headers: Readonly<Record<string, string>>,
    reader: ResponseReader,
  ): void {
    const { dispatcher } = this.#options;
    (method === 'POST' ? (dispatcher.direct ?? dispatcher) : dispatcher).dispatch(
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
    this.#headers = streamableHeaders(this.#options.headers, this.#sessionId, this.#revision); // H2
  }

  #deleteSession(): Promise<void> {
    if (this.#sessionId === undefined) return Promise.resolve();
    const { limits, reading } = this.#options;
    return untilEnded((observer) => {
      const reader = new ResponseReader(observer, limits, reading);
      reader.letEnd();
      this.#dispatch('DELETE', undefined, this.#headers, reader);
    });
  }
}

/** A request without an answer: it hears what comes on its response stream, or on the streams that resume that one. */
class OpenRequest extends Link implements ResponseObserver {
  readonly id: JsonRpcId;
  readonly #transport: StreamableHttpTransport;
  readonly started: ResponseObserver['started'];
  readonly sessionId: string | undefined;
  reader: ResponseReader | undefined;
  lastEventId: string | undefined;
  /** Undefined while its stream has brought no event. */
  #reconnecting: Reconnecting | undefined;
  resumptions = 0;
  /** The problem of an unreadable event, which may have been the answer. */
  #unreadable: string | undefined;
  timer: NodeJS.Timeout | undefined;
  /** Whether its response has brought an event, readable or not. */
  hasHeard = false;
  /** Whether its stream was empty, which may have been a failure. */
  isDoubtful = false;
  /** Whether its response now comes over a GET that resumes the stream; the POST itself was accepted. */
  isResumed = false;
  /** Whether it was answered or given up. */
  isOver = false;

  /** @param opensSession whether its answer may bring a session id. */
  constructor(id: JsonRpcId, transport: StreamableHttpTransport, opensSession: boolean, sessionId: string | undefined) {
    super();
    this.id = id;
    this.sessionId = sessionId;
    this.#transport = transport;
    this.started = opensSession ? (status, headers) => transport.started(this, status, headers) : undefined;
  }

  get reconnecting(): Reconnecting {
    this.#reconnecting ??= new Reconnecting();
    return this.#reconnecting;
  }

  renamed(status: number, session: string): void {
    if (status < 300 && !this.isResumed) this.#transport.renamed(session);
  }

  message(value: unknown): void {
    const { id } = this;
    this.#reconnecting?.isWell();
    if (isObject(value) && value['id'] === id && !('method' in value)) {
      this.#transport.take(this);
      this.#transport.observer.message(value, id);
      return;
    }
    this.hasHeard = true;
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) this.#note(each);
    this.#transport.observer.message(isNamelessError(value) ? { ...value, id } : value, id);
  }

  /** Looks at one message: it may be the answer, or a question whose answer must be sent to the same place. */
  #note(value: unknown): void {
    if (!isObject(value)) return;
    if ('method' in value) this.#transport.asked(this, value);
    else if (isSameId(value['id'], this.id) || isNamelessError(value)) this.#transport.take(this);
  }

  otherEvent(): void {
    // Servers use other events to keep streams open.
    this.hasHeard = true;
  }

  invalid(problem: string, answered: JsonRpcId | null | undefined, question?: UnusableQuestion): void {
    this.hasHeard = true;
    if (isSameId(answered, this.id)) {
      this.#transport.fail(this, { kind: 'invalid', problem });
      return;
    }
    if (answered === undefined) this.suspect(problem);
    this.#transport.observer.dropped('invalid', problem, question);
  }

  /** A later event may be the answer. If none has come by the end of the response, the unreadable one counts as the answer. */
  suspect(problem: string): void {
    this.#unreadable ??= problem;
  }

  eventId(eventId: string): void {
    this.lastEventId = eventId;
    this.resumptions = 0;
    this.reconnecting.hasMoved();
  }

  retry(ms: number): void {
    this.reconnecting.ask(ms);
  }

  ended(response: EndedResponse): void {
    if (this.isOver) return;
    if (this.#unreadable === undefined) this.#transport.ended(this, response);
    else this.#transport.fail(this, { kind: 'invalid', problem: this.#unreadable });
  }

  failed(error: Error, isSent: boolean): void {
    if (this.isOver) return;
    const problem = connectionProblem(error, isSent);
    if (this.#unreadable !== undefined) this.#transport.fail(this, { kind: 'invalid', problem: this.#unreadable });
    else if (isSent || this.isResumed) this.#transport.resume(this, problem);
    else this.#transport.fail(this, { kind: 'not-sent', problem, hadNoCredentials: hadNoCredentials(error) });
  }
}
