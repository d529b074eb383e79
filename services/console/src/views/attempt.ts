/** A call that the user makes from the page: its events, and the answers and cancellation that can be sent. */
import { signal, type Signal } from '@preact/signals';
import { ApiProblem, post, problemWords } from '../api/ask.ts';
import { follow, type StreamEvent } from '../api/stream.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Question {
  readonly key: string;
  readonly method: string;
  readonly params: Json;
}

export interface Wanted {
  readonly endpoint: string;
  readonly method: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  readonly revision: string;
  readonly may: readonly string[];
}

export interface AttemptState {
  readonly phase: 'asking' | 'running' | 'result' | 'failed';
  readonly startedAt: number;
  readonly progress: Json | undefined;
  readonly logs: readonly Json[];
  readonly questions: readonly Question[];
  /** The result as JSON text. */
  readonly raw: string | undefined;
  readonly ms: number | undefined;
  readonly problem:
    | { readonly problem: string; readonly advice: string | undefined; readonly reason?: string | undefined }
    | undefined;
}

/** Bound on stored log messages. */
const maxLogs = 200;
/** Number of times that a broken stream is requested again. */
const maxReturns = 5;

export class Attempt {
  readonly state: Signal<AttemptState> = signal({
    phase: 'asking',
    startedAt: Date.now(),
    progress: undefined,
    logs: [],
    questions: [],
    raw: undefined,
    ms: undefined,
    problem: undefined,
  });
  readonly #ending = new AbortController();
  #id: string | undefined;
  #last = '0';

  constructor(wanted: Wanted) {
    this.#run(wanted).catch((error: unknown) => this.#change({ phase: 'failed', problem: problemWords(error) }));
  }

  async #run(wanted: Wanted): Promise<void> {
    const { id } = await post<{ readonly id: string }>('try', wanted);
    this.#id = id;
    if (this.#ending.signal.aborted) await post(`try/${id}/cancel`);
    this.#change({ phase: 'running' });
    for (let returned = 0; !this.#isOver; returned += 1) {
      try {
        await follow(`try/${id}/events?after=${this.#last}`, (event) => this.#hear(event), this.#ending.signal);
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        if (error instanceof ApiProblem || returned >= maxReturns) throw error;
      }
    }
  }

  get #isOver(): boolean {
    return this.state.peek().phase !== 'running';
  }

  #hear({ id, kind, data }: StreamEvent): void {
    if (id !== undefined) this.#last = id;
    const said = data as Json;
    const { logs, questions } = this.state.peek();
    if (kind === 'progress') this.#change({ progress: said });
    else if (kind === 'log') this.#change({ logs: [...logs.slice(1 - maxLogs), said] });
    else if (kind === 'question') this.#change({ questions: [...questions, said as unknown as Question] });
    else if (kind === 'question-ended') this.#change({ questions: questions.filter(({ key }) => key !== said['key']) });
    else if (kind === 'result')
      this.#change({ phase: 'result', raw: String(said['raw']), ms: Number(said['ms']), questions: [] });
    else if (kind === 'failed')
      this.#change({
        phase: 'failed',
        ms: Number(said['ms']),
        questions: [],
        problem: { problem: String(said['problem']), advice: textOf(said['advice']), reason: textOf(said['reason']) },
      });
  }

  /** Answers a question. @param result undefined to refuse it. @throws {ApiProblem} */
  async answer(key: string, result: Json | undefined): Promise<void> {
    await post(`try/${this.#id ?? ''}/answer`, {
      key,
      ...(result === undefined ? {} : { result: JSON.stringify(result) }),
    });
  }

  /** @throws {ApiProblem} */
  async cancel(): Promise<void> {
    if (this.#id !== undefined) await post(`try/${this.#id}/cancel`);
  }

  /** Cancels the call if it is still running, because its view was left. */
  leave(): void {
    if (this.state.peek().phase === 'running') this.cancel().catch(() => undefined);
    this.#ending.abort();
  }

  #change(change: Partial<AttemptState>): void {
    this.state.value = { ...this.state.peek(), ...change };
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
