import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { HandledChanges } from './handled-changes.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const place = { server: 'github', principal: 'p_una' };

function changes() {
  const seen = { tries: 0, failed: 0, isAway: true };
  const made = new HandledChanges({
    handle: () => {
      seen.tries += 1;
      return seen.isAway ? Promise.reject(new Error('the store cannot be read')) : Promise.resolve();
    },
    failed: () => void (seen.failed += 1),
  });
  return { made, seen };
}

it('a change is handled again after growing pauses until that succeeds, and not once more', async () => {
  const { made, seen } = changes();
  made.note(place);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(seen.tries).toBeGreaterThan(5);
  expect(seen.tries).toBeLessThan(12);
  seen.isAway = false;
  await vi.advanceTimersByTimeAsync(30_000);
  const { tries } = seen;
  expect(seen.failed).toBe(tries - 1);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(seen.tries).toBe(tries);
});

it('a later change of the same place is handled at once, in place of the one before', async () => {
  const { made, seen } = changes();
  made.note(place);
  await vi.advanceTimersByTimeAsync(1);
  seen.isAway = false;
  made.note(place);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(seen).toMatchObject({ tries: 2, failed: 1 });
});

it('places are handled each for itself, and nothing is tried after the end', async () => {
  const { made, seen } = changes();
  made.note(place);
  made.note({ ...place, principal: 'p_ben' });
  await vi.advanceTimersByTimeAsync(1);
  expect(seen.tries).toBe(2);
  made.close();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(seen.tries).toBe(2);
});
