/** How often something may happen: so many times at once, and as many again each second. */
export class RateLimit {
  readonly #perSecond: number;
  #left: number;
  #countedAt = performance.now();
  #refused = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
  }

  /** @returns false when it is too much. */
  take(): boolean {
    const now = performance.now();
    this.#left = Math.min(this.#perSecond, this.#left + ((now - this.#countedAt) / 1_000) * this.#perSecond);
    this.#countedAt = now;
    if (this.#left < 1) {
      this.#refused += 1;
      return false;
    }
    this.#left -= 1;
    return true;
  }

  /** How much was too much since this was asked last. */
  takeRefused(): number {
    const refused = this.#refused;
    this.#refused = 0;
    return refused;
  }
}
