/** The lines that one server writes, read from a stream while the page shows them. */
import type { FollowedLogs, Line } from '@omnibus/admin-api';
import { signal, type Signal } from '@preact/signals';
import type { problemWords } from './ask.ts';
import { Following } from './following.ts';

export interface FollowedLines {
  /** Oldest first; undefined before the first answer. */
  readonly lines: readonly Line[] | undefined;
  /** Number of lines that were dropped because there were too many. */
  readonly dropped: number;
  readonly missing: FollowedLogs['missing'];
  readonly problem: ReturnType<typeof problemWords> | undefined;
}

/** Bound on stored lines; the oldest are forgotten. */
const maxLines = 500;
/** Milliseconds between two updates of the page at least. */
const drawMs = 250;

export class LogWatch {
  readonly state: Signal<FollowedLines> = signal({ lines: undefined, dropped: 0, missing: [], problem: undefined });
  readonly #stream: Following;
  #lines: Line[] = [];
  #dropped = 0;
  #missing: FollowedLogs['missing'] = [];
  /** Whether the first event of the stream is still to come, which has all last lines. */
  #isNew = true;
  #drawing: ReturnType<typeof setTimeout> | undefined;

  constructor(server: string) {
    this.#stream = new Following({
      path: `watch?${new URLSearchParams({ topics: 'logs', server }).toString()}`,
      opened: () => {
        this.#isNew = true;
      },
      hear: (kind, data) => {
        if (kind === 'logs') this.#hear(data as FollowedLogs);
      },
      closed: (problem) => {
        this.state.value = { ...this.state.peek(), problem };
      },
    });
    this.#stream.open();
  }

  end(): void {
    this.#stream.end();
    clearTimeout(this.#drawing);
  }

  #hear({ lines, dropped, missing }: FollowedLogs): void {
    this.#lines = (this.#isNew ? [...lines] : [...this.#lines, ...lines]).slice(-maxLines);
    this.#dropped = this.#isNew ? dropped : this.#dropped + dropped;
    this.#missing = missing;
    this.#isNew = false;
    this.#drawing ??= setTimeout(() => {
      this.#drawing = undefined;
      this.state.value = { lines: this.#lines, dropped: this.#dropped, missing: this.#missing, problem: undefined };
    }, drawMs);
  }
}
