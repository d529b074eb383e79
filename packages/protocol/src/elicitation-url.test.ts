import { describe, expect, it } from 'vitest';
import { urlElicitationRequired, type ExchangeOutcome } from './index.ts';
import { outcomeUrlProblem, urlProblem } from './elicitation-url.ts';

const good = [
  'https://example.com/connect?state=1',
  'http://localhost:8080/x',
  'http://127.0.0.1/x',
  'http://[::1]:9/x',
  'http://app.localhost/',
];
const bad = [
  'javascript:alert(1)',
  ' JavaScript:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,<script>',
  'file:///etc/passwd',
  'vbscript:x',
  'blob:https://example.com/1',
  'http://example.com/',
  'http://127.0.0.1.example.com/',
  'https://github.com@evil.example/',
  'ms-settings:',
  'not a url',
  '',
  7,
  undefined,
];

describe('the address of an elicitation', () => {
  it("passes when it is https, or http on the user's own machine", () => {
    for (const url of good) expect(urlProblem({ mode: 'url', url })).toBeUndefined();
    expect(urlProblem({ message: 'a form' })).toBeUndefined();
  });

  it('does not pass when anything else would run or be opened by it', () => {
    for (const url of bad) expect(urlProblem({ mode: 'url', url }), String(url)).toBeDefined();
    expect(urlProblem({ url: 'javascript:alert(1)' })).toBeDefined();
  });

  it('is looked at in errors and results that require elicitations too', () => {
    const error = (url: string): ExchangeOutcome => ({
      kind: 'error',
      error: {
        code: urlElicitationRequired,
        message: 'visit',
        data: {
          elicitations: [
            { mode: 'url', url: good[0] },
            { mode: 'url', url },
          ],
        },
      },
    });
    const result = (url: string): ExchangeOutcome => ({
      kind: 'result',
      result: {
        resultType: 'input_required',
        inputRequests: {
          a: { method: 'roots/list' },
          b: { method: 'elicitation/create', params: { mode: 'url', url } },
        },
      },
    });
    for (const outcome of [error, result]) {
      expect(outcomeUrlProblem(outcome('javascript:alert(1)'))).toBeDefined();
      expect(outcomeUrlProblem(outcome('https://example.com/'))).toBeUndefined();
    }
  });
});
