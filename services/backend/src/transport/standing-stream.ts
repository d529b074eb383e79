/**
 * The stream a legacy server may speak on of its own accord (2025-03-26 to 2025-11-25, Listening for Messages from the Server). It is
 * opened again when it ends, after its last event; a server that offers none says so with an HTTP error.
 */
import { printable } from '@omnibus/protocol';
import type { MessageLimits } from './incoming.ts';
import { ResponseReader, silentObserver } from './response-reader.ts';
import { Reconnecting } from './server-words.ts';
import type { TransportObserver } from './transport.ts';

export interface StandingStreamOptions {
  readonly observer: TransportObserver;
  readonly limits: MessageLimits;
  readonly get: (lastEventId: string | undefined, reader: ResponseReader) => void;
  /** It was answered 404. */
  readonly sessionGone: () => void;
  /** Nobody is there any more. */
  readonly lost: (problem: string) => void;
}

/** A stream that stood for this long was worth opening. */
const longMs = 5_000;

export class StandingStream {
  readonly #options: StandingStreamOptions;
  readonly #reconnecting = new Reconnecting();
  #lastEventId: string | undefined;
  #reader: ResponseReader | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: StandingStreamOptions) {
    this.#options = options;
  }

  open(): void {
    if (this.#isClosed) return;
    const { observer, limits, get, sessionGone, lost } = this.#options;
    const openedAt = performance.now();
    const again = (): void => {
      if (this.#isClosed) return;
      if (performance.now() - openedAt >= longMs) this.#reconnecting.isWell();
      this.#timer = setTimeout(() => this.open(), this.#reconnecting.next());
    };
    this.#reader = new ResponseReader({
      ...silentObserver,
      message: (value) => {
        this.#reconnecting.isWell();
        observer.message(value, undefined);
      },
      invalid: (problem, _answered, question) => observer.dropped('invalid', problem, question),
      eventId: (id) => {
        this.#lastEventId = id === '' ? undefined : id;
        this.#reconnecting.hasMoved();
      },
      retry: (ms) => this.#reconnecting.ask(ms),
      ended: ({ status, mediaType }) => {
        if (this.#isClosed) return;
        if (status === 404) sessionGone();
        // Anything but a stream means that there is none to be had here; a server in trouble may have one later.
        else if (status >= 500 || (status < 300 && mediaType === 'text/event-stream')) again();
      },
      failed: (error, isSent) => {
        if (this.#isClosed) return;
        if (isSent) again();
        else lost(`cannot connect: ${printable(error.message)}`);
      },
    }, limits);
    get(this.#lastEventId, this.#reader);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#reader?.abort();
  }
}
