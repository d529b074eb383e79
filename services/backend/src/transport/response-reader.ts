/**
 * Reads one HTTP response of a Streamable HTTP server: a JSON body or a stream of events.
 *
 * An idle connection of the pool remembers its last reader until its next request, so a finished reader releases everything. Otherwise each idle connection
 * would keep a whole call in memory, up to the client's request.
 */
import { createParser, type EventSourceParser } from 'eventsource-parser';
import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';
import { Pieces } from '@omnibus/collections';
import { proxyRefused } from '@omnibus/lifecycle';
import { insufficientScope, readChallenge, type Challenge } from '@omnibus/credentials';
import { leastWireBytes, mediaTypeOf, readAnswer, type JsonRpcId } from '@omnibus/protocol';
import { addressRefused } from './address-rule.ts';
import { readIncoming, type MessageLimits } from './incoming.ts';
import { Reading, smallBytes, type ReadingShare } from './reading-budget.ts';
import type { RedirectHandler } from './redirect-follower.ts';
import { isEventId } from './server-words.ts';
import type { UnusableQuestion } from './transport.ts';
import { noCredentials } from './trouble.ts';
import { canUnpack, isUnpacked, Unpacker } from './unpacker.ts';

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface ResponseObserver {
  /** The status line and headers have arrived, and nothing of the body. */
  started?: ((status: number, headers: ResponseHeaders) => void) | undefined;
  /** The session in which the request was sent; undefined for none. */
  readonly sessionId?: string | undefined;
  /** Whether a body of another type is read as events; left out if none is. */
  readonly readsAsEvents?: ((mediaType: string) => boolean) | undefined;
  /** Whether nothing waits for the rest of a stream of events; left out if something always does. */
  readonly isOver?: boolean;
  /** The headers name another session. Called before `started`. */
  renamed?: ((status: number, session: string) => void) | undefined;
  message(value: unknown): void;
  /** @param id of the request that the bad message was to answer; `null` when it was to answer none, undefined when it cannot be known. */
  invalid(problem: string, id: JsonRpcId | null | undefined, question?: UnusableQuestion): void;
  /** The stream brought an event that is not a message. */
  otherEvent(name: string, data: string): void;
  /** The id of the last event, after which the stream can be resumed; valid as a header. */
  eventId(id: string): void;
  /** Milliseconds that the server asks to wait before reconnecting. */
  retry(ms: number): void;
  ended(response: EndedResponse): void;
  /** @param isSent false when the request has certainly not reached the server. */
  failed(error: Error, isSent: boolean): void;
}

export interface EndedResponse {
  readonly status: number;
  /** The media type in lower case and without parameters; empty when there was none. */
  readonly mediaType: string;
  /** The beginning of the body if the status was an error, for the operator's log; otherwise empty. */
  readonly errorBody: string;
  /** Where a redirect leads to; left out otherwise. */
  readonly location?: string;
  /** Whether a 403 says how to show credentials (`WWW-Authenticate`); left out if not. */
  readonly isChallenge?: true;
  /** The server's challenge in a refusal for too few rights (RFC 6750, 3.1); left out otherwise. */
  readonly lacking?: Challenge;
  /** Milliseconds after which the server takes the request; left out where it does not say. */
  readonly retryAfterMs?: number;
}

/** An observer that ignores everything, as a base for observers of unimportant responses. */
export const silentObserver: ResponseObserver = {
  message: () => undefined,
  invalid: () => undefined,
  otherEvent: () => undefined,
  eventId: () => undefined,
  retry: () => undefined,
  ended: () => undefined,
  failed: () => undefined,
};

const longestWaitMs = 24 * 60 * 60_000;

/** Until when a server wants no more requests (RFC 9110, 10.2.3), in milliseconds from now: with 429 (RFC 6585, 4) and 503, which both say that it did not serve this one. */
function waitIn(status: number, { 'retry-after': said }: ResponseHeaders): { readonly retryAfterMs?: number } {
  if ((status !== 429 && status !== 503) || typeof said !== 'string') return {};
  const ms = /^\d+$/.test(said) ? Number(said) * 1_000 : Date.parse(said) - Date.now();
  return Number.isNaN(ms) ? {} : { retryAfterMs: Math.min(Math.max(0, ms), longestWaitMs) };
}

function locationIn({ location }: ResponseHeaders): { readonly location?: string } {
  return typeof location === 'string' ? { location } : {};
}

