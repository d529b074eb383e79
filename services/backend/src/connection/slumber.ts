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
  /** Others believe that it sleeps. */
  #isSaid = false;

  constructor(options: SlumberOptions) {
    this.#options = options;
  }

  /** The server is connected: from now on it may be left alone. */
  begin(): void {
    const { afterMs, wheel } = this.#options;
    if (afterMs === 0) return;
    this.#usedAt = performance.now();
    this.#look?.cancel();
    // Something besides a call has woken it.
    this.#sayAwake();
    this.#look = wheel.schedule(afterMs, () => this.#consider());
  }

  /** Somebody calls the server. */
  used(): void {
    const { afterMs, base } = this.#options;
    if (afterMs === 0) return;
    this.#usedAt = performance.now();
    this.#sayAwake();
    if (base.isAsleep) base.wake();
  }

  #sayAwake(): void {
    if (!this.#isSaid) return;
    this.#isSaid = false;
    this.#options.changed(false);
  }

  stop(): void {
    this.#look?.cancel();
  }

  #consider(): void {
    const { afterMs, wheel, base, isBusy, changed } = this.#options;
    const leftMs = this.#usedAt + afterMs - performance.now();
    if (leftMs <= 0 && !isBusy()) base.doze();
    if (base.isAsleep) {
      this.#isSaid = true;
      changed(true);
    } else this.#look = wheel.schedule(leftMs > 0 ? leftMs : afterMs, () => this.#consider());
  }
}
