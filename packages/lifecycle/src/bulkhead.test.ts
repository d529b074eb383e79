import { describe, expect, it } from 'vitest';
import { Bulkhead } from './bulkhead.ts';

describe('the bulkhead', () => {
  it('runs up to its concurrency, lets some wait and refuses the rest', async () => {
    const bulkhead = new Bulkhead({ concurrency: 2, maxWaiting: 1 });
    const started: number[] = [];
    const finish: (() => void)[] = [];
    const attempts = [0, 1, 2, 3].map((number) => bulkhead.run((done) => {
      started.push(number);
      finish.push(done);
    }));
    expect(attempts).toEqual([true, true, true, false]);
    expect(started).toEqual([0, 1]);
    finish[0]?.();
    await new Promise(setImmediate);
    expect(started).toEqual([0, 1, 2]);
    expect(bulkhead.waiting).toBe(0);
  });
});