function refusalOf(status: number, mediaType: string, headers: ResponseHeaders): EndedResponse {
  const { 'www-authenticate': header } = headers;
  if (status === 403 && header !== undefined) {
    const challenge = readChallenge(header);
    const isLacking = challenge.error === insufficientScope;
    return { status, mediaType, errorBody: '', isChallenge: true, ...(isLacking ? { lacking: challenge } : {}) };
  }
  return { status, mediaType, errorBody: '', ...(status < 400 ? locationIn(headers) : waitIn(status, headers)) };
}

/**
 * Milliseconds in which a server may still end a response when nothing depends on that any more. Some never do, and each such response would occupy a connection. It
 * is not closed at once, since the server may run what is to be done in its handler of the request.
 */
const maxLeftMs = 10_000;
const keptErrorBody = 64 * 1024;
/** Bound on interim responses (1xx) before the real one. */
const maxInterimResponses = 20;
const notConnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_INVALID_ARG',
  addressRefused,
  proxyRefused,
  noCredentials,
]);
/** Whether an error of a request proves that nothing reached the server. */
export function wasNotSent({ code }: NodeJS.ErrnoException): boolean {
  return code !== undefined && notConnected.has(code);
}

const nothing = Buffer.alloc(0);
const released: EndedResponse = { status: 0, mediaType: '', errorBody: '' };

/** Smaller parts of a line of events are joined. */
const leastPart = 1_024;
const lineFeed = 10;
const carriageReturn = 13;

/** The beginning of a line of a stream of events, which tells one without a Content-Type from a page. */
const lineOfEvents = /^\uFEFF?(?:data|event|id|retry)?:/m;
/** Comments keep a quiet stream open, for weeks. */
const comments = /^(?:(?::[^\r\n]*)?[\r\n])+$/;
const startOfLine = /(?:^|[\r\n])$/;
/** The end of an event, after which nothing is held. */
const emptyLine = /(?:\n\n|[\r\n]\r\n?)$/;
/** What the parser holds for each line of an event beside its text, about. */
const lineBytes = 64;

/** The number of lines that end in a text, about. */
function linesOf(text: string): number {
  return Math.max(countOf('\n', text), countOf('\r', text));
}

function countOf(character: string, text: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) count += 1;
  return count;
}

interface Events {
  readonly parser: EventSourceParser;
  readonly decoder: StringDecoder;
  /** The last characters so far, since a chunk may end between two line ends. */
  last: string;
}

export class ResponseReader implements RedirectHandler {
  /** Where the server has redirected the request to; undefined if it has not. */
  address: URL | undefined;
  #observer: ResponseObserver;
  readonly #limits: MessageLimits;
  #controller: Dispatcher.DispatchController | undefined;
  #interim = 0;
  #response = released;
  #mode: 'json' | 'events' | 'error' | 'ignore' = 'ignore';
  /** What is held of the body; of a stream of events, the beginning of a line. Nearly every answer comes in one piece. */
  #held: Buffer | Pieces = nothing;
  /** Of the body; of a stream of events, those since an event ended. */
  #bytes = 0;
  #events: Events | undefined;
  /** Whether it is known to be a stream of events. */
  #hasEvents = false;
  /** Unpacks the body of a packed response. */
  #unpacker: Unpacker | undefined;
  #isOver = false;
  /** Ends a response that nothing depends on any more. */
  #left: NodeJS.Timeout | undefined;
  /** The number of complete messages so far. */
  #messages = 0;
  readonly #share: ReadingShare;
  /** Counts the bytes of the incomplete message; undefined while they are few. */
  #reading: Reading | undefined;

  /** @param share of the bytes of large answers that are read at the same time. */
  constructor(observer: ResponseObserver, limits: MessageLimits, share: ReadingShare) {
    this.#observer = observer;
    this.#limits = limits;
    this.#share = share;
  }

  /** Ends the response without calling the observer again. */
  abort(): void {
    const controller = this.#controller;
    this.#isOver = true;
    this.#release();
    controller?.abort(new Error('abandoned'));
  }

  /** Nothing depends on the rest of the response: if the server does not end it within a while, it ends here. */
  letEnd(): void {
    if (this.#isOver) return;
    this.#left ??= setTimeout(() => {
      const [observer, response] = [this.#observer, this.#response];
      this.abort();
      observer.ended(response);
    }, maxLeftMs).unref();
  }

