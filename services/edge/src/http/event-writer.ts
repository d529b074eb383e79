/** Writes one event stream: framing, keep-alive, and an end for clients that stop reading. */
import type { ServerResponse } from 'node:http';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { EventPosition, JsonBytes, StreamId } from '@omnibus/protocol';
import type { Unread } from '../bounds/unread.ts';

/** Milliseconds between keep-alive comments: proxies close silent streams, the strictest after half a minute. */
const keepAliveMs = 20_000;
/** Comments of all streams that come due within this time are sent at one moment: an edge with thousands of idle streams wakes once for them. */
const keepAliveStepMs = 1_000;
/** Milliseconds before a client should resume a closed stream (`retry`). */
const retryMs = 1_000;

export interface EventWriterOptions {
  readonly wheel: DeadlineWheel;
  /** Bytes that may wait for the client before another message is written; a single large message is allowed. */
  readonly maxBufferedBytes: number;
  readonly unread: Unread;
  readonly open: Set<EventWriter>;
}

/** The stream that the events belong to. */
export interface EventStream {
  readonly id: StreamId;
  /** Whether it begins with an event that has an id and no data, so that a client can resume before the first message. */
  readonly isPrimed: boolean;
}

export class EventWriter {
  readonly #response: ServerResponse;
  #stream: EventStream;
  readonly #options: EventWriterOptions;
  readonly #client: { address(): string };
  #keepAlive: Deadline;

  /**
   * Sends the headers of an event stream.
   * @param client with the address that its bytes count for.
   */
  constructor(
    client: { readonly response: ServerResponse; address(): string },
    stream: EventStream,
    options: EventWriterOptions,
  ) {
    const { response } = client;
    this.#response = response;
    this.#client = client;
    this.#stream = stream;
    this.#options = options;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    if (stream.isPrimed) this.#write(`id: ${stream.id}.0\nretry: ${retryMs}\ndata: \n\n`);
    else response.flushHeaders();
    this.#keepAlive = this.#scheduleKeepAlive();
    options.open.add(this);
    response.on('close', () => {
      this.#keepAlive.cancel();
      options.open.delete(this);
    });
  }

  /** Further messages belong to this stream. */
  continues(id: StreamId): void {
    if (id !== this.#stream.id) this.#stream = { ...this.#stream, id };
  }

  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  /**
   * @param text one serialised JSON-RPC message, without line breaks.
   * @param sequence its number in the stream; undefined where the stream cannot be resumed.
   */
  message(text: string | JsonBytes, sequence: number | undefined): void {
    const id = sequence === undefined ? '' : `id: ${this.#stream.id}.${sequence}\n`;
    const head = `${id}event: message\ndata: `;
    this.#write(...(typeof text === 'string' ? [`${head}${text}\n\n`] : text.within(head, '\n\n').parts));
  }

  /** An event of another kind than a message. @param data without line breaks. */
  event(name: string, data: string): void {
    this.#write(`event: ${name}\ndata: ${data}\n\n`);
  }

  end(): void {
    this.#response.end();
  }

  /** @param parts of one message: the bytes of the first ones do not count as waiting before the others. */
  #write(...parts: readonly (string | Buffer)[]): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    const { unread, maxBufferedBytes } = this.#options;
    if (this.#response.writableLength > maxBufferedBytes) {
      unread.cutOff(this.#response);
      return;
    }
    if (parts.length > 1) this.#response.cork();
    for (const part of parts) this.#response.write(part);
    if (parts.length > 1) this.#response.uncork();
    unread.wrote(this.#response, this.#client);
  }

  #scheduleKeepAlive(): Deadline {
    const { wheel } = this.#options;
    return wheel.schedule(keepAliveMs - ((wheel.now() + keepAliveMs) % keepAliveStepMs), () => {
      this.#write(': keep-alive\n\n');
      this.#keepAlive = this.#scheduleKeepAlive();
    });
  }
}

const eventId = /^([A-Za-z0-9_-]{1,64})\.(\d{1,9})$/;

/** Parses `Last-Event-ID`. @returns `unknown` where it is no event id of this gateway. */
export function readEventId(header: string | string[] | undefined): EventPosition | 'unknown' | undefined {
  if (header === undefined || header === '') return undefined;
  const match = typeof header === 'string' ? eventId.exec(header) : null;
  return match === null ? 'unknown' : { stream: match[1] as StreamId, sequence: Number(match[2]) };
}
