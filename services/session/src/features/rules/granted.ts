/**
 * Grants that callers have now (`access.grants`), as facts for the rules. A change of the bucket, or the end of a grant, changes the rights of its holder in every worker: its client is
 * told about changed lists. Until the bucket is open, no caller has a grant.
 */
import { isDeepStrictEqual } from 'node:util';
import { Grants, openingAdvice, type Bus } from '@omnibus/bus';
import type { Deadline, DeadlineWheel } from '@omnibus/lifecycle';
import { holding, type GrantTerms, type Policy } from '@omnibus/policy';
import type { BlockRecord, Facts } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

interface Held {
  readonly name: string;
  readonly version: string;
  readonly until: number;
}

/** What was made from some facts, and how long it holds. */
interface Made {
  readonly round: number;
  readonly until: number;
  readonly facts: Facts;
}

/** A user that its directory has deactivated or deleted; `name` is `ISSUER|SUBJECT`. */
export type Gone = Pick<BlockRecord, 'name' | 'tenant' | 'isAnyCase'>;

/** The wheel measures shorter times. */
const maxWaitMs = 60 * 60_000;

export class Granted {
  readonly #options: { readonly bus: Bus; readonly wheel: DeadlineWheel; readonly log: Logger };
  #terms: ReadonlyMap<string, GrantTerms> = new Map();
  #opening: Promise<void> | undefined;
  #grants: Grants | undefined;
  #change: (act: () => void) => void = (act) => act();
  /** By principal. */
  #held: ReadonlyMap<string, readonly Held[]> = new Map();
  readonly #made = new WeakMap<Facts, Made>();
  #round = 0;
  #next: Deadline | undefined;

  constructor(options: { readonly bus: Bus; readonly wheel: DeadlineWheel; readonly log: Logger }) {
    this.#options = options;
  }

  /** @param change runs an act that changes rights, and tells clients about changed lists. */
  start(change: (act: () => void) => void): void {
    this.#change = change;
  }

  /** Takes the definitions of a configuration, and opens the bucket if there are some. The caller tells clients about changes. */
  apply(policy: Policy | undefined): Promise<void> {
    this.#terms = new Map(policy?.grants.map((terms) => [terms.id, terms]));
    this.#round += 1;
    if (this.#terms.size === 0) return Promise.resolve();
    return (this.#opening ??= Grants.open(this.#options.bus).then(
      (grants) => {
        this.#grants = grants;
        grants.onChanged(() => this.#read());
        this.#read();
      },
      (error: unknown) => {
        this.#opening = undefined; // The next configuration tries again.
        this.#options.log.error({ err: error }, `no caller has a grant (access.grants): ${openingAdvice(error)}`);
      },
    ));
  }

  /** Ends the grants of a user that is gone: if it is activated again, it has none. */
  async endOf(user: Gone): Promise<void> {
    await this.#grants?.endOf(user);
  }

  /** The facts with the grants that count now; the same object while they stay the same. */
  of(facts: Facts): Facts {
    const held = this.#held.get(facts.principal);
    if (held === undefined) return facts;
    const now = Date.now();
    const known = this.#made.get(facts);
    if (known !== undefined && known.round === this.#round && now < known.until) return known.facts;
    const counted = held.filter(({ name, version, until }) => {
      const terms = this.#terms.get(name);
      return now < until && terms?.version === version && terms.isFor(facts);
    });
    const names = counted.map(({ name }) => name);
    const made: Made = {
      round: this.#round,
      until: Math.min(...counted.map(({ until }) => until)),
      facts: names.length === 0 ? facts : holding(facts, names, [...this.#terms.values()]),
    };
    this.#made.set(facts, made);
    return made.facts;
  }

  #read(): void {
    const held = new Map<string, Held[]>();
    let next = Infinity;
    for (const { principal, access, until } of this.#grants?.active((record) => record.access !== undefined) ?? []) {
      if (access === undefined) continue;
      held.set(principal, [...(held.get(principal) ?? []), { name: access.name, version: access.version, until }]);
      next = Math.min(next, until);
    }
    // A record of further calls changes no rights.
    if (!isDeepStrictEqual(held, this.#held))
      this.#change(() => {
        this.#held = held;
        this.#round += 1;
      });
    this.#next?.cancel();
    this.#next =
      next === Infinity
        ? undefined
        : this.#options.wheel.schedule(Math.min(maxWaitMs, Math.max(1, next - Date.now())), () => this.#read());
  }

  stop(): void {
    this.#next?.cancel();
    this.#grants?.close();
  }
}
