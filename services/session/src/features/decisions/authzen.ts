/**
 * A client of an external decision point (OpenID AuthZEN Authorization API 1.0: access evaluation, and access evaluations for several at once).
 * Without a well-formed decision in time there is a failure, which the caller treats as a refusal.
 */
import { Bulkhead, type DeadlineWheel } from '@omnibus/lifecycle';
import { isObject, type JsonObject } from '@omnibus/protocol';
import { postJson } from '../../call/post-json.ts';

export interface AuthZenSettings {
  /** The address that `/access/v1/evaluation` and `/access/v1/evaluations` are below. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly timeout: number;
  readonly concurrency: number;
}

/** One question: whether a subject may do an action with a resource. */
export interface Evaluation {
  readonly subject: JsonObject;
  readonly action: JsonObject;
  readonly resource: JsonObject;
  readonly context?: JsonObject;
}

export interface Evaluated {
  readonly isPermitted: boolean;
  /** The reason for the caller, if the decision point gives one. */
  readonly because?: string | undefined;
}

/** Questions that wait for each one that is asked. */
const waitingPerRunning = 8;
const maxAnswerBytes = 1_048_576;
const maxReason = 300;

export class AuthZen {
  readonly settings: AuthZenSettings;
  readonly #wheel: DeadlineWheel;
  readonly #places: Bulkhead;
  readonly #stopping = new AbortController();

  constructor(settings: AuthZenSettings, wheel: DeadlineWheel) {
    this.settings = settings;
    this.#wheel = wheel;
    const { concurrency } = settings;
    this.#places = new Bulkhead({ concurrency, maxWaiting: concurrency * waitingPerRunning });
  }

  /** @param owner whose share of the places it takes. @throws {Error} without a decision, in words for the operator. */
  async evaluate(owner: string, question: Evaluation): Promise<Evaluated> {
    return decisionOf(await this.#ask(owner, '/access/v1/evaluation', { ...question }));
  }

  /** Decides about several resources of one subject. @throws {Error} unless each has a decision, in words for the operator. */
  async evaluateAll(
    owner: string,
    subject: JsonObject,
    evaluations: readonly Omit<Evaluation, 'subject'>[],
  ): Promise<readonly Evaluated[]> {
    const body = { subject, evaluations, options: { evaluations_semantic: 'execute_all' } };
    const answer = await this.#ask(owner, '/access/v1/evaluations', body);
    const all = isObject(answer) ? answer['evaluations'] : undefined;
    if (!Array.isArray(all) || all.length !== evaluations.length)
      throw new Error(`its answer has no "evaluations" with ${evaluations.length} decisions`);
    return all.map(decisionOf);
  }

  /** Gives up all questions. */
  stop(): void {
    this.#stopping.abort();
  }

  #ask(owner: string, path: string, body: JsonObject): Promise<unknown> {
    const { timeout } = this.settings;
    return new Promise((resolve, reject) => {
      const over = new AbortController();
      const deadline = this.#wheel.schedule(timeout, () => {
        over.abort();
        reject(new Error(`it did not answer within ${timeout} ms`));
      });
      const place = this.#places.enter(owner, (taken) => {
        // Nothing may wait on for a question whose time is over.
        const asked = over.signal.aborted ? Promise.reject(new Error('too late')) : this.#post(path, body, over.signal);
        void asked
          .then(resolve, reject)
          .finally(() => {
            deadline.cancel();
            taken.leave();
          })
          .catch(() => undefined);
      });
      if (place !== undefined) return;
      deadline.cancel();
      reject(new Error('too many questions wait for it already'));
    });
  }

  #post(path: string, body: JsonObject, over: AbortSignal): Promise<unknown> {
    const { url, headers } = this.settings;
    return postJson(
      { url: `${url.replace(/\/+$/, '')}${path}`, headers, body, maxBytes: maxAnswerBytes },
      AbortSignal.any([over, this.#stopping.signal]),
    );
  }
}

/** @throws {Error} unless `decision` is a boolean. */
function decisionOf(answer: unknown): Evaluated {
  if (!isObject(answer) || typeof answer['decision'] !== 'boolean')
    throw new Error('its answer has no "decision" that is true or false');
  const { decision, context } = answer;
  const reason = isObject(context) ? (context['reason'] ?? context['reason_user']) : undefined;
  const because = isObject(reason) ? Object.values(reason)[0] : reason;
  return {
    isPermitted: decision,
    ...(typeof because === 'string' ? { because: because.slice(0, maxReason) } : {}),
  };
}
