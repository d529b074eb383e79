import { describe, expect, it } from 'vitest';
import { Legs } from './legs.ts';

/** A leg with scripted attempts, on a clock of the test. */
function leg(answers: boolean[], isPossible = true) {
  let now = 0;
  let attempts = 0;
  const made = new Legs(
    isPossible,
    () => {
      attempts += 1;
      return Promise.resolve(answers.shift() ?? false);
    },
    () => now,
  );
  return { made, attempts: () => attempts, pass: (ms: number) => void (now += ms) };
}

const refusal = (message: string) => ({ kind: 'error', error: { code: -32_600, message } }) as const;

describe('the older leg', () => {
  it('carries clients with a session once the server has taken an introduction, found out once for all who wait', async () => {
    const { made, attempts } = leg([true]);
    expect(made.carries(true, false)).toBeUndefined();
    await Promise.all([made.find(), made.find()]);
    expect(attempts()).toBe(1);
    expect(made.carries(true, false)).toBe(true);
    expect(made.carries(false, true)).toBe(false);
  });

  it('is not tried where the configuration names the era', () => {
    expect(leg([true], false).made.carries(true, true)).toBe(false);
  });

  it('is tried again later where the server did not take it, each time after a longer pause', async () => {
    const { made, pass } = leg([false, false, true]);
    await made.find();
    expect(made.carries(true, false)).toBe(false);
    pass(61_000);
    expect(made.carries(true, false)).toBeUndefined();
    await made.find();
    pass(61_000);
    expect(made.carries(true, false)).toBe(false);
    pass(61_000);
    await made.find();
    expect(made.carries(true, false)).toBe(true);
  });

  it('is found out anew after it was lost', async () => {
    const { made } = leg([true, false]);
    await made.find();
    made.forget();
    expect(made.carries(true, false)).toBeUndefined();
  });

  it.each([
    "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests.",
    'elicitation via server-initiated requests is unavailable on 2026-07-28 connections.',
  ])(
    'carries clients without a session who may be asked, for an hour after a server has said that it cannot ask them: %s',
    async (message) => {
      const { made, pass } = leg([true]);
      expect(made.carries(false, true)).toBe(false);
      made.learn({ kind: 'result', result: { isError: true, content: [{ type: 'text', text: message }] } });
      await made.find();
      expect(made.carries(false, true)).toBe(true);
      expect(made.carries(false, false)).toBe(false);
      pass(2 * 60 * 60_000);
      expect(made.carries(false, true)).toBe(false);
      made.learn(refusal(message));
      expect(made.carries(false, true)).toBe(true);
    },
  );

  it('learns nothing from other failures', () => {
    const { made } = leg([true]);
    made.learn(refusal('the disk is full'));
    made.learn({ kind: 'result', result: { content: [{ type: 'text', text: 'about server-initiated requests' }] } });
    expect(made.carries(false, true)).toBe(false);
  });
});
