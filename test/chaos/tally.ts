/** In a chaos run, hundreds of calls are interrupted; the first ones are enough to find out why. */
const maxInterruptions = 20;

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
  /** Number of calls that were answered with an error of the gateway, or cut off together with the edge; in both cases the client is informed. */
  interrupted = 0;
  readonly reasons = new Map<string, number>();
  /** The first interrupted calls: the reason, the call, and the second of the run. */
  readonly interruptions: string[] = [];
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

  interrupt(reason: unknown, call: string): void {
    this.interrupted += 1;
    const name = String(reason);
    if (this.interruptions.length < maxInterruptions)
      this.interruptions.push(`${name}: ${call}, at ${Math.round(performance.now()) / 1_000} s`);
    this.reasons.set(name, (this.reasons.get(name) ?? 0) + 1);
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
