/** Calls as they happen, read from one stream while the view is visible. */
import type { Call, TapEvent, Watched } from '@omnibus/admin-api';
import { addEvent, callOf } from '@omnibus/admin-api/calls';
import { signal, type Signal } from '@preact/signals';
import { ApiProblem, problemWords } from './ask.ts';
import { follow } from './stream.ts';

export interface Watching {
  readonly isOpen: boolean;
  /** Calls, the latest first. */
  readonly calls: readonly Call[];
  /** Number of calls that the gateway left out because there were too many. */
  readonly dropped: number;
  readonly problem: { readonly problem: string; readonly advice: string | undefined } | undefined;
}

/** Calls that are kept; beyond that the oldest are forgotten. */
const maxCalls = 200;
/** Events that are kept of one call. */
const maxEvents = 300;
/** Milliseconds between two updates of the page at least. */
const drawMs = 250;
const returnMs = 2_000;

export class CallWatch {
  readonly state: Signal<Watching> = signal({ isOpen: false, calls: [], dropped: 0, problem: undefined });
  readonly #path: string;
  readonly #events = new Map<string, TapEvent[]>();
  readonly #ending = new AbortController();
  #stream: AbortController | undefined;
  #dropped = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #drawing: ReturnType<typeof setTimeout> | undefined;

  /** @param query parameters of the filter. */
  constructor(query: URLSearchParams) {
    const asked = new URLSearchParams([['topics', 'calls'], ...query]);
    this.#path = `watch?${asked.toString()}`;
    document.addEventListener('visibilitychange', this.#shown);
    this.#open();
  }

  /** The events of one call. */
  eventsOf(tag: string): readonly TapEvent[] {
    return this.#events.get(tag) ?? [];
  }

  end(): void {
    this.#ending.abort();
    this.#stream?.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#drawing);
    document.removeEventListener('visibilitychange', this.#shown);
  }

  /** Stops watching while the tab is hidden. */
  readonly #shown = (): void => {
    if (document.hidden) this.#stream?.abort();
    else this.#open();
  };

  #open(): void {
    if (this.#ending.signal.aborted || document.hidden || this.#stream?.signal.aborted === false) return;
    clearTimeout(this.#timer);
    const stream = new AbortController();
    this.#stream = stream;
    follow(this.#path, ({ kind, data }) => this.#hear(kind, data), stream.signal).then(() => this.#closed(stream, undefined), (error: unknown) => this.#closed(stream, error));
    this.#draw();
  }

  #hear(kind: string, data: unknown): void {
    if (kind === 'refused') {
      const { problem, advice, reason } = data as { readonly problem: string; readonly advice?: string; readonly reason: string };
      throw new ApiProblem(429, reason, problem, advice);
    }
    if (kind !== 'calls') return;
    const { events, dropped } = data as Watched;
    this.#dropped += dropped;
    for (const event of events) {
      const of = this.#events.get(event.tag) ?? [];
      addEvent(of, event, maxEvents);
      this.#events.set(event.tag, of);
    }
    for (const tag of this.#events.keys()) {
      if (this.#events.size <= maxCalls) break;
      this.#events.delete(tag);
    }
    this.#draw();
  }

  #closed(stream: AbortController, error: unknown): void {
    const wasHidden = stream.signal.aborted;
    stream.abort();
    if (this.#ending.signal.aborted) return;
    this.state.value = { ...this.state.peek(), isOpen: false, problem: error === undefined || wasHidden ? undefined : problemWords(error) };
    const isRefused = error instanceof ApiProblem && error.status >= 400 && error.status < 500 && error.status !== 429;
    if (!isRefused) this.#timer = setTimeout(() => this.#open(), returnMs);
  }

  #draw(): void {
    this.#drawing ??= setTimeout(() => {
      this.#drawing = undefined;
      const calls = [...this.#events.values()].map((events) => callOf(events)).toSorted((one, other) => other.at - one.at);
      this.state.value = { isOpen: this.#stream?.signal.aborted === false, calls, dropped: this.#dropped, problem: undefined };
    }, drawMs);
  }
}
