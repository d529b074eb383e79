import { problemStatus, type Problem, type ProblemReason } from '@omnibus/admin-api';
import type { AdminAnswer } from '@omnibus/telemetry';

/** Reasons of decisions and acts without an effect, which are on record too. */
export const withoutEffect: ReadonlySet<ProblemReason> = new Set(['conflict', 'forbidden', 'unknown']);

/** An error that ends a request to the API with a message for the caller. */
export class ApiProblem extends Error {
  readonly reason: ProblemReason;
  readonly advice: string | undefined;

  readonly #methods: string | undefined;

  /** @param methods that there are, with commas, for the reason `method`: RFC 9110, section 15.5.6, has them in the answer. */
  constructor(reason: ProblemReason, problem: string, advice?: string, methods?: string) {
    super(problem);
    this.#methods = methods;
    this.reason = reason;
    this.advice = advice;
  }

  get body(): Problem {
    return {
      reason: this.reason,
      problem: this.message,
      ...(this.advice === undefined ? {} : { advice: this.advice }),
    };
  }

  get answer(): AdminAnswer {
    return {
      status: problemStatus[this.reason],
      text: `${JSON.stringify(this.body, null, 2)}\n`,
      type: 'application/json',
      ...(this.#methods === undefined ? {} : { headers: { allow: this.#methods } }),
    };
  }
}
