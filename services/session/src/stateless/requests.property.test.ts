/** Whenever a client closes its stream, and whatever its server does meanwhile: nothing of the request is left, here or at the server. */
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import type { JsonObject } from '@omnibus/protocol';
import { RequestsUnderTest, type Sent } from './requests-under-test.ts';

const step = fc.oneof(
  fc.record({
    kind: fc.constant('call' as const),
    method: fc.constantFrom(
      'tools/call',
      'resources/read',
      'completion/complete',
      'subscriptions/listen',
      'tasks/get',
      'tasks/update',
    ),
  }),
  fc.record({
    kind: fc.constantFrom('close' as const, 'come back' as const, 'come back with nothing' as const),
    which: fc.nat(20),
  }),
  fc.record({
    kind: fc.constantFrom(
      'ask' as const,
      'withdraw' as const,
      'progress' as const,
      'task' as const,
      'need' as const,
      'answer' as const,
      'fail' as const,
    ),
    which: fc.nat(20),
  }),
  fc.record({ kind: fc.constantFrom('a moment' as const, 'a window' as const, 'lose' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const params = (method: string, task: string): JsonObject => {
  switch (method) {
    case 'tools/call':
      return { name: 'act', arguments: {} };
    case 'resources/read':
      return { uri: 'up://one' };
    case 'completion/complete':
      return { ref: { type: 'ref/resource', uri: 'up://one' }, argument: { name: 'a', value: 'b' } };
    case 'subscriptions/listen':
      return { notifications: { resourcesListChanged: true, resourceSubscriptions: ['up://one'] } };
    default:
      return { taskId: task, inputResponses: {} };
  }
};

/** One client, one server, and what passes between them. */
class Run {
  readonly test: RequestsUnderTest;
  readonly sent: { readonly request: Sent; readonly method: string }[] = [];
  #input = 0;
  #task = 'none';

  constructor(test: RequestsUnderTest) {
    this.test = test;
  }

  do(action: Step): void {
    const { test } = this;
    if (action.kind === 'call') {
      this.sent.push({ method: action.method, request: test.send(action.method, params(action.method, this.#task)) });
      return;
    }
    if (action.kind === 'lose') test.loseAdapters();
    if (!('which' in action)) return;
    const chosen = this.sent[action.which % this.sent.length];
    const asked = test.asked[action.which % test.asked.length];
    switch (action.kind) {
      case 'close':
        if (chosen !== undefined) test.close(chosen.request);
        return;
      case 'come back':
      case 'come back with nothing': {
        const { requestState, inputRequests } = (chosen?.request.answer() ?? {}) as {
          readonly requestState?: string;
          readonly inputRequests?: JsonObject;
        };
        if (chosen === undefined || requestState === undefined) return;
        const inputResponses =
          action.kind === 'come back'
            ? Object.fromEntries(Object.keys(inputRequests ?? {}).map((key) => [key, { action: 'decline' }]))
            : {};
        this.sent.push({
          method: chosen.method,
          request: test.send(chosen.method, { ...params(chosen.method, this.#task), requestState, inputResponses }),
        });
        return;
      }
      case 'ask':
        this.#input += 1;
        asked?.reply({ kind: 'input', input: this.#input, method: 'elicitation/create', params: { message: 'Well?' } });
        return;
      case 'withdraw':
        asked?.reply({ kind: 'input-withdrawn', input: this.#input, reason: 'too late' });
        return;
      case 'progress':
        asked?.reply({ kind: 'progress', progress: 1 });
        return;
      case 'task':
        asked?.reply({ kind: 'result', result: { task: { taskId: 'task-1', status: 'working' } } });
        for (const { request } of this.sent)
          if (typeof request.answer()?.['taskId'] === 'string') this.#task = request.answer()?.['taskId'] as string;
        return;
      case 'need':
        asked?.reply({ kind: 'result', result: { taskId: 'task-1', status: 'input_required' } });
        return;
      case 'answer':
        asked?.reply({ kind: 'result', result: { content: [] } });
        return;
      case 'fail':
        asked?.reply({ kind: 'error', error: { code: -1, message: 'no' } });
    }
  }
}

it(
  'a request whose stream is closed at any moment leaves nothing, and any other is answered once',
  // Each turn of the clock waits a moment for every timer, of which a run has thousands.
  { timeout: 300_000 },
  async () => {
    vi.useFakeTimers();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (schedule) => {
        const test = await RequestsUnderTest.start({ maxInFlightPerSession: 8, maxParked: 4 });
        const run = new Run(test);
        for (const action of schedule) {
          run.do(action);
          if (action.kind === 'a moment') await vi.advanceTimersByTimeAsync(0);
          if (action.kind === 'a window') await vi.advanceTimersByTimeAsync(600);
        }
        for (const { request } of run.sent) test.close(request);
        // State for a client that might come back stays for as long as it may, and no longer.
        await vi.advanceTimersByTimeAsync(2 * 60_000);
        for (const {
          method,
          request: { frames },
        } of run.sent) {
          const answers = frames.filter(
            (frame) => frame.kind === 'refused' || (frame.kind === 'message' && frame.isAnswer),
          );
          expect(answers.length).toBeLessThanOrEqual(1);
          if (answers.length > 0 && method !== 'subscriptions/listen') expect(frames.at(-1)).toBe(answers[0]);
        }
        const left = await Promise.all(
          [
            'omnibus_requests_without_session',
            'omnibus_kept_calls',
            'omnibus_kept_calls_bytes',
            'omnibus_listeners',
          ].map((name) => test.metric(name)),
        );
        expect({ left, joined: test.requests.remembered, open: test.openExchanges, faults: test.faults }).toEqual({
          left: [0, 0, 0, 0],
          joined: 0,
          open: 0,
          faults: [],
        });
        test.stop();
      }),
      { numRuns: 200 },
    );
    vi.useRealTimers();
  },
);
