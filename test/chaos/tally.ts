/** A call that was answered with an error of the gateway, or cut off together with the edge. */
export interface Interruption {
  readonly reason: string;
  readonly call: string;
  /** When it was made and when it ended, as `performance.now()`. */
  readonly from: number;
  readonly to: number;
}

/** The outcomes of the calls of all clients. */
export class Tally {
  readonly lost: string[] = [];
  readonly wrong: string[] = [];
  readonly unanswered: string[] = [];
  answered = 0;
  /** Tags of the calls of the server "up" with a successful answer. */
  readonly seen = new Set<string>();
  /** Number of successful calls after an approval. */
  approved = 0;
  readonly interruptions: Interruption[] = [];
  /** Tags of calls of the server "up" that may be made twice. */
  readonly repeatable = new Set<string>();
  /** Milliseconds from each fault to the next successful call of any client. */
  readonly recoveries: number[] = [];
  /** The longest time of any client without a successful call, in milliseconds. */
  longestWaitMs = 0;
  /** The client of that time, and its end in seconds of the run. */
  longestWaitOf = '';
  readonly #successes = new Map<string, number>();
  #faultAt: number | undefined;
  #awaited: { readonly clients: number; readonly resolve: () => void } | undefined;

  /** Resolves when so many clients have had a successful call each. */
  allSucceeded(clients: number): Promise<void> {
    return new Promise((resolve) => {
      this.#awaited = { clients, resolve };
    });
  }

  fault(): void {
    this.#faultAt ??= performance.now();
  }

  success(client: string): void {
    const now = performance.now();
    this.answered += 1;
    const since = this.#successes.get(client) ?? now;
    this.#successes.set(client, now);
    if (this.#awaited !== undefined && this.#successes.size >= this.#awaited.clients) this.#awaited.resolve();
    if (now - since > this.longestWaitMs) {
      this.longestWaitMs = now - since;
      this.longestWaitOf = `${client}, until ${Math.round(now / 1_000)} s`;
    }
    if (this.#faultAt === undefined) return;
    this.recoveries.push(now - this.#faultAt);
    this.#faultAt = undefined;
  }

  /** @param from the start of the call, as `performance.now()`. */
  interrupt(reason: unknown, call: string, from: number): void {
    this.interruptions.push({ reason: String(reason), call, from, to: performance.now() });
  }

  /** Notes a call without an answer, with the faults in the meantime. @param since the start of the call, as `performance.now()`. */
  giveUp(call: string, since: number): void {
    const [from, to] = [since, performance.now()].map((time) => Math.round(time / 1_000));
    this.unanswered.push(`${call}, from ${from} s to ${to} s`);
  }

  /** @returns the time within which that share of the recoveries took place. */
  recoveredWithin(part: number): number {
    const times = [...this.recoveries].sort((a, b) => a - b);
    return Math.round(times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0);
  }
}
