/**
 * When a server is left alone: after a time without a call its connection is closed, and with it the program behind it ends, or the pod that
 * nobody is connected to. What it offers stays in the catalogue, since a sleeping server serves whoever calls it: the call wakes it.
 */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { UpstreamConnection } from './connection.ts';

export interface SlumberOptions {
  readonly wheel: DeadlineWheel;
  /** Milliseconds without a call; 0: it is never left alone. */
  readonly afterMs: number;
  readonly base: UpstreamConnection;
  /** Something goes on that needs the server although nobody has called it for a while. */
  readonly isBusy: () => boolean;
  readonly changed: (isAsleep: boolean) => void;
}

export class Slumber {
  readonly #options: SlumberOptions;
  #usedAt = performance.now();
  #look: Deadline | undefined;

  constructor(options: SlumberOptions) {
    this.#options = options;
  }

  /** The server is connected: from now on it may be left alone. */
  begin(): void {
    const { afterMs, wheel } = this.#options;
    if (afterMs === 0) return;
    this.#usedAt = performance.now();
    this.#look?.cancel();
    this.#look = wheel.schedule(afterMs, () => this.#consider());
  }

  /** Somebody calls the server. */
  used(): void {
    const { afterMs, base, changed } = this.#options;
    if (afterMs === 0) return;
    this.#usedAt = performance.now();
    if (!base.isAsleep) return;
    changed(false);
    base.wake();
  }

  stop(): void {
    this.#look?.cancel();
  }

  #consider(): void {
    const { afterMs, wheel, base, isBusy, changed } = this.#options;
    const leftMs = this.#usedAt + afterMs - performance.now();
    if (leftMs <= 0 && !isBusy()) base.doze();
    if (base.isAsleep) changed(true);
    else this.#look = wheel.schedule(leftMs > 0 ? leftMs : afterMs, () => this.#consider());
  }
}
