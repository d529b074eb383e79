/**
 * Decisions before a call is sent, in one order. A gate lets a call pass, changes it, holds it or refuses it. The path of a call knows this interface only; the
 * worker makes the list of gates.
 */
import type { ServerName } from '@omnibus/protocol';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import type { OpenRequests } from './open-requests.ts';
import type { Planned } from './planned-again.ts';
import type { PublicMessages } from './public-messages.ts';
import type { TimeLimits } from './exchange-request.ts';
import type { Watchers } from './watchers.ts';

export interface Gate {
  /**
   * Decides about a call, at once or later. A gate that waits holds the call among the open requests of its client (`GateRun.open`), and plans it again
   * afterwards, by the rules, lists and definitions of that moment.
   * @returns false if there is nothing to decide: the next gate decides. Otherwise the gate answers the call, or continues it with `next` or `from`.
   */
  takes<Stream extends CallStream>(planned: Planned<Stream>, run: GateRun<Stream>): boolean;
}

/** One client's way through the gates. */
export interface GateRun<Stream extends CallStream> {
  readonly watchers: Watchers;
  readonly timeLimits: (server: ServerName, tool: string | undefined) => TimeLimits;
  readonly port: ClientPort<Stream>;
  readonly messages: PublicMessages<Stream>;
  readonly open: OpenRequests;
  /** Plans a call by the rules, lists and definitions as they are now. */
  again(call: ForwardedCall<Stream>): Planned<Stream>;
  /** Sends the call, whatever gates come after this one. */
  carry(planned: Planned<Stream>): void;
  /** Asks the gates after this one, and sends the call if all let it pass. */
  next(gate: Gate, planned: Planned<Stream>): void;
  /** Asks this gate and those after it, since the call is another one than before. */
  from(gate: Gate, planned: Planned<Stream>): void;
  /** Asks all gates, since the call goes to another place than before. */
  restart(planned: Planned<Stream>): void;
}

/** The gates of a worker, in their order, of the features that are on. */
export class Gates {
  /** Those that calls pass now. */
  all: readonly Gate[] = [];
  readonly #every: readonly Gate[];
  #after = new Map<Gate, readonly Gate[]>();

  /** @param every the gates of all features. A call that waits at a gate goes on behind it, though its feature is off by then. */
  constructor(every: readonly Gate[]) {
    this.#every = every;
    this.set(every);
  }

  /** @param on the gates of the features that are on. */
  set(on: readonly Gate[]): void {
    this.all = on;
    this.#after = new Map(
      this.#every.map((gate, index) => [gate, this.#every.slice(index + 1).filter((each) => on.includes(each))]),
    );
  }

  after(gate: Gate): readonly Gate[] {
    return this.#after.get(gate) ?? [];
  }

  since(gate: Gate): readonly Gate[] {
    return [gate, ...this.after(gate)];
  }
}
