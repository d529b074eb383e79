/** What is asked again and again while somebody looks at it. */
import { signal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { get, problemWords } from './ask.ts';

export interface Live<Answer> {
  /** The last answer; undefined as long as there was none. */
  readonly value: Answer | undefined;
  /** Of the last attempt. */
  readonly problem: { readonly problem: string; readonly advice: string | undefined } | undefined;
  /** When the value came, in milliseconds since 1970. */
  readonly at: number;
}

const everyMs = 2_000;
/** The last of every path, so that a view one comes back to is there at once. More than these are forgotten. */
const maxKept = 50;
const kept = new Map<string, Topic>();

/** One path, asked once however many parts of the page show it. */
class Topic {
  readonly state: Signal<Live<unknown>> = signal({ value: undefined, problem: undefined, at: 0 });
  readonly #path: string;
  #watchers = 0;
  #ending: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;

  constructor(path: string) {
    this.#path = path;
  }

  get isWatched(): boolean {
    return this.#watchers > 0;
  }

  watch(): () => void {
    this.#watchers += 1;
    if (this.#watchers === 1) {
      this.#ending = new AbortController();
      this.#isAsking = false;
      this.ask();
    }
    return () => {
      this.#watchers -= 1;
      if (this.#watchers > 0) return;
      this.#ending?.abort();
      clearTimeout(this.#timer);
    };
  }

  /** Not while the tab is hidden: it asks when it is shown again. */
  readonly ask = (): void => {
    const ending = this.#ending;
    if (ending === undefined || ending.signal.aborted || this.#isAsking || document.hidden) return;
    clearTimeout(this.#timer);
    this.#isAsking = true;
    get(this.#path, ending.signal).then((value) => ({ value, problem: undefined, at: Date.now() }), (error: unknown) => ({ ...this.state.peek(), problem: problemWords(error) })).then((next) => {
      if (ending.signal.aborted) return;
      this.state.value = next;
      this.#isAsking = false;
      this.#timer = setTimeout(this.ask, everyMs);
    }).catch(reportError);
  };
}

function topicOf(path: string): Topic {
  const topic = kept.get(path) ?? new Topic(path);
  kept.delete(path);
  kept.set(path, topic);
  for (const [other, { isWatched }] of kept) {
    if (kept.size <= maxKept) break;
    if (!isWatched) kept.delete(other);
  }
  return topic;
}

/** Asks for a path now and every two seconds. */
export function useLive<Answer>(path: string): Live<Answer> {
  const topic = topicOf(path);
  useEffect(() => topic.watch(), [path]);
  return topic.state.value as Live<Answer>;
}

/** What was answered last, where some other part of the page asks. */
export function lastOf<Answer>(path: string): Answer | undefined {
  return topicOf(path).state.value.value as Answer | undefined;
}

/** Something was changed, or the tab is seen again: whatever is looked at is asked for anew. */
export function refresh(): void {
  for (const topic of kept.values()) if (topic.isWatched) topic.ask();
}

document.addEventListener('visibilitychange', refresh);
