import { describe, expect, it } from 'vitest';
import { DeadlineWheel } from '@omnibus/lifecycle';
import type { ExchangeOutcome, InputAnswer, JsonObject } from '@omnibus/protocol';
import { startRound } from './rounds.ts';

/** What happens when a server wants the requests and each is answered at once. */
function ask(inputRequests: unknown): {
  readonly again: JsonObject | undefined;
  readonly outcome: ExchangeOutcome | undefined;
} {
  let again: JsonObject | undefined;
  let outcome: ExchangeOutcome | undefined;
  const answer: InputAnswer = { result: { action: 'accept', content: { a: 1 } } };
  startRound({
    params: { name: 'tool' },
    result: { resultType: 'input_required', inputRequests } as JsonObject,
    method: 'tools/call',
    round: 0,
    wheel: new DeadlineWheel({ onFault: (error) => expect.fail(String(error)) }),
    ask: (_method, _params, respond) => respond(answer),
    again: (params) => (again = params),
    finish: (each) => (outcome = each),
  });
  return { again, outcome };
}

const question = { method: 'elicitation/create', params: { message: 'Well?', requestedSchema: {} } };

describe('what a server wants of a client', () => {
  it('is answered under its own keys, whatever they are called', () => {
    const { again } = ask(
      JSON.parse(
        `{"__proto__":${JSON.stringify(question)},"constructor":${JSON.stringify(question)},"":${JSON.stringify(question)}}`,
      ),
    );
    expect(Object.keys(again?.['inputResponses'] as JsonObject)).toEqual(['__proto__', 'constructor', '']);
  });

  it('is refused when it is no question, or a thousand at once', () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`q${index}`, question]));
    for (const requests of [
      many,
      { a: null },
      { a: { method: 'ping' } },
      { a: { method: 'constructor' } },
      [],
      'x',
      undefined,
    ]) {
      expect(ask(requests)).toMatchObject({
        again: undefined,
        outcome: { kind: 'fault', fault: { reason: 'upstream.invalid' } },
      });
    }
  });
});
