import { beforeEach, describe, expect, it } from 'vitest';
import { Reading, ReadingBudget, type ReadingShare } from './reading-budget.ts';

const kb = 1_024;
const mb = 1_024 * kb;

let budget: ReadingBudget;
let waits: number;
beforeEach(() => {
  waits = 0;
  budget = new ReadingBudget({
    maxBytes: 8 * mb,
    onWait: () => {
      waits += 1;
    },
  });
});

/** Reads like a response, as long as it does not have to wait. */
class Response {
  readonly #reading: Reading;
  isWaiting = false;
  got = 0;

  constructor(share: ReadingShare) {
    this.#reading = new Reading(share, () => {
      this.isWaiting = false;
    });
  }

  /** @returns whether all bytes were received. */
  receive(bytes: number): boolean {
    for (let left = bytes; left > 0 && !this.isWaiting; left -= 64 * kb) {
      this.got += Math.min(left, 64 * kb);
      this.isWaiting = !this.#reading.add(Math.min(left, 64 * kb));
    }
    return !this.isWaiting;
  }

  end(): void {
    this.#reading.end();
  }
}

describe('answers that are read', () => {
  it("wait when one server has as much as it may, and other servers' go on", () => {
    const [one, other] = [budget.share(), budget.share()];
    const responses = Array.from({ length: 20 }, () => new Response(one));
    for (const response of responses) response.receive(mb);
    expect(budget.bytes).toBeLessThan(6 * mb);
    expect(responses.filter(({ isWaiting }) => isWaiting).length).toBeGreaterThan(10);
    expect(new Response(other).receive(2 * mb)).toBe(true);
    expect(waits).toBeGreaterThan(10);
  });

  it('are all whole in the end, whatever their number, one after the other', () => {
    const share = budget.share();
    const size = 4 * mb;
    const open = new Set(Array.from({ length: 192 }, () => new Response(share)));
    let most = 0;
    for (let rounds = 0; open.size > 0; rounds += 1) {
      expect(rounds, 'something is always read on').toBeLessThan(20_000);
      for (const response of open) {
        response.receive(Math.min(64 * kb, size - response.got));
        most = Math.max(most, budget.bytes);
        if (response.got < size || response.isWaiting) continue;
        response.end();
        open.delete(response);
      }
    }
    // Each response may have been read up to the small bound, and one is always read on.
    expect(most).toBeLessThan(4 * mb + size + 192 * 64 * kb);
    expect(budget.bytes).toBe(0);
  });

  it("that dribble delay no other client's", () => {
    const [slow, quick] = [budget.share(), budget.share()];
    const others = Array.from({ length: 3 }, () => budget.share());
    for (const share of [slow, ...others])
      for (let count = 0; count < 10; count += 1) new Response(share).receive(4 * mb);
    expect(budget.isFull).toBe(true);
    for (let count = 0; count < 3; count += 1) {
      const response = new Response(quick);
      expect(response.receive(4 * mb)).toBe(true);
      response.end();
    }
  });

  it('that are small never wait, and take nothing', () => {
    const share = budget.share();
    for (let count = 0; count < 20; count += 1) new Response(share).receive(mb);
    const before = budget.bytes;
    expect(new Response(share).receive(64 * kb)).toBe(true);
    expect(budget.bytes).toBe(before);
  });

  it('that are given up while they wait leave their room to others', () => {
    const share = budget.share();
    const responses = Array.from({ length: 20 }, () => new Response(share));
    for (const response of responses) response.receive(mb);
    const waiting = responses.filter(({ isWaiting }) => isWaiting);
    for (const response of responses) if (!waiting.includes(response)) response.end();
    for (const response of waiting.slice(1)) response.end();
    expect(waiting[0]?.isWaiting).toBe(false);
    waiting[0]?.end();
    expect(budget.bytes).toBe(0);
  });
});
