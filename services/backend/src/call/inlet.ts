/**
 * Where the calls of one server come in at this worker. It stays while adapters follow each other, so that a call that comes in the
 * moment of a change finds exactly one of them, and whoever asks what is held here hears of all of them in one answer.
 */
import { subjects, type Bus, type Subscription } from '@omnibus/bus';
import type { CallCommand, ExchangeEvent, ExchangeId, HeldExchanges, ServerName, WorkerId } from '@omnibus/protocol';

/** An adapter, as far as calls go. */
interface CallTaker {
  hear(command: CallCommand, reply: (event: ExchangeEvent) => void): void;
  /** Those of the exchanges that are open there. */
  held(exchanges: readonly ExchangeId[]): ExchangeId[];
}

export class Inlet {
  /** The one that takes new calls is the last. */
  #adapters: readonly CallTaker[] = [];
  #calls: readonly Subscription[] = [];
  #questions: readonly Subscription[] = [];

  async open(bus: Bus, server: ServerName, worker: WorkerId): Promise<void> {
    const hear: CallTaker['hear'] = (command, reply) => this.#adapters.at(-1)?.hear(command, reply);
    const sayWhatIsHeld = ({ exchanges }: HeldExchanges, reply: (held: HeldExchanges) => void): void => {
      reply({ exchanges: this.#adapters.flatMap((adapter) => adapter.held(exchanges)) });
    };
    this.#questions = [await bus.subscribe(subjects.backendHolds(server, worker), sayWhatIsHeld), await bus.subscribe(subjects.backendHolds(server, undefined), sayWhatIsHeld)];
    this.#calls = [await bus.subscribe(subjects.backend(server), hear, { queue: 'backend' }), await bus.subscribe(subjects.backendAt(server, worker), hear)];
  }

  /** What comes from now on is this adapter's. */
  turnTo(adapter: CallTaker): void {
    this.#adapters = [...this.#adapters, adapter];
  }

  /** An adapter has finished what it had begun. */
  leave(adapter: CallTaker): void {
    this.#adapters = this.#adapters.filter((each) => each !== adapter);
    if (this.#adapters.length === 0) for (const subscription of this.#questions) subscription.close();
  }

  /** Takes no new call. Resolves when those on their way have come. */
  async drain(): Promise<void> {
    await Promise.all(this.#calls.map((subscription) => subscription.drain()));
  }
}
