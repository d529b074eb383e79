/** Ends streams and connections when the credentials of their client expire or are revoked. */
import type { IncomingMessage } from 'node:http';
import type { Facts } from '@omnibus/identity';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { EndpointName } from '@omnibus/protocol';

/** A request that opened a stream or a connection, and what it has proven. */
export interface Proven {
  readonly facts: Facts;
  readonly request: IncomingMessage;
  readonly endpoint: EndpointName;
}

interface CredentialLifetime {
  readonly facts: Facts;
  /** Asks whether the credentials are still valid; undefined where somebody says so when they are not. */
  readonly ask: (() => Promise<boolean>) | undefined;
  readonly end: () => void;
}

export interface CredentialLifetimesOptions {
  readonly wheel: DeadlineWheel;
  /** Whether facts that were proven are still valid, as far as this process knows. */
  readonly holds: (facts: Facts) => boolean;
  /** Gives a question whether a request would still be accepted; undefined where nobody has to be asked. It never rejects. */
  readonly askAbout?: ((proven: Proven) => (() => Promise<boolean>) | undefined) | undefined;
}

/** Milliseconds after which a stream ends even if the credentials are valid for longer. */
const maxMs = 86_400_000;
/** Milliseconds between two rounds of questions. Answers are kept for a minute, so each issuer is asked once a minute about a token. */
const roundMs = 30_000;
/** Questions of a round that wait for an answer at the same time. */
const atOnce = 8;

export class CredentialLifetimes {
  readonly #options: CredentialLifetimesOptions;
  /** One entry for each open stream; their number is bounded where they are opened. */
  readonly #open = new Set<CredentialLifetime>();
  /** How often something may have been revoked so far: whoever has asked at the same number need not ask again. */
  #reviews = 0;
  /** Whether a round of questions is running or will begin. */
  #hasRound = false;

  constructor(options: CredentialLifetimesOptions) {
    this.#options = options;
  }

  get reviews(): number {
    return this.#reviews;
  }

  /** Whether facts that were proven are not valid any more. @param asOf `reviews` when they were proven. */
  areOver(facts: Facts, asOf: number): boolean {
    return asOf !== this.#reviews && !this.#options.holds(facts);
  }

  /**
   * @param end called once, when the facts are no longer valid.
   * @returns a function that forgets the entry, for a stream that has ended.
   */
  begin(proven: Proven, end: () => void): () => void {
    const { wheel, holds, askAbout } = this.#options;
    const { facts } = proven;
    const forget = (): void => {
      deadline.cancel();
      this.#open.delete(lifetime);
    };
    const lifetime: CredentialLifetime = {
      facts,
      ask: askAbout?.(proven),
      end: () => {
        forget();
        end();
      },
    };
    // Something may have been revoked while the stream was being opened.
    const leftMs = !holds(facts) ? 0 : facts.expiresAt === undefined ? maxMs : Math.min(maxMs, Math.max(0, facts.expiresAt - Date.now()));
    const deadline = wheel.schedule(leftMs, lifetime.end);
    this.#open.add(lifetime);
    if (lifetime.ask !== undefined && !this.#hasRound) this.#planRound();
    return forget;
  }

  /** Ends the streams whose facts are no longer valid. */
  review(): void {
    this.#reviews += 1;
    for (const lifetime of [...this.#open]) if (!this.#options.holds(lifetime.facts)) lifetime.end();
  }

  #planRound(): void {
    this.#hasRound = true;
    this.#options.wheel.schedule(roundMs, () => void this.#round());
  }

  /** Asks about all streams that somebody has to be asked about, and ends those that are no longer permitted. */
  async #round(): Promise<void> {
    const waiting = [...this.#open].filter(({ ask }) => ask !== undefined).values();
    await Promise.all(Array.from({ length: atOnce }, async () => {
      for (const lifetime of waiting) if (this.#open.has(lifetime) && (await lifetime.ask?.()) === false && this.#open.has(lifetime)) lifetime.end();
    }));
    this.#hasRound = false;
    if ([...this.#open].some(({ ask }) => ask !== undefined)) this.#planRound();
  }
}
