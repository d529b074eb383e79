/**
 * The questions of a server during one exchange. Each question has a time limit of its own. Each answer stays until the adapter has confirmed
 * it, since the message that carries it may be lost with a connection of the bus.
 */
import { setLast } from '@omnibus/collections';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { InputAnswer, InputKey } from '@omnibus/protocol';

/** Questions that one call may have open: as many as one connection to a server may have (`backend/connection/questions.ts`). */
export const maxQuestions = 100;

export class ExchangeQuestions {
  readonly #wheel: DeadlineWheel;
  readonly #answered: ((input: InputKey, answer: InputAnswer) => void) | undefined;
  readonly #open = new Map<InputKey, Deadline>();
  readonly #answers = new Map<InputKey, InputAnswer>();

  /** @param answered called once with each answer. */
  constructor(wheel: DeadlineWheel, answered?: (input: InputKey, answer: InputAnswer) => void) {
    this.#wheel = wheel;
    this.#answered = answered;
  }

  /** Questions the client has not answered. */
  get size(): number {
    return this.#open.size;
  }

  /** Answers that the adapter has not confirmed. */
  get unconfirmed(): number {
    return this.#answers.size;
  }

  has(input: InputKey): boolean {
    return this.#open.has(input);
  }

  /** The answer to a question that the adapter asks again because it has not received the answer. */
  answerTo(input: InputKey): InputAnswer | undefined {
    return this.#answers.get(input);
  }

  /** @param limitMs milliseconds the client must answer. */
  add(input: InputKey, limitMs: number, giveUp: () => void): void {
    this.#open.set(input, this.#wheel.schedule(limitMs, giveUp));
  }

  /** @returns false when it is not open. */
  remove(input: InputKey): boolean {
    this.#open.get(input)?.cancel();
    return this.#open.delete(input);
  }

  /** Keeps an answer until it is confirmed; beyond `maxQuestions` the oldest answer is dropped, which was delivered long ago. */
  keep(input: InputKey, answer: InputAnswer): void {
    setLast(this.#answers, input, answer, maxQuestions);
    this.#answered?.(input, answer);
  }

  confirmed(input: InputKey): void {
    this.#answers.delete(input);
  }

  /** Forgets all questions and answers. @returns the questions that were open. */
  clear(): InputKey[] {
    const open = [...this.#open.keys()];
    for (const deadline of this.#open.values()) deadline.cancel();
    this.#open.clear();
    this.#answers.clear();
    return open;
  }
}
