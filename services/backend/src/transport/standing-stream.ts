/**
 * The stream on which a server may send messages outside of requests (2025-03-26 to 2025-11-25, Listening for Messages from the Server). When it ends, it
 * is opened again after its last event. A server without one answers 405; many answer 404, and some give wrong answers while they start, so after any
 * other refusal the stream is tried again with growing pauses.
 */
import { printable } from '@omnibus/protocol';
import type { MessageLimits } from './incoming.ts';
import type { ReadingShare } from './reading-budget.ts';
import { hadNoCredentials } from './problems.ts';
import { ResponseReader, silentObserver, type EndedResponse, type ResponseObserver } from './response-reader.ts';
import { Reconnecting, saysSessionGone } from './server-words.ts';
import type { TransportObserver } from './transport.ts';

export interface StandingStreamOptions {
  readonly observer: TransportObserver;
  readonly limits: MessageLimits;
  readonly reading: ReadingShare;
  /** The present session; undefined for none. */
  readonly session: () => string | undefined;
  readonly get: (lastEventId: string | undefined, reader: ResponseReader) => void;
  readonly message: (value: unknown) => void;
  /** As in `ResponseObserver`. */
  readonly invalid: ResponseObserver['invalid'];
  /** The stream was refused or has ended; it may be opened again. */
  readonly stopped: () => void;
  /** The server can no longer be reached. */
  readonly lost: (problem: string) => void;
}

/** Milliseconds within which the first stream must be open. Messages that the server sends before are lost, as in any later interruption. */
const promptMs = 1_000;
/** A stream that was open for this long counts as useful. */
const longMs = 5_000;
/** Pauses before a refused stream is tried again: the first one, which doubles each time, and the longest. */
const refusedMs = 1_000;
const maxRefusedMs = 5 * 60_000;
/** Types of a page or a notice in the place of the stream. Events of any other type are read as the official SDK clients read them. */
const neverEvents: ReadonlySet<string> = new Set(['application/json', 'text/html']);
/** Statuses of a server that has no such stream (2025-11-25 basic/transports), or does not support GET. */
const neverOffered: ReadonlySet<number> = new Set([405, 501]);

/** One GET for the stream. */
interface Attempt {
  readonly openedAt: number;
  /** The session in which it was sent; undefined for none. */
  readonly session: string | undefined;
  /** Its Content-Type in words, if events are read although it is another. */
  otherType: string | undefined;
  /** Whether it has shown to be a stream of events. */
  stands: boolean;
}

export class StandingStream {
  readonly #options: StandingStreamOptions;
  readonly #reconnecting = new Reconnecting();
  #lastEventId: string | undefined;
  #reader: ResponseReader | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the stream was open in this session, so that the server knew the session then. */
  #hasStood = false;
  /** Refusals in a row. */
  #refusals = 0;
  #attempts = 0;
  #isClosed = false;
  #isStopped = false;

  constructor(options: StandingStreamOptions) {
    this.#options = options;
  }

  /** Whether the stream is open or being opened. */
  get mayBring(): boolean {
    return !this.#isClosed && !this.#isStopped;
  }

  open(): void {
    if (this.#isClosed) return;
    this.#isStopped = false;
    const { limits, reading, get, session } = this.#options;
    this.#attempts += 1;
    const attempt = { openedAt: performance.now(), session: session(), otherType: undefined, stands: false };
    this.#reader = new ResponseReader(this.#hearing(attempt), limits, reading);
    get(this.#lastEventId, this.#reader);
  }

  #hearing(attempt: Attempt): ResponseObserver {
    const { limits, message, invalid, lost } = this.#options;
    return {
      ...silentObserver,
      started: (status, headers) => {
        const isEvents = String(headers['content-type']).toLowerCase().startsWith('text/event-stream');
        if (status < 300 && isEvents) this.#stands(attempt);
      },
      // It may be no stream: it counts as one with its first message.
      readsAsEvents: (mediaType) => {
        if (limits.repairs === undefined || neverEvents.has(mediaType)) return false;
        attempt.otherType = mediaType === '' ? 'no Content-Type' : `Content-Type: ${mediaType}`;
        return true;
      },
      message: (value) => {
        if (attempt.otherType !== undefined) this.#stands(attempt);
        // A JSON text in its place is no stream, and has no events.
        if (attempt.stands) this.#reconnecting.isWell();
        message(value);
      },
      invalid,
      eventId: (id) => {
        this.#lastEventId = id === '' ? undefined : id;
        this.#reconnecting.hasMoved();
      },
      retry: (ms) => this.#reconnecting.ask(ms),
      ended: (response) => {
        if (this.#stop()) this.#ended(attempt, response);
      },
      failed: (error, isSent) => {
        if (!this.#stop()) return;
        if (isSent) this.#again(attempt);
        // It was not tried; requests show what that means for the connection.
        else if (hadNoCredentials(error)) this.#later();
        else lost(`cannot connect: ${printable(error.message)}`);
      },
    };
  }

  /** The response is a stream of events. */
  #stands(attempt: Attempt): void {
    if (attempt.stands) return;
    attempt.stands = true;
    const { observer, limits } = this.#options;
    if (attempt.otherType !== undefined) limits.repairs?.note('stream-type', attempt.otherType);
    if (this.#attempts > 1 || performance.now() - attempt.openedAt > promptMs) observer.missed();
    this.#hasStood = true;
    this.#refusals = 0;
  }

  #ended(attempt: Attempt, { status, errorBody }: EndedResponse): void {
    if (attempt.stands) {
      this.#again(attempt);
      return;
    }
    if (neverOffered.has(status)) return;
    this.#later();
    // Right after a handshake this only means that there is no stream; calls will show whether the session is known.
    if (!this.#hasStood || attempt.session === undefined || attempt.session !== this.#options.session()) return;
    if (status === 404 || status === 410 || (status < 500 && saysSessionGone(errorBody)))
      this.#options.observer.sessionGone();
  }

  #again({ openedAt }: Attempt): void {
    if (this.#isClosed) return;
    if (performance.now() - openedAt >= longMs) this.#reconnecting.isWell();
    this.#timer = setTimeout(() => this.open(), this.#reconnecting.next());
  }

  #later(): void {
    const pauseMs = Math.min(refusedMs * 2 ** Math.min(this.#refusals, 20), maxRefusedMs);
    this.#timer = setTimeout(() => this.open(), pauseMs);
    this.#refusals += 1;
  }

  /** @returns false if it was closed. */
  #stop(): boolean {
    if (this.#isClosed) return false;
    this.#isStopped = true;
    this.#options.stopped();
    return true;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#reader?.abort();
  }
}
