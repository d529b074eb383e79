/** Writes one event stream: framing, keep-alive, and an end for clients that stop reading. */
import type { ServerResponse } from 'node:http';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';

/** Proxies cut streams that are silent, the strictest after half a minute. */
const keepAliveMs = 20_000;

export interface EventWriterOptions {
  readonly wheel: DeadlineWheel;
  readonly maxBufferedBytes: number;
  readonly onSlowReader: () => void;
}

export class EventWriter {
  readonly #response: ServerResponse;
  readonly #options: EventWriterOptions;
  #keepAlive: Deadline;

  /** Sends the headers; from here on the answer is a stream. */
  constructor(response: ServerResponse, options: EventWriterOptions) {
    this.#response = response;
    this.#options = options;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' });
    response.flushHeaders();
    this.#keepAlive = this.#scheduleKeepAlive();
    response.once('close', () => this.#keepAlive.cancel());
  }

  /** @param text one serialised JSON-RPC message, without line breaks. */
  message(text: string): void {
    this.#write(`event: message\ndata: ${text}\n\n`);
  }

  end(): void {
    this.#response.end();
  }

  #write(chunk: string): void {
    if (this.#response.destroyed) return;
    this.#response.write(chunk);
    if (this.#response.writableLength > this.#options.maxBufferedBytes) {
      this.#options.onSlowReader();
      this.#response.destroy();
    }
  }

  #scheduleKeepAlive(): Deadline {
    return this.#options.wheel.schedule(keepAliveMs, () => {
      this.#write(': keep-alive\n\n');
      this.#keepAlive = this.#scheduleKeepAlive();
    });
  }
}
