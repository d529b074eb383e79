/** Where callers are, by what is proven of them, and what they see there. */
import type { Sight, View } from '@omnibus/catalog';
import { Proofs } from '@omnibus/identity';
import type { Caller, Declared, Facts, GatewayFault, JsonObject } from '@omnibus/protocol';
import { placeAt, type Place } from './place.ts';
import type { Views } from './views.ts';

export interface CallersOptions {
  readonly views: Views;
  /** Verifies the edges' signatures of callers' identities; undefined in a gateway of one process. */
  readonly proofs: Proofs | undefined;
  /** Whether requests of unknown callers are refused. */
  readonly mustBeKnown: boolean;
  /** What the rules in force let callers see; undefined while there are none. */
  readonly access: {
    readonly on: { of(caller: Caller): { readonly sight: Sight | undefined } | undefined } | undefined;
  };
  /** Narrows lists beyond the rules; undefined if nothing does. */
  readonly listFilter: {
    readonly on:
      | {
          narrowed(sight: Sight | undefined, caller: Caller, facts: Facts | undefined): Sight;
          pending(
            view: View,
            sight: Sight | undefined,
            caller: Caller,
            facts: Facts | undefined,
          ): Promise<void> | undefined;
        }
      | undefined;
  };
}

export class Callers {
  readonly #options: CallersOptions;

  constructor(options: CallersOptions) {
    this.#options = options;
  }

  readonly factsOf = (caller: Caller): Facts | undefined => Proofs.factsOf(caller, this.#options.proofs);

  /** Why the identity of a caller is not proven; undefined where it is. */
  readonly problemOf = (caller: Caller): GatewayFault | undefined =>
    this.#options.proofs?.problemOf(caller, this.#options.mustBeKnown);

  /** The place of a caller. The tenant of a session's caller was found when the session began. */
  readonly placeOf = (caller: Caller): Place => {
    const { endpoint, tenant, facts, proof } = caller;
    const of = facts === undefined && proof === undefined ? tenant : this.factsOf(caller)?.tenant;
    return of === undefined ? endpoint : placeAt(endpoint, of);
  };

  /** What the rules let a caller see; undefined for everything. */
  sightOf(caller: Caller): Sight | undefined {
    const { access, listFilter } = this.#options;
    const sight = access.on?.of(caller)?.sight;
    return listFilter.on === undefined ? sight : listFilter.on.narrowed(sight, caller, this.factsOf(caller));
  }

  /**
   * Begins to decide about the lists of a caller, where something narrows them.
   * @param capabilities of a client without a session.
   * @returns undefined if nothing must be waited for; else resolves when it is decided.
   */
  readonly undecided = (caller: Caller, declared?: Declared, capabilities?: JsonObject): Promise<void> | undefined => {
    const { access, listFilter, views } = this.#options;
    if (listFilter.on === undefined || this.problemOf(caller) !== undefined) return undefined;
    const sight = access.on?.of(caller)?.sight;
    const place = this.placeOf(caller);
    const view =
      capabilities === undefined
        ? views.get(place, declared, sight)
        : views.getAlone(place, capabilities, caller.principal, sight);
    return view === undefined ? undefined : listFilter.on.pending(view, sight, caller, this.factsOf(caller));
  };

  readonly view = (caller: Caller, declared?: Declared): View | undefined =>
    this.#options.views.get(
      this.placeOf(caller),
      declared,
      this.#options.listFilter.on === undefined ? this.#options.access.on?.of(caller)?.sight : this.sightOf(caller),
    );

  /** The same for a single request. */
  readonly viewAlone = (caller: Caller, capabilities: JsonObject): View | undefined =>
    this.#options.views.getAlone(
      this.placeOf(caller),
      capabilities,
      caller.principal,
      this.#options.listFilter.on === undefined ? this.#options.access.on?.of(caller)?.sight : this.sightOf(caller),
    );
}
