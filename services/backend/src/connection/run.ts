/** Names the run of a program that created a task, because another run may give the same task ids. */
import { randomBytes } from 'node:crypto';
import type { TaskPlace, WorkerId } from '@omnibus/protocol';

export interface RunOptions {
  /** The worker that has the connection. */
  readonly worker: WorkerId;
  /** Whether the gateway runs the server itself. */
  readonly isProgram: boolean;
  /** Whether the transport's program or port belongs to the connection alone, so that the old one must be gone before a new one opens. */
  readonly isExclusive: boolean;
}

/** One connection to a server and, if it has a program of its own, the present run of that program. */
export class Run {
  readonly #options: RunOptions;
  #name = newName();
  #isOver = false;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  /** The place of new tasks. */
  get place(): TaskPlace {
    const { worker, isProgram } = this.#options;
    return { worker, connection: this.#name, isProgram };
  }

  /** Whether tasks of a place still exist here. */
  has({ worker, connection }: TaskPlace): boolean {
    return !this.#isOver && worker === this.#options.worker && connection === this.#name;
  }

  /** A new run begins: tasks of a program end with its run, and tasks of a server that something else runs stay. */
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
