/** The dialect of 2026-07-28 for the answer to one call: it binds a server's `requestState` to the caller, and gives errors an HTTP status. */
import { isCustomMethod, modernCodes, type ExchangeMethod, type JsonObject } from '@omnibus/protocol';
import type { ServerAnswer } from '../dialect.ts';
import { ModernDialect } from './dialect.ts';

export interface CallDialectOptions {
  /** Replaces the server's `requestState` by a sealed one. */
  readonly bindState: (text: string) => string;
  /** The result that asks the client to visit the addresses in a server's error; undefined for any other error. */
  readonly urlsRequired: (error: JsonObject) => JsonObject | undefined;
}

const methodNotFound = -32_601;

export class CallDialect extends ModernDialect {
  readonly #options: CallDialectOptions;
  /** HTTP status of the answer. */
  httpStatus = 200;

  constructor(options: CallDialectOptions) {
    super();
    this.#options = options;
  }

  override answerOf(method: ExchangeMethod, outcome: ServerAnswer): ServerAnswer {
    const required = outcome.kind === 'error' ? this.#options.urlsRequired({ ...outcome.error }) : undefined;
    if (required !== undefined) return { kind: 'result', result: required };
    const answer = super.answerOf(method, outcome);
    if (answer.kind === 'error') {
      if (answer.error.code === modernCodes.capabilityMissing) this.httpStatus = 400;
      else if (answer.error.code === methodNotFound && isCustomMethod(method)) this.httpStatus = 404;
      return answer;
    }
    const { resultType, requestState } = answer.result;
    return resultType === 'input_required' && typeof requestState === 'string'
      ? { kind: 'result', result: { ...answer.result, requestState: this.#options.bindState(requestState) } }
      : answer;
  }
}
