/** Ends streams and connections when the credentials of their client expire or are revoked. */
import type { IncomingMessage } from 'node:http';
import type { Facts } from '@omnibus/identity';
import type { DeadlineWheel } from '@omnibus/lifecycle';
import type { EndpointName } from '@omnibus/protocol';

/** A request that opened a stream or a connection, and its proven facts. */
export interface Proven {
  readonly facts: Facts;
  readonly request: IncomingMessage;
  readonly endpoint: EndpointName;
  /**
   * Called when the same credentials prove something else. Left out where each message brings credentials of its own.
   * @param hasOtherRights whether rules may decide otherwise by it, as by other groups.
   */
  readonly changed?: (facts: Facts, hasOtherRights: boolean) => void;
}

interface CredentialLifetime {
  /** The present facts. */
  facts: Facts;
  readonly changed: Proven['changed'];
  /** Asks for the present facts of the credentials; undefined if their source reports changes. */
  readonly ask: Question | undefined;
  readonly end: () => void;
}

/** Asks for the present facts of credentials. @param last the last facts, which also count while the issuer does not answer. @returns undefined if they are void. It never rejects. */
type Question = (last: Facts) => Promise<Facts | undefined>;

export interface CredentialLifetimesOptions {
  readonly wheel: DeadlineWheel;
  /** What facts that were proven are now, as far as this process knows; undefined where they hold no longer. */
  readonly current: (facts: Facts) => Facts | undefined;
  /** Gives the question about the credentials of a request; undefined if there is no one to ask. */
  readonly askAbout?: ((proven: Proven) => Question | undefined) | undefined;
}

/** Milliseconds after which a stream ends even if the credentials are valid for longer. */
const maxMs = 86_400_000;
/** Milliseconds between two rounds of questions. Answers are cached for a minute, so each issuer gets one request a minute about a token. */
const roundMs = 30_000;
/** Questions of a round that wait for an answer at the same time. */
const atOnce = 8;

export class CredentialLifetimes {
  readonly #options: CredentialLifetimesOptions;
  /** One entry for each open stream; their number is bounded where they are opened. */
  readonly #open = new Set<CredentialLifetime>();
  /** Number of possible revocations so far: an answer at the same number is still good. */
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
    return asOf !== this.#reviews && this.#options.current(facts) === undefined;
  }

  /**
   * @param end called once, when the facts are no longer valid.
   * @returns a function that forgets the entry, for a stream that has ended.
   */
  begin(proven: Proven, end: () => void): () => void {
    const { wheel, current, askAbout } = this.#options;
    const { facts, changed } = proven;
    const forget = (): void => {
      deadline.cancel();
      this.#open.delete(lifetime);
    };
    const lifetime: CredentialLifetime = {
      facts,
      changed,
      ask: askAbout?.(proven),
      end: () => {
        forget();
        end();
      },
    };
    // Something may have been revoked or changed while the stream was being opened.
    const now = current(facts);
    const leftMs =
      now === undefined
        ? 0
        : facts.expiresAt === undefined
          ? maxMs
          : Math.min(maxMs, Math.max(0, facts.expiresAt - Date.now()));
    const deadline = wheel.schedule(leftMs, lifetime.end);
    this.#open.add(lifetime);
    if (now !== undefined) this.#take(lifetime, now);
    if (lifetime.ask !== undefined && !this.#hasRound) this.#planRound();
    return forget;
  }

  /** Ends the streams whose facts are no longer valid, and updates the facts of the others. */
  review(): void {
    this.#reviews += 1;
    for (const lifetime of [...this.#open]) this.#take(lifetime, this.#options.current(lifetime.facts));
  }

  #take(lifetime: CredentialLifetime, facts: Facts | undefined): void {
    if (!this.#open.has(lifetime) || facts === lifetime.facts) return;
    if (facts === undefined) {
      lifetime.end();
      return;
    }
    const hasOtherRights = rightsOf(facts) !== rightsOf(lifetime.facts);
    lifetime.facts = facts;
    lifetime.changed?.(facts, hasOtherRights);
  }

  #planRound(): void {
    this.#hasRound = true;
    this.#options.wheel.schedule(roundMs, () => void this.#round());
  }

  /** Asks about all streams with facts of an issuer that reports no revocations, and ends those that are no longer permitted. */
  async #round(): Promise<void> {
    const waiting = [...this.#open].filter(({ ask }) => ask !== undefined).values();
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (const lifetime of waiting)
          if (lifetime.ask !== undefined && this.#open.has(lifetime))
            this.#take(lifetime, await lifetime.ask(lifetime.facts));
      }),
    );
    this.#hasRound = false;
    if ([...this.#open].some(({ ask }) => ask !== undefined)) this.#planRound();
  }
}

/** What rules decide by, as a text. */
function rightsOf({ groups, scopes, tools, claims }: Facts): string {
  return JSON.stringify([groups, scopes, tools, claims]);
}
