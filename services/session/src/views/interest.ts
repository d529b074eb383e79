/**
 * Tells adapters that their servers are in use, because unused lists are not read again. This report comes at the first use of an endpoint and then
 * repeatedly while it has clients, since a single message may be lost.
 */
import { subjects, type Bus } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { interestMs, type ServerName } from '@omnibus/protocol';
import type { Place } from './place.ts';

export interface InterestOptions {
  readonly bus: Bus;
  readonly wheel: DeadlineWheel;
  readonly serversOf: (place: Place) => readonly ServerName[];
  /** The places that have clients. */
  readonly inUse: () => Iterable<Place>;
}

export class Interest {
  readonly #options: InterestOptions;
  /** Places with a report to their adapters since the last round. */
  #said = new Set<Place>();
  #next: Deadline | undefined;

  constructor(options: InterestOptions) {
    this.#options = options;
    this.#again();
  }

  /** A client made a request at an endpoint that exists. */
  use(place: Place): void {
    if (this.#said.has(place)) return;
    this.#said.add(place);
    this.#say(new Set(this.#options.serversOf(place)));
  }

  stop(): void {
    this.#next?.cancel();
  }

  #again(): void {
    this.#next = this.#options.wheel.schedule(interestMs, () => {
      this.#said = new Set(this.#options.inUse());
      this.#say(new Set([...this.#said].flatMap((endpoint) => [...this.#options.serversOf(endpoint)])));
      this.#again();
    });
  }

  #say(servers: ReadonlySet<ServerName>): void {
    for (const server of servers) this.#options.bus.publish(subjects.backendControl(server), { kind: 'wanted' });
  }
}
