/**
 * Fulfils the demands of a server of 2026-07-28 with an older client: each entry of its `InputRequiredResult` becomes a question of the call, and the request
 * is sent again with the answers (2026-07-28 basic/patterns, Multi Round-Trip Requests).
 */
import { randomUUID } from 'node:crypto';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import {
  errorResult,
  fault,
  isInputMethod,
  isObject,
  type ExchangeMethod,
  type ExchangeOutcome,
  type InputAnswer,
  type InputMethod,
  type JsonObject,
} from '@omnibus/protocol';

export interface RoundOptions {
  /** Parameters of the request that the server answered with the demand. */
  readonly params: JsonObject;
  readonly result: JsonObject;
  readonly method: ExchangeMethod;
  readonly round: number;
  readonly wheel: DeadlineWheel;
  readonly ask: (method: InputMethod, params: JsonObject, respond: (answer: InputAnswer) => void) => void;
  /** Sends the request again. */
  readonly again: (params: JsonObject) => void;
  /** Ends the call without another request. */
  readonly finish: (outcome: ExchangeOutcome) => void;
}

/** Bound on the rounds of one request: as many as the official client goes through. */
const maxRounds = 10;
/** Bound on the questions of one result; each takes a person's time, or a model call. */
const maxRequests = 100;
/** Milliseconds before a request is sent again for which the server demanded nothing but to wait. */
const pauseMs = 250;

export function startRound({ params, result, method, round, wheel, ask, again, finish }: RoundOptions): void {
  const { inputRequests, requestState } = result;
  const { inputResponses: _responses, requestState: _state, ...plain } = params;
  const next = { ...plain, ...(typeof requestState === 'string' ? { requestState } : {}) };
  const requests = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  const problem =
    round >= maxRounds
      ? `it wanted something of the client ${maxRounds} times`
      : requests.length === 0 && requestState === undefined
        ? 'it wants input but does not say which'
        : requests.length > maxRequests
          ? `it wants ${requests.length} things of the client at once`
          : requests.some(([, request]) => !isObject(request) || !isInputMethod(request['method']))
            ? 'it wants input of a kind that no client has'
            : undefined;
  if (problem !== undefined) {
    finish({ kind: 'fault', fault: fault('upstream.invalid', `the server cannot be satisfied: ${problem}`) });
    return;
  }
  if (requests.length === 0) {
    wheel.schedule(pauseMs, () => again(next));
    return;
  }
  /** Answers by the keys that the server chose. A map, because a key may be `__proto__`. */
  const responses = new Map<string, JsonObject>();
  let isOver = false;
  for (const [key, request] of requests as [string, JsonObject][]) {
    const kind = request['method'] as InputMethod;
    ask(kind, questionParams(request['params']), (answer) => {
      if (isOver) return;
      const response = responseOf(kind, answer);
      if (response === undefined) {
        isOver = true;
        finish(refusal(method, kind, answer));
        return;
      }
      responses.set(key, response);
      if (responses.size === requests.length) again({ ...next, inputResponses: Object.fromEntries(responses) });
    });
  }
}

/** Gives an elicitation by URL an id, since a client of 2025-11-25 needs one and this revision has none. */
export function questionParams(params: unknown): JsonObject {
  const given = isObject(params) ? params : {};
  return given['mode'] === 'url' && given['elicitationId'] === undefined
    ? { ...given, elicitationId: randomUUID() }
    : given;
}

/** The answers have no place for an error, so an impossible elicitation counts as closed by the user. */
export function responseOf(method: InputMethod, answer: InputAnswer): JsonObject | undefined {
  if ('result' in answer) return answer.result;
  return method === 'elicitation/create' ? { action: 'cancel' } : undefined;
}

export function refusal(method: ExchangeMethod, kind: InputMethod, answer: InputAnswer): ExchangeOutcome {
  const message = `${kind} was refused by the client: ${'error' in answer ? answer.error.message : 'no answer'}`;
  return method === 'tools/call'
    ? { kind: 'result', result: errorResult(message) }
    : { kind: 'error', error: { code: -32_603, message } };
}
