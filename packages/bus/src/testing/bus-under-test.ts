/** A bus that the contract tests. */
import type { Bus } from '../bus.ts';

export interface BusUnderTest {
  /** Two ends of one bus: the same object in one process, two connections over NATS. */
  readonly near: Bus;
  readonly far: Bus;
  [Symbol.asyncDispose](): Promise<void>;
}
