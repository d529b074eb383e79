/** What tells the tasks that are made over one connection from others to which the server gave the same ids. */
import { randomBytes } from 'node:crypto';
import type { TaskPlace, WorkerId } from '@omnibus/protocol';

export interface RunOptions {
  /** The worker it is a part of. */
  readonly worker: WorkerId;
  /** The gateway runs the server itself. */
  readonly isProgram: boolean;
  /** The transport's program or port belongs to the connection alone, so an old one must be gone before a new one opens. */
  readonly isExclusive: boolean;
}

/** One connection to a server; where a program of its own is behind it, one run of that at a time. */
export class Run {
  readonly #options: RunOptions;
  #name = newName();
  #isOver = false;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  /** Where the tasks are that are made now. */
  get place(): TaskPlace {
    const { worker, isProgram } = this.#options;
    return { worker, connection: this.#name, isProgram };
  }

  /** Tasks of that place can still be asked for here. */
  has({ worker, connection }: TaskPlace): boolean {
    return !this.#isOver && worker === this.#options.worker && connection === this.#name;
  }

  /** What a server that somebody else runs has made is there whichever way it is reached; what a program has made ends with it. */
  begin(): void {
    if (this.#options.isExclusive) this.#name = newName();
    this.#isOver = false;
  }

  end(): void {
    this.#isOver = this.#options.isExclusive;
  }
}

function newName(): string {
  return randomBytes(9).toString('base64url');
}
