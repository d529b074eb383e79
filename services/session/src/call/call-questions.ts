/** Questions of servers during one call of a client without a session. They are sent at the end of one round and answered in the next. */
import { inputCapabilities, isObject, type InputKey, type InputMethod, type JsonObject } from '@omnibus/protocol';
import type { Questioner } from './transform.ts';
import { inputRequest, responseProblem } from '../dialect/modern/encode.ts';

/** Whether a client with these capabilities can be asked a question. */
export function canBeAsked(capabilities: JsonObject, method: InputMethod, params: JsonObject): boolean {
  const capability = capabilities[inputCapabilities[method]];
  return isObject(capability) && (params['mode'] !== 'url' || isObject(capability['url']));
}

/** Number of the gateway's own questions. */
const own = 0;

interface CallQuestion {
  readonly asker: Questioner;
  readonly input: InputKey;
  readonly method: InputMethod;
  /** The question as an entry of `inputRequests`. */
  readonly entry: JsonObject;
}

/** An answer that matches an open question. */
interface Answered {
  readonly key: string;
  readonly question: CallQuestion;
  readonly response: JsonObject;
}

export class CallQuestions {
  readonly #open = new Map<string, CallQuestion>();

  get size(): number {
    return this.#open.size;
  }

  /** `inputRequests` (2026-07-28 basic/patterns, Multi Round-Trip Requests). */
  get requests(): JsonObject {
    return Object.fromEntries([...this.#open].map(([key, { entry }]) => [key, entry]));
  }

  /** Whether a server asks, and not only the gateway. */
  get areOfServer(): boolean {
    return [...this.#open.values()].some(({ input }) => input !== own);
  }

  /** Characters of the open questions. */
  get length(): number {
    return JSON.stringify([...this.#open.values()].map(({ entry }) => entry)).length;
  }

  has(asker: Questioner, input: InputKey): boolean {
    return [...this.#open.values()].some((question) => question.asker === asker && question.input === input);
  }

  add(asker: Questioner, input: InputKey, method: InputMethod, params: JsonObject): void {
    // The next worker gives it the same key if this one is gone. The gateway's own questions have no number.
    const key = input === own ? `r-${asker.id}` : `r${input.toString(36)}`;
    this.#open.set(key, { asker, input, method, entry: inputRequest(method, params) });
  }

  /** Each of several calls may have a question of the gateway, and all of these have the same number. */
  withdraw(asker: Questioner, input: InputKey): void {
    for (const [key, question] of this.#open)
      if (question.asker === asker && question.input === input) this.#open.delete(key);
  }

  withdrawAll(asker: Questioner): void {
    for (const [key, question] of this.#open) if (question.asker === asker) this.#open.delete(key);
  }

  /** @param given `inputResponses` of a client. @returns the answers to open questions, or the problem of one of them. */
  match(given: unknown): readonly Answered[] | { readonly problem: string } {
    const responses = isObject(given) ? given : {};
    const answered: Answered[] = [];
    for (const [key, question] of this.#open) {
      if (!Object.hasOwn(responses, key)) continue;
      const problem = responseProblem(question.method, responses[key]);
      if (problem !== undefined) return { problem: `params.inputResponses.${key} ${problem}` };
      answered.push({ key, question, response: responses[key] as JsonObject });
    }
    return answered;
  }

  /** M1: passes each answer on, once. */
  answer(answered: readonly Answered[]): void {
    for (const { key, question, response } of answered) {
      this.#open.delete(key);
      question.asker.answerInput(question.input, { result: response });
    }
  }
}
