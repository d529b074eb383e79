/** Calls as they happen, read from one stream while the view is visible. */
import type { Call, TapEvent, Watched } from '@omnibus/admin-api';
import { addEvent, callOf } from '@omnibus/admin-api/calls';
import { signal, type Signal } from '@preact/signals';
import { Following } from './following.ts';

export interface Watching {
  readonly isOpen: boolean;
  /** Calls, the latest first. */
  readonly calls: readonly Call[];
  /** Number of calls that the gateway left out because there were too many. */
  readonly dropped: number;
  readonly problem: { readonly problem: string; readonly advice: string | undefined } | undefined;
}

/** Bound on stored calls; the oldest are forgotten. */
const maxCalls = 200;
/** Bound on stored events of one call. */
const maxEvents = 300;
/** Milliseconds between two updates of the page at least. */
const drawMs = 250;

export class CallWatch {
  readonly state: Signal<Watching> = signal({ isOpen: false, calls: [], dropped: 0, problem: undefined });
  readonly #events = new Map<string, TapEvent[]>();
  readonly #stream: Following;
  #dropped = 0;
  #drawing: ReturnType<typeof setTimeout> | undefined;

  /** @param query parameters of the filter. */
  constructor(query: URLSearchParams) {
    const asked = new URLSearchParams([['topics', 'calls'], ...query]);
    this.#stream = new Following({
      path: `watch?${asked.toString()}`,
      opened: () => this.#draw(),
      hear: (kind, data) => this.#hear(kind, data),
      closed: (problem) => {
        this.state.value = { ...this.state.peek(), isOpen: false, problem };
      },
    });
    this.#stream.open();
  }

  /** The events of one call. */
  eventsOf(tag: string): readonly TapEvent[] {
    return this.#events.get(tag) ?? [];
  }

  end(): void {
    this.#stream.end();
    clearTimeout(this.#drawing);
  }

  #hear(kind: string, data: unknown): void {
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

  #draw(): void {
    this.#drawing ??= setTimeout(() => {
      this.#drawing = undefined;
      const calls = [...this.#events.values()]
        .map((events) => callOf(events))
        .toSorted((one, other) => other.at - one.at);
      this.state.value = { isOpen: this.#stream.isOpen, calls, dropped: this.#dropped, problem: undefined };
    }, drawMs);
  }
}
