/** All processes of the gateway, as far as this one can ask them: none before its bus is there. */
import type { Bus } from '@omnibus/bus';
import type { AdminQuestion, AdminAnswer } from '@omnibus/protocol';
import { ApiProblem } from './api-problem.ts';
import { Assembly } from './assembly.ts';
import { Board } from './board.ts';
import type { ApiOptions } from './options.ts';
import { pausesOf } from './pauses.ts';

export class AllProcesses {
  readonly #options: ApiOptions;
  #assembly: Assembly | undefined;
  #bus: Bus | undefined;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  get bus(): Bus | undefined {
    return this.#bus;
  }

  /** @throws {ApiProblem} `starting` */
  get assembly(): Assembly {
    if (this.#assembly !== undefined) return this.#assembly;
    throw new ApiProblem('starting', 'the process is starting, and has no bus yet', '/readyz says what it waits for');
  }

  /** @throws {ApiProblem} `starting` */
  get board(): Board {
    const { kept, ...options } = this.#options;
    return new Board({ ...options, assembly: this.assembly, pauses: () => pausesOf(kept()?.blocks) });
  }

  /** @param answer the answer of this process. */
  async start(bus: Bus, answer: (question: AdminQuestion) => Promise<AdminAnswer>): Promise<void> {
    const assembly = new Assembly({ ...this.#options, bus, answer });
    await assembly.start();
    await this.#options.tapDesk.start(bus);
    this.#assembly = assembly;
    this.#bus = bus;
  }

  stop(): void {
    this.#assembly?.stop();
  }
}
