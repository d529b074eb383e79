/** Answers of the API that are requested again and again while a view shows them. */
import { signal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { get, problemWords, users } from './ask.ts';

export interface Live<Answer> {
  /** The last answer; undefined before the first. */
  readonly value: Answer | undefined;
  /** Problem of the last attempt; undefined where it succeeded. */
  readonly problem: ReturnType<typeof problemWords> | undefined;
  /** When the value came, in milliseconds since 1970. */
  readonly at: number;
}

const everyMs = 2_000;
/** Paths with a cached last answer, so that a view is complete at once when the user comes back to it. */
const maxKept = 50;
const kept = new Map<string, Topic>();

const unasked: Live<unknown> = { value: undefined, problem: undefined, at: 0 };

/** One path, requested once however many parts of the page show it. */
class Topic {
  readonly state: Signal<Live<unknown>> = signal(unasked);
  readonly #path: string;
  readonly #everyMs: number;
  #watchers = 0;
  #ending: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;

  constructor(path: string, every: number) {
    this.#path = path;
    this.#everyMs = every;
  }

  get isWatched(): boolean {
    return this.#watchers > 0;
  }

  watch(): () => void {
    this.#watchers += 1;
    if (this.#watchers === 1) this.#begin();
    return () => {
      this.#watchers -= 1;
      if (this.#watchers > 0) return;
      this.#ending?.abort();
      clearTimeout(this.#timer);
    };
  }

  #begin(): void {
    this.#ending = new AbortController();
    this.#isAsking = false;
    this.ask();
  }

  /** Forgets the answers for one user, and one that may be on its way, before another one looks. */
  forget(): void {
    this.#ending?.abort();
    this.state.value = unasked;
    if (this.isWatched) this.#begin();
  }

  /** Requests the path now, and again later. A hidden tab requests nothing until it is visible again. */
  readonly ask = (): void => {
    const ending = this.#ending;
    if (ending === undefined || ending.signal.aborted || this.#isAsking || document.hidden) return;
    clearTimeout(this.#timer);
    this.#isAsking = true;
    get(this.#path, ending.signal)
      .then(
        (value) => ({ value, problem: undefined, at: Date.now() }),
        (error: unknown) => ({ ...this.state.peek(), problem: problemWords(error) }),
      )
      .then((next) => {
        if (ending.signal.aborted) return;
        this.state.value = next;
        this.#isAsking = false;
        this.#timer = setTimeout(this.ask, this.#everyMs);
      })
      .catch(reportError);
  };
}

function topicOf(path: string, every = everyMs): Topic {
  const topic = kept.get(path) ?? new Topic(path, every);
  kept.delete(path);
  kept.set(path, topic);
  for (const [other, { isWatched }] of kept) {
    if (kept.size <= maxKept) break;
    if (!isWatched) kept.delete(other);
  }
  return topic;
}

/** Requests a path now and again while the component is mounted. @param every milliseconds between two requests. */
export function useLive<Answer>(path: string, every = everyMs): Live<Answer> {
  const topic = topicOf(path, every);
  useEffect(() => topic.watch(), [path]);
  return topic.state.value as Live<Answer>;
}

/** The last answer for a path that another part of the page requests. */
export function lastOf<Answer>(path: string): Answer | undefined {
  return topicOf(path).state.value.value as Answer | undefined;
}

/** Requests all displayed data again, after a change or when the tab becomes visible. */
export function refresh(): void {
  for (const topic of kept.values()) if (topic.isWatched) topic.ask();
}

document.addEventListener('visibilitychange', refresh);
users.subscribe(() => {
  for (const topic of kept.values()) topic.forget();
});
