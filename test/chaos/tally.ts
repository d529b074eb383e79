/** What became of the calls of all clients. */
export class Tally {
  readonly lost: string[] = [];
  readonly wrong: string[] = [];
  readonly unanswered: string[] = [];
  answered = 0;
  /** Answered with an error of the gateway, or cut off together with the edge; either way the client knows. */
  interrupted = 0;
  readonly reasons = new Map<string, number>();
  /** Milliseconds from a fault to the next call of anybody that succeeded. */
  readonly recoveries: number[] = [];
  /** Milliseconds the most unlucky client went without a success. */
  longestWaitMs = 0;
  /** Whose wait that was, and between which moments of the run, in seconds. */
  longestWaitOf = '';
  readonly #successes = new Map<string, number>();
  #faultAt: number | undefined;

  fault(): void {
    this.#faultAt ??= performance.now();
  }

  success(client: string): void {
    const now = performance.now();
    this.answered += 1;
    const since = this.#successes.get(client) ?? now;
    this.#successes.set(client, now);
    if (now - since > this.longestWaitMs) {
      this.longestWaitMs = now - since;
      this.longestWaitOf = `${client}, until ${Math.round(now / 1_000)} s`;
    }
    if (this.#faultAt === undefined) return;
    this.recoveries.push(now - this.#faultAt);
    this.#faultAt = undefined;
  }

  interrupt(reason: unknown): void {
    this.interrupted += 1;
    const name = String(reason);
    this.reasons.set(name, (this.reasons.get(name) ?? 0) + 1);
  }

  /** @param since when it was asked, as `performance.now()`; which faults struck meanwhile is the first thing to know. */
  giveUp(call: string, since: number): void {
    const [from, to] = [since, performance.now()].map((time) => Math.round(time / 1_000));
    this.unanswered.push(`${call}, from ${from} s to ${to} s`);
  }

  /** @returns the time within which that part of the recoveries was. */
  recoveredWithin(part: number): number {
    const times = [...this.recoveries].sort((a, b) => a - b);
    return Math.round(times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0);
  }
}
