/**
 * Reads one HTTP response of a Streamable HTTP server: a JSON body or a stream of events.
 *
 * An idle connection of the pool remembers its last reader until its next request, so a reader that is done lets go of
 * everything: else each idle connection would hold a whole call, up to the client's request, into the old generation.
 */
import { createParser, type EventSourceParser } from 'eventsource-parser';
import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';

export interface ResponseObserver {
  /** The status line and headers, before any of the body. */
  started(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void;
  message(value: unknown): void;
  invalid(problem: string): void;
  /** An event that is no message. */
  otherEvent(name: string, data: string): void;
  /** The id of the last event, which a resumption continues after. */
  eventId(id: string): void;
  /** Milliseconds the server asks to wait before reconnecting. */
  retry(ms: number): void;
  /** The response is over. @param errorBody the beginning of the body when the status was an error. */
  ended(status: number, errorBody: string): void;
  /** @param isSent false when the request cannot have reached the server. */
  failed(error: Error, isSent: boolean): void;
}

/** Hears nothing; a base for observers of responses that matter little. */
export const silentObserver: ResponseObserver = {
  started: () => undefined,
  message: () => undefined,
  invalid: () => undefined,
  otherEvent: () => undefined,
  eventId: () => undefined,
  retry: () => undefined,
  ended: () => undefined,
  failed: () => undefined,
};

const keptErrorBody = 64 * 1024;
const notConnected = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

export class ResponseReader implements Dispatcher.DispatchHandler {
  #observer: ResponseObserver;
  readonly #maxBytes: number;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #mode: 'json' | 'events' | 'error' | 'ignore' = 'ignore';
  #chunks: Buffer[] = [];
  #bytes = 0;
  #events: { readonly parser: EventSourceParser; readonly decoder: StringDecoder } | undefined;
  #isAborted = false;

  constructor(observer: ResponseObserver, maxBytes: number) {
    this.#observer = observer;
    this.#maxBytes = maxBytes;
  }

  /** Ends the response without another word to the observer. */
  abort(): void {
    this.#isAborted = true;
    this.#controller?.abort(new Error('abandoned'));
    this.#release();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isAborted) controller.abort(new Error('abandoned'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Record<string, string | string[] | undefined>): void {
    this.#status = status;
    const type = String(headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
    if (status >= 400) this.#mode = 'error';
    else if (type === 'text/event-stream') {
      this.#mode = 'events';
      this.#events = { parser: this.#createParser(), decoder: new StringDecoder('utf8') };
    } else this.#mode = type === 'application/json' ? 'json' : 'ignore';
    this.#observer.started(status, headers);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#events !== undefined) {
      this.#events.parser.feed(this.#events.decoder.write(chunk));
      return;
    }
    if (this.#mode === 'ignore' || (this.#mode === 'error' && this.#bytes > keptErrorBody)) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) controller.abort(new Error(`the server's answer is larger than ${this.#maxBytes} bytes`));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#isAborted) return;
    const body = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    if (this.#mode === 'json' && body.length > 0) this.#parse(body.toString('utf8'));
    this.#observer.ended(this.#status, this.#mode === 'error' ? body.toString('utf8').slice(0, keptErrorBody) : '');
    this.#release();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isAborted) return;
    const { code } = error as NodeJS.ErrnoException;
    this.#observer.failed(error, !(code !== undefined && notConnected.has(code)));
    this.#release();
  }

  #release(): void {
    this.#observer = silentObserver;
    this.#controller = undefined;
    this.#chunks = [];
    this.#events = undefined;
  }

  #createParser(): EventSourceParser {
    return createParser({
      onEvent: ({ event, id, data }) => {
        if (id !== undefined) this.#observer.eventId(id);
        if (event !== undefined && event !== 'message') this.#observer.otherEvent(event, data);
        else if (data !== '') this.#parse(data);
      },
      onRetry: (ms) => this.#observer.retry(ms),
      maxBufferSize: this.#maxBytes,
    });
  }

  #parse(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#observer.invalid(`the server sent what is no JSON: ${text.slice(0, 200)}`);
      return;
    }
    this.#observer.message(value);
  }
}
