import type { Queue, QueueAddOptions } from 'p-queue';

export interface WaitOptions extends QueueAddOptions {
  /** The owner of what waits. */
  readonly owner: string;
}

type Run = () => Promise<unknown>;

interface Waiting {
  readonly id: string | undefined;
  readonly run: Run;
}

/** What `p-queue` keeps those in that wait: one line an owner, and the lines take turns. */
export class FairQueue implements Queue<Run, WaitOptions> {
  readonly #mayStart: (owner: string) => boolean;
  /** Owners in the order of their turns. */
  readonly #lines = new Map<string, Waiting[]>();
  #size = 0;

  /** @param mayStart whether something of an owner may start now; one that may not is passed over. */
  constructor(mayStart: (owner: string) => boolean) {
    this.#mayStart = mayStart;
  }

  get size(): number {
    return this.#size;
  }

  sizeOf(owner: string): number {
    return this.#lines.get(owner)?.length ?? 0;
  }

  /** Whose turn it is; undefined when nobody may start. */
  get next(): string | undefined {
    for (const owner of this.#lines.keys()) if (this.#mayStart(owner)) return owner;
    return undefined;
  }

  enqueue(run: Run, options?: Partial<WaitOptions>): void {
    const owner = options?.owner ?? '';
    const waiting = { id: options?.id, run };
    const line = this.#lines.get(owner);
    if (line === undefined) this.#lines.set(owner, [waiting]);
    else line.push(waiting);
    this.#size += 1;
  }

  dequeue(): Run | undefined {
    const owner = this.next;
    const line = owner === undefined ? undefined : this.#lines.get(owner);
    const first = line?.shift();
    if (owner === undefined || line === undefined || first === undefined) return undefined;
    this.#size -= 1;
    this.#lines.delete(owner);
    if (line.length > 0) this.#lines.set(owner, line);
    return first.run;
  }

  remove(id: string | Run): void {
    for (const [owner, line] of this.#lines) {
      const index = line.findIndex((waiting) => waiting.id === id || waiting.run === id);
      if (index === -1) continue;
      line.splice(index, 1);
      this.#size -= 1;
      if (line.length === 0) this.#lines.delete(owner);
      return;
    }
  }

  filter(): Run[] {
    return [...this.#lines.values()].flatMap((line) => line.map(({ run }) => run));
  }

  /** There are no priorities: turns are the only order. */
  setPriority(): void {}
}
