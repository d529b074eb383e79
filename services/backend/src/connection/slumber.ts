/**
 * Puts a server to sleep: after a time without a call its connection is closed, and the program behind it ends, or the pod without connections. Its
 * lists stay in the catalogue, since the next call wakes the server.
 */
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import type { UpstreamConnection } from './connection.ts';

export interface SlumberOptions {
  readonly wheel: DeadlineWheel;
  /** Milliseconds without a call after which the server sleeps. */
  readonly afterMs: number;
  readonly base: UpstreamConnection;
  /** Whether something other than calls needs the server, such as a task. */
  readonly isBusy: () => boolean;
  readonly changed: (isAsleep: boolean) => void;
}

export class Slumber {
  readonly #options: SlumberOptions;
  #usedAt = performance.now();
  #look: Deadline | undefined;
  /** Whether the sleep was announced. */
  #isSaid = false;

  constructor(options: SlumberOptions) {
    this.#options = options;
  }

  /** The server is connected, so the time without calls begins. */
  begin(): void {
    const { afterMs, wheel } = this.#options;
    this.#usedAt = performance.now();
    this.#look?.cancel();
    // Something other than a call has woken the server.
    this.#sayAwake();
    this.#look = wheel.schedule(afterMs, () => this.#consider());
  }

  /** The server is called. */
  used(): void {
    const { base } = this.#options;
    this.#usedAt = performance.now();
    this.#sayAwake();
    if (base.isAsleep) base.wake();
  }

  /** A call has come; as a watcher of calls. */
  begun(): undefined {
    this.used();
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