  redirected(to: URL): void {
    this.address = to;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('abandoned'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (this.#isOver) return;
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > maxInterimResponses)
        this.#refuse(`it sent more than ${maxInterimResponses} responses that are none (HTTP ${status})`);
      return;
    }
    const { 'content-type': type } = headers;
    const mediaType = type === 'application/json' ? type : mediaTypeOf(type);
    this.#response = status < 300 ? { status, mediaType, errorBody: '' } : refusalOf(status, mediaType, headers);
    const coding =
      headers['content-encoding'] === undefined ? 'identity' : String(headers['content-encoding']).trim().toLowerCase();
    const { 'mcp-session-id': session } = headers;
    if (typeof session === 'string' && session !== this.#observer.sessionId) this.#observer.renamed?.(status, session);
    this.#observer.started?.(status, headers);
    if (this.#isOver) return;
    if (coding !== 'identity' && canUnpack(coding)) this.#unpacker = this.#createUnpacker(coding, controller);
    if (status >= 400) this.#mode = 'error';
    else if (this.#unpacker === undefined && coding !== 'identity' && !this.#readsAsItIs(coding))
      this.#refuse('it packed its answer in a way that the gateway did not ask for (Content-Encoding)');
    else this.#readAs(status, mediaType);
  }

  /** Chooses how the body is read, by its type. */
  #readAs(status: number, mediaType: string): void {
    const isEvents =
      mediaType === 'text/event-stream' || (status < 300 && this.#observer.readsAsEvents?.(mediaType) === true);
    this.#hasEvents = mediaType === 'text/event-stream';
    if (isEvents) this.#events = { parser: this.#createParser(), decoder: new StringDecoder('utf8'), last: '' };
    this.#mode = isEvents ? 'events' : mediaType === 'application/json' ? 'json' : 'ignore';
  }

  /** @param source of the chunk, which can be paused: the controller of the response, or what unpacks it. */
  onResponseData(source: Pick<Dispatcher.DispatchController, 'pause'>, chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#unpacker !== undefined && source !== this.#unpacker) {
      this.#unpacker.write(chunk);
      return;
    }
    if (this.#events !== undefined) {
      this.#readEvents(this.#events, source, chunk);
      return;
    }
    this.#bytes += chunk.length;
    if (this.#mode === 'json' && this.#bytes > this.#limits.maxUpstreamMessageBytes) {
      this.#refuse(`its answer is larger than ${this.#limits.maxUpstreamMessageBytes} bytes`);
      return;
    }
    if (this.#held instanceof Pieces) this.#held.add(chunk);
    else if (this.#mode !== 'ignore') this.#held = this.#held === nothing ? chunk : new Pieces(this.#held, chunk);
    if (this.#mode !== 'json') {
      if (this.#bytes > keptErrorBody) this.#stopReading();
    } else if (this.#bytes > smallBytes) this.#hold(source, chunk.length);
  }

  #readEvents(events: Events, source: Pick<Dispatcher.DispatchController, 'pause'>, chunk: Buffer): void {
    const bytes = this.#joinedWith(chunk);
    if (bytes === undefined) return;
    const text = events.decoder.write(bytes);
    this.#hasEvents ||= lineOfEvents.test(text);
    // Nothing is held of comments.
    const isHeld = !this.#hasEvents || !startOfLine.test(events.last) || !comments.test(text);
    events.last = (events.last + text.slice(-3)).slice(-3);
    const before = this.#messages;
    // With the beginning of a line behind it, the parser would keep all of a large event.
    const end = this.#bytes > smallBytes ? Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1 : 0;
    if (end > 0) events.parser.feed(text.slice(0, end));
    events.parser.feed(text.slice(end));
    // What was held has been passed on, and the rest of the chunk is small.
    if (this.#messages !== before) {
      this.#endReading();
      if (this.#observer.isOver === true) this.letEnd();
    } else if (this.#hasEvents && emptyLine.test(events.last)) this.#endReading();
    else this.#countEvent(source, isHeld ? bytes.length + lineBytes * linesOf(text) : 0);
  }

  /** @param bytes that are held of a chunk without the end of an event. */
  #countEvent(source: Pick<Dispatcher.DispatchController, 'pause'>, bytes: number): void {
    const { maxUpstreamMessageBytes: most } = this.#limits;
    this.#bytes += bytes;
    if (!this.#hasEvents) {
      if (this.#bytes > keptErrorBody) this.#stopReading();
    } else if (this.#bytes > most)
      this.#refuse(`it sent an event larger than ${most} bytes (each line counts ${lineBytes} more)`);
    else if (this.#bytes > smallBytes) this.#hold(source, bytes);
  }

  /** Joins small parts of a line, since the parser keeps each as a text of its own. @returns undefined while they are few and the line goes on. */
  #joinedWith(chunk: Buffer): Buffer | undefined {
    const goesOn = chunk.length < leastPart && !chunk.includes(lineFeed) && !chunk.includes(carriageReturn);
    if (this.#held === nothing && !goesOn) return chunk;
    const held = this.#held instanceof Pieces ? this.#held : new Pieces();
    this.#held = held;
    held.add(chunk);
    if (goesOn && held.bytes < leastPart) return undefined;
    this.#held = nothing;
    return held.joined();
  }

  /** An endless page must not occupy a connection. */
  #stopReading(): void {
    const controller = this.#controller;
    this.#unpacked();
    controller?.abort(new Error('the rest does not matter'));
  }

  onResponseEnd(): void {
    if (this.#unpacker !== undefined) {
      // The connection serves the next request now.
      this.#controller = undefined;
      this.#unpacker.end();
      return;
    }
    if (this.#isOver) return;
    const observer = this.#observer;
    // A large answer is not joined for good. What is no answer, or may be a wrong one, is read below.
    const held = this.#held;
    const isLarge = this.#mode === 'json' && held instanceof Pieces && this.#bytes >= leastWireBytes;
    const answer = isLarge ? readAnswer(held.all, this.#limits) : undefined;
    if (answer !== undefined) {
      this.#isOver = true;
      const response = this.#response;
      observer.message(answer);
      this.#release();
      observer.ended(response);
      return;
    }
    const body = held instanceof Pieces ? held.joined() : held;
    if (this.#mode === 'json' && body.length > 0) this.#hear(body);
    const ended =
      this.#mode === 'error'
        ? { ...this.#response, errorBody: body.toString('utf8', 0, keptErrorBody) }
        : this.#response;
    this.#isOver = true;
    this.#release();
    observer.ended(ended);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // Earlier bytes may be the answer.
    if (this.#unpacker === undefined) this.#fail(error);
    else this.#unpacker.end(() => this.#fail(error));
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    const observer = this.#observer;
    this.#isOver = true;
    this.#release();
    observer.failed(error, !wasNotSent(error));
  }

  /** @param coding of a body that is not unpacked, other than `identity`. */
  #readsAsItIs(coding: string): boolean {
    if (coding === '') return true;
    const { repairs } = this.#limits;
    if (repairs === undefined || !isUnpacked(coding)) return false;
    repairs.note('no-packing', `Content-Encoding: ${coding}`);
    return true;
  }

  /** Stops reading, since the response cannot be an answer. */
  #refuse(problem: string): void {
    const observer = this.#observer;
    this.abort();
    observer.invalid(problem, undefined);
    observer.failed(new Error(problem), true);
  }

  /** Counts the received bytes of a large incomplete message; if there are too many, the rest must wait. */
  #hold(source: Pick<Dispatcher.DispatchController, 'pause'>, bytes: number): void {
    if (this.#isOver) return;
    const added = this.#reading === undefined ? this.#bytes : bytes;
    // Reading resumes in a later turn of the event loop, since a resumed answer may end at once and let the next one resume.
    this.#reading ??= new Reading(this.#share, () =>
      setImmediate(() => (this.#unpacker ?? this.#controller)?.resume()),
    );
    if (!this.#reading.add(added)) source.pause();
  }

  #endReading(): void {
    this.#bytes = 0;
    this.#reading?.end();
    this.#reading = undefined;
  }

  #createUnpacker(coding: string, controller: Dispatcher.DispatchController): Unpacker {
    const unpacker = new Unpacker(coding, {
      data: (chunk) => this.onResponseData(unpacker, chunk),
      end: () => this.#unpacked(),
      refused: (problem) => this.#refuse(problem),
      // After its end the response is no longer the one of its connection.
      pause: () => (this.#controller === undefined ? undefined : controller.pause()),
      resume: () => this.#controller?.resume(),
    });
    return unpacker;
  }

  /** The body has ended, or as much of it as counts. */
  #unpacked(): void {
    this.#unpacker?.stop();
    this.#unpacker = undefined;
    this.onResponseEnd();
  }

  #release(): void {
    this.#reading?.end();
    if (this.#left !== undefined) clearTimeout(this.#left);
    this.#unpacker?.stop();
    this.#unpacker = undefined;
    this.#observer = silentObserver;
    this.#controller = undefined;
    this.#held = nothing;
    this.#events = undefined;
  }

  #createParser(): EventSourceParser {
    return createParser({
      onEvent: ({ event, data }) => {
        this.#messages += 1;
        if (event !== undefined && event !== 'message') this.#observer.otherEvent(event, data);
        else if (data !== '') this.#hear(data);
      },
      onId: (id) => {
        if (isEventId(id)) this.#observer.eventId(id);
      },
      onRetry: (ms) => this.#observer.retry(ms),
    });
  }

  #hear(input: Buffer | string): void {
    const incoming = readIncoming(input, this.#limits);
    if ('value' in incoming) this.#observer.message(incoming.value);
    else this.#observer.invalid(incoming.problem, incoming.id, incoming.question);
  }
}
