/** Ends streams and connections when the credentials of their client expire or are revoked. */
import type { Facts } from '@omnibus/identity';
import type { DeadlineWheel } from '@omnibus/lifecycle';

interface CredentialLifetime {
  readonly facts: Facts;
  readonly end: () => void;
}

/** Milliseconds after which a stream ends even if the credentials are valid for longer. */
const maxMs = 86_400_000;

export class CredentialLifetimes {
  readonly #wheel: DeadlineWheel;
  readonly #holds: (facts: Facts) => boolean;
  /** One entry for each open stream; their number is bounded where they are opened. */
  readonly #open = new Set<CredentialLifetime>();
  /** How often something may have been revoked so far: whoever has asked at the same number need not ask again. */
  #reviews = 0;

  /** @param holds whether facts that were proven are still valid. */
  constructor(wheel: DeadlineWheel, holds: (facts: Facts) => boolean) {
    this.#wheel = wheel;
    this.#holds = holds;
  }

  get reviews(): number {
    return this.#reviews;
  }

  /** Whether facts that were proven are not valid any more. @param asOf `reviews` when they were proven. */
  areOver(facts: Facts, asOf: number): boolean {
    return asOf !== this.#reviews && !this.#holds(facts);
  }

  /**
   * @param end called once, when the facts are no longer valid.
   * @returns a function that forgets the entry, for a stream that has ended.
   */
  begin(facts: Facts, end: () => void): () => void {
    const forget = (): void => {
      deadline.cancel();
      this.#open.delete(lifetime);
    };
    const lifetime: CredentialLifetime = {
      facts,
      end: () => {
        forget();
        end();
      },
    };
    // Something may have been revoked while the stream was being opened.
    const leftMs = !this.#holds(facts) ? 0 : facts.expiresAt === undefined ? maxMs : Math.min(maxMs, Math.max(0, facts.expiresAt - Date.now()));
    const deadline = this.#wheel.schedule(leftMs, lifetime.end);
    this.#open.add(lifetime);
    return forget;
  }

  /** Ends the streams whose facts are no longer valid. */
  review(): void {
    this.#reviews += 1;
    for (const lifetime of [...this.#open]) if (!this.#holds(lifetime.facts)) lifetime.end();
  }
}
