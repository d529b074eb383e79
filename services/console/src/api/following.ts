/** A stream of the API that is open while the tab is visible, and is opened again after it broke. */
import { ApiProblem, problemWords } from './ask.ts';
import { follow } from './stream.ts';

const returnMs = 2_000;

export interface FollowingOptions {
  /** Path below `api/v1/`. */
  readonly path: string;
  /** A stream begins: earlier events may repeat. */
  readonly opened: () => void;
  readonly hear: (kind: string, data: unknown) => void;
  /** @param problem undefined when the stream just ended, or the tab is hidden. */
  readonly closed: (problem: ReturnType<typeof problemWords> | undefined) => void;
}

export class Following {
  readonly #options: FollowingOptions;
  readonly #ending = new AbortController();
  #stream: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: FollowingOptions) {
    this.#options = options;
    document.addEventListener('visibilitychange', this.#shown);
  }

  get isOpen(): boolean {
    return this.#stream?.signal.aborted === false;
  }

  /** Ends the stream for good. */
  end(): void {
    this.#ending.abort();
    this.#stream?.abort();
    clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#shown);
  }

  readonly #shown = (): void => {
    if (document.hidden) this.#stream?.abort();
    else this.open();
  };

  open(): void {
    if (this.#ending.signal.aborted || document.hidden || this.isOpen) return;
    clearTimeout(this.#timer);
    const stream = new AbortController();
    this.#stream = stream;
    follow(this.#options.path, ({ kind, data }) => this.#hear(kind, data), stream.signal).then(
      () => this.#closed(stream, undefined),
      (error: unknown) => this.#closed(stream, error),
    );
    this.#options.opened();
  }

  #hear(kind: string, data: unknown): void {
    if (kind === 'refused') {
      const { problem, advice, reason } = data as {
        readonly problem: string;
        readonly advice?: string;
        readonly reason: string;
      };
      throw new ApiProblem(429, reason, problem, advice);
    }
    this.#options.hear(kind, data);
  }

  #closed(stream: AbortController, error: unknown): void {
    const wasHidden = stream.signal.aborted;
    stream.abort();
    if (this.#ending.signal.aborted) return;
    this.#options.closed(error === undefined || wasHidden ? undefined : problemWords(error));
    const isRefused = error instanceof ApiProblem && error.status >= 400 && error.status < 500 && error.status !== 429;
    if (!isRefused) this.#timer = setTimeout(() => this.open(), returnMs);
  }
}
