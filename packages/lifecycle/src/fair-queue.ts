import type { Queue, QueueAddOptions } from 'p-queue';

export interface WaitOptions extends QueueAddOptions {
  /** The owner of the waiting task. */
  readonly owner: string;
}

type Run = () => Promise<unknown>;

interface Waiting {
  readonly id: string | undefined;
  readonly run: Run;
}

/** The queue of waiting tasks for `p-queue`: one line for each owner, and the lines take turns. */
export class FairQueue implements Queue<Run, WaitOptions> {
  readonly #mayStart: (owner: string) => boolean;
  /** Owners in the order of their turns. */
  readonly #lines = new Map<string, Waiting[]>();
  #size = 0;

  /** @param mayStart whether a task of an owner may start now; owners that may not are passed over. */
  constructor(mayStart: (owner: string) => boolean) {
    this.#mayStart = mayStart;
  }

  get size(): number {
    return this.#size;
  }

  sizeOf(owner: string): number {
    return this.#lines.get(owner)?.length ?? 0;
  }

  /** The owner whose turn it is; undefined when none may start. */
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
