/**
 * Event streams for readers at the admin port. It requests state while there is a reader, once for all readers, and sends it when it has changed;
 * without readers it requests nothing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { stateTopics, type StateTopic } from '@omnibus/admin-api';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { ApiProblem } from './api-problem.ts';
import { apiHeaders } from './security.ts';

/** Bound on the streams of one caller: a browser opens at most six connections to a host (HTTP/1.1), which six streams would use up. */
const maxPerCaller = 4;
const maxStreams = 8;
const lookMs = 2_000;
/** Interval between two keep-alive comments, and between two checks whether the reader still has permission. */
const aliveMs = 15_000;
/** Bound on bytes that wait for a reader. */
const maxUnreadBytes = 4 * 1024 * 1024;

/** A source of events other than state: watched calls, and lines of servers. */
export interface Told {
  /** @param send sends one event. @returns a function that ends the source. */
  (send: (event: string, data: unknown) => void): () => void;
}

/** State that is read once for all readers. */
export interface Topic<Answer extends object = object> {
  read(): Promise<Answer>;
  /** @returns the part of the answer that the caller of this request may see; if absent, the whole. */
  shown?(answer: Answer, request: IncomingMessage): object;
}

export type Topics = Readonly<Record<StateTopic, Topic>>;

export interface StreamOptions {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The caller of the stream. */
  readonly who: string;
  readonly topics: ReadonlySet<string>;
  readonly told: Told;
  /** Checks that the caller still has permission. @throws {ApiProblem} */
  readonly check: () => Promise<void>;
}

interface Stream extends Pick<StreamOptions, 'request' | 'who' | 'topics'> {
  readonly sent: Map<StateTopic, string>;
  readonly send: (event: string, data: unknown) => void;
}

export class Watches {
  readonly #wheel: DeadlineWheel;
  readonly #topics: Topics;
  readonly #onFault: (what: string, error: unknown) => void;
  readonly #streams = new Set<Stream>();
  #next: Deadline | undefined;
  #isLooking = false;

  constructor(wheel: DeadlineWheel, topics: Topics, onFault: (what: string, error: unknown) => void) {
    this.#wheel = wheel;
    this.#topics = topics;
    this.#onFault = onFault;
  }

  /** @throws {ApiProblem} `busy` when there are too many. */
  open({ request, response, who, topics, told, check }: StreamOptions): void {
    if (
      this.#streams.size >= maxStreams ||
      [...this.#streams].filter((each) => each.who === who).length >= maxPerCaller
    )
      throw new ApiProblem(
        'busy',
        `${maxPerCaller} streams of one caller are open, or ${maxStreams} of all`,
        'close a page of the console that nobody looks at',
      );
    response.writeHead(200, {
      ...apiHeaders,
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    });
    response.write('retry: 1000\n\n');
    const write = (text: string): void => {
      if (response.writableLength > maxUnreadBytes) response.destroy();
      else if (!response.writableEnded && !response.destroyed) response.write(text);
    };
    const stream: Stream = {
      request,
      who,
      topics,
      sent: new Map(),
      send: (event, data) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
    };
    this.#streams.add(stream);
    const endTold = told(stream.send);
    let alive: Deadline;
    const stayAlive = (): void => {
      alive = this.#wheel.schedule(aliveMs, () => {
        stayAlive();
        write(': \n\n');
        check().catch((error: unknown) => {
          stream.send(
            'refused',
            error instanceof ApiProblem
              ? error.body
              : new ApiProblem('forbidden', 'this may not be watched any more').body,
          );
          response.end();
        });
      });
    };
    stayAlive();
    // A reader that is gone cannot be answered: its request just ends.
    response.once('close', () => {
      alive.cancel();
      endTold();
      this.#streams.delete(stream);
    });
    request.once('error', () => response.destroy());
    if (stateTopics.some((topic) => topics.has(topic))) this.#look();
  }

  /** Asks nothing more. Open streams end with their connections. */
  stop(): void {
    this.#next?.cancel();
  }

  #look(): void {
    this.#next?.cancel();
    this.#next = undefined;
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#tell()
      .catch((error: unknown) => this.#onFault('what is watched could not be asked for', error))
      .finally(() => {
        this.#isLooking = false;
        if (this.#wanted.length > 0) this.#next = this.#wheel.schedule(lookMs, () => this.#look());
      });
  }

  get #wanted(): readonly StateTopic[] {
    return stateTopics.filter((topic) => [...this.#streams].some(({ topics }) => topics.has(topic)));
  }

  async #tell(): Promise<void> {
    await Promise.all(
      this.#wanted.map(async (topic) => {
        // A topic without an answer is tried again at the next look.
        const answer = await this.#topics[topic].read().catch((error: unknown) => {
          if (error instanceof ApiProblem) return undefined;
          throw error;
        });
        if (answer === undefined) return;
        for (const stream of this.#streams) {
          if (!stream.topics.has(topic)) continue;
          const own = this.#topics[topic].shown?.(answer, stream.request) ?? answer;
          const { at: _always, ...rest } = own as { readonly at?: string };
          const text = JSON.stringify(rest);
          if (stream.sent.get(topic) === text) continue;
          stream.sent.set(topic, text);
          stream.send(topic, own);
        }
      }),
    );
  }
}
