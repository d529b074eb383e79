/** The store of the streams of a test's session. */
import { DeadlineWheel } from '@omnibus/lifecycle';
import { FrameBudget } from '../streams/kept-frames.ts';
import type { StreamHome } from '../streams/resumable-stream.ts';

/** A budget on a clock of the test. */
export class TestBudget {
  now = 0;
  readonly dropped: string[] = [];
  readonly budget: FrameBudget;
  readonly #wheel = new DeadlineWheel({
    now: () => this.now,
    onFault: (error) => {
      throw error;
    },
  });

  constructor({ maxBytes = 1_000, maxBytesPerSession = 1_000 } = {}) {
    this.budget = new FrameBudget({
      wheel: this.#wheel,
      maxBytes,
      maxBytesPerSession,
      onDrop: (bound) => this.dropped.push(bound),
      now: () => this.now,
    });
  }

  home(): StreamHome {
    return { share: this.budget.share(), keeper: undefined };
  }

  pass(ms: number): void {
    this.now += ms;
    this.#wheel.tick();
  }
}

export function homeOf(): StreamHome {
  return new TestBudget({ maxBytes: 1_000_000, maxBytesPerSession: 1_000_000 }).home();
}
