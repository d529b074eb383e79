/**
 * Takes the calls of one server at this worker. It stays while one adapter replaces another, so that a call that comes at that moment finds exactly one,
 * and a question about open exchanges is answered once for all adapters.
 */
import { subjects, type Bus, type Subscription } from '@omnibus/bus';
import type { CallCommand, ExchangeEvent, ExchangeId, HeldExchanges, ServerName, WorkerId } from '@omnibus/protocol';

/** An adapter, as far as calls are concerned. */
interface CallTaker {
  readonly calls: { begin(command: CallCommand, reply: (event: ExchangeEvent) => void): void };
  /** Those of the exchanges that are open there. */
  held(exchanges: readonly ExchangeId[]): ExchangeId[];
}

export class Inlet {
  /** The last one takes new calls. */
  #adapters: readonly CallTaker[] = [];
  #calls: readonly Subscription[] = [];
  #questions: Subscription | undefined;

  async open(bus: Bus, server: ServerName, worker: WorkerId): Promise<void> {
    const hear: CallTaker['calls']['begin'] = (command, reply) => this.#adapters.at(-1)?.calls.begin(command, reply);
    const sayWhatIsHeld = ({ exchanges }: HeldExchanges, reply: (held: HeldExchanges) => void): void => {
      reply({ exchanges: this.#adapters.flatMap((adapter) => adapter.held(exchanges)) });
    };
    this.#questions = await bus.subscribe(subjects.backendHolds(server, worker), sayWhatIsHeld);
    this.#calls = [
      await bus.subscribe(subjects.backend(server), hear, { queue: 'backend' }),
      await bus.subscribe(subjects.backendAt(server, worker), hear),
    ];
  }

  /** From now on this adapter takes new calls. */
  turnTo(adapter: CallTaker): void {
    this.#adapters = [...this.#adapters, adapter];
  }

  /** An adapter has finished its calls. */
  leave(adapter: CallTaker): void {
    this.#adapters = this.#adapters.filter((each) => each !== adapter);
    if (this.#adapters.length === 0) this.#questions?.close();
  }

  /** Takes no new calls. Resolves when calls on their way have arrived. */
  async drain(): Promise<void> {
    await Promise.all(this.#calls.map((subscription) => subscription.drain()));
  }
}
