/** One event stream as a client reads it: ids, messages, and a connection that a test can break. */
import { createParser } from 'eventsource-parser';
import { Heard } from '@omnibus/bus/testing';
import type { Message } from './raw-client.ts';

export interface ReadEvent {
  readonly id: string | undefined;
  /** Undefined for an event without data. */
  readonly message: Message | undefined;
}

interface ReadOptions {
  readonly body?: object;
  readonly lastEventId?: string;
  readonly limitMs?: number;
  /** Headers that identify the caller. */
  readonly credentials?: Readonly<Record<string, string>> | undefined;
}

export class EventReader {
  readonly events = new Heard<ReadEvent>();
  readonly status: number;
  /** Resolves when the stream has ended or was broken. */
  readonly ended: Promise<void>;
  readonly #connection: AbortController;

  private constructor(response: Response, connection: AbortController) {
    this.status = response.status;
    this.#connection = connection;
    this.ended =
      response.headers.get('content-type') === 'text/event-stream'
        ? this.#read(response.body as ReadableStream<Uint8Array>).catch(() => undefined)
        : Promise.resolve();
  }

  /** Sends a GET, or a POST of `body`; with `lastEventId` it resumes a stream. */
  static async open(
    url: string,
    session: string,
    { body, lastEventId, limitMs, credentials }: ReadOptions = {},
  ): Promise<EventReader> {
    const connection = new AbortController();
    const response = await fetch(url, {
      signal:
        limitMs === undefined ? connection.signal : AbortSignal.any([connection.signal, AbortSignal.timeout(limitMs)]),
      headers: {
        ...credentials,
        accept: 'application/json, text/event-stream',
        'mcp-session-id': session,
        'mcp-protocol-version': '2025-11-25',
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    return new EventReader(response, connection);
  }

  get lastId(): string {
    return this.events.values.findLast(({ id }) => id !== undefined)?.id as string;
  }

  get messages(): Message[] {
    return this.events.values.flatMap(({ message }) => (message === undefined ? [] : [message]));
  }

  break(): void {
    this.#connection.abort();
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const parser = createParser({
      onEvent: ({ id, data }) =>
        this.events.add({ id, message: data === '' ? undefined : (JSON.parse(data) as Message) }),
    });
    const decoder = new TextDecoder();
    for await (const chunk of body) parser.feed(decoder.decode(chunk, { stream: true }));
  }
}
