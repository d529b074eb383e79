/** Streams and connections end with the proof of who reads them: when it expires, and when it is revoked. */
import type { Facts } from '@omnibus/identity';
import type { DeadlineWheel } from '@omnibus/lifecycle';

interface Tenure {
  readonly facts: Facts;
  readonly end: () => void;
}

/** However long a proof lasts, who reads a stream is asked again after a day. */
const maxMs = 86_400_000;

export class Tenures {
  readonly #wheel: DeadlineWheel;
  readonly #holds: (facts: Facts) => boolean;
  /** One for each open stream, which are bounded where they are opened. */
  readonly #open = new Set<Tenure>();

  /** @param holds whether what was proven is proven still. */
  constructor(wheel: DeadlineWheel, holds: (facts: Facts) => boolean) {
    this.#wheel = wheel;
    this.#holds = holds;
  }

  /**
   * @param end is called once, when the proof is none any more.
   * @returns what forgets it, for a stream that is over.
   */
  begin(facts: Facts, end: () => void): () => void {
    const forget = (): void => {
      deadline.cancel();
      this.#open.delete(tenure);
    };
    const tenure: Tenure = {
      facts,
      end: () => {
        forget();
        end();
      },
    };
    const leftMs = facts.expiresAt === undefined ? maxMs : Math.min(maxMs, Math.max(0, facts.expiresAt - Date.now()));
    const deadline = this.#wheel.schedule(leftMs, tenure.end);
    this.#open.add(tenure);
    return forget;
  }

  /** Ends what is not proven any more. */
  review(): void {
    for (const tenure of [...this.#open]) if (!this.#holds(tenure.facts)) tenure.end();
  }
}
