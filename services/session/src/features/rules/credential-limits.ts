/**
 * The restrictions of the credential of a request, in addition to the rules under `access`: the tools of an API key, and the scopes that a token must
 * have for some tools (`auth.stepUp`). They are in force also where rules are only recorded, or do not exist.
 */
import { setLast } from '@omnibus/collections';
import type { Sight } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import { rightsToOnly, WantedScopes, type GrantTerms, type Rights } from '@omnibus/policy';
import type { EndpointName, Facts, JsonObject } from '@omnibus/protocol';
import type { Access } from '../../call/access.ts';
import type { Decided, Wanted } from '../../call/permission.ts';
import type { CallScreen } from '../../call/transform.ts';
import { DecidingAccess } from './permission.ts';

/** Bound on kept `Rights` of keys: one for each set of patterns in use. */
const maxRights = 1_000;

export class CredentialLimits {
  readonly #scopes: WantedScopes;
  readonly #byFacts = new WeakMap<Facts, Rights>();
  /** In the order of their last use, the oldest first. */
  readonly #rights = new Map<string, Rights>();
  /** Sight of callers with such keys: by the rights of the key, and by the rules. */
  readonly #sights = new WeakMap<Rights, WeakMap<object, Sight>>();

  /** @param config the configuration at the start: scopes change only with a restart. */
  constructor({ auth }: Config) {
    this.#scopes = WantedScopes.of(auth);
  }

  /**
   * Restricts the rules' rights to those of the caller's credential. A tool that the API key excludes is treated as if it did not exist. A
   * missing scope is reported only after the rules have permitted the request, so that it reveals nothing that is hidden from the caller.
   * @param ruled undefined where there are no rules.
   * @param refused called with requests that the key excludes.
   */
  narrow(
    ruled: DecidingAccess | undefined,
    facts: Facts,
    endpoint: EndpointName,
    refused: (wanted: Wanted) => void,
  ): Access | undefined {
    const only = this.#rightsOf(facts);
    if (only === undefined && (this.#scopes.isEmpty || facts.isUnscoped === true)) return ruled;
    const sight = only === undefined ? ruled?.sight : this.#sightOf(only, ruled?.sight);
    return new NarrowedAccess(ruled, only, sight, (wanted) => this.#scopes.missing(facts, endpoint, wanted), refused);
  }

  /** Undefined for a credential without such a restriction. */
  #rightsOf(facts: Facts): Rights | undefined {
    if (facts.tools === undefined) return undefined;
    const known = this.#byFacts.get(facts);
    if (known !== undefined) return known;
    const name = JSON.stringify(facts.tools);
    const rights = this.#rights.get(name) ?? rightsToOnly(facts.tools);
    setLast(this.#rights, name, rights, maxRights);
    this.#byFacts.set(facts, rights);
    return rights;
  }

  #sightOf(only: Rights, ruled: Sight | undefined): Sight {
    const key = ruled ?? this;
    const ofKey = this.#sights.get(only) ?? new WeakMap<object, Sight>();
    const known = ofKey.get(key);
    if (known !== undefined) return known;
    const sight: Sight = {
      name: `${ruled?.name ?? ''} ${only.name}`,
      sees: (kind, server, name, entry) =>
        only.sees({ kind, server, name }) && ruled?.sees(kind, server, name, entry) !== false,
      seesServer: (server) => only.seesServer(server) && ruled?.seesServer(server) !== false,
      mayEverythingOf: (server) => only.mayEverythingOf(server) && ruled?.mayEverythingOf(server) !== false,
    };
    this.#sights.set(only, ofKey.set(key, sight));
    return sight;
  }
}

/** An access within the limits of a credential. */
class NarrowedAccess extends DecidingAccess {
  readonly sight: Sight | undefined;
  readonly #ruled: DecidingAccess | undefined;
  readonly #only: Rights | undefined;
  readonly #missing: (wanted: Wanted) => readonly string[] | undefined;
  readonly #refused: (wanted: Wanted) => void;

  /** @param only the tools of an API key. @param missing the scopes that a token needs for a request, if it lacks one. */
  constructor(
    ruled: DecidingAccess | undefined,
    only: Rights | undefined,
    sight: Sight | undefined,
    missing: (wanted: Wanted) => readonly string[] | undefined,
    refused: (wanted: Wanted) => void,
  ) {
    super();
    this.sight = sight;
    this.#ruled = ruled;
    this.#only = only;
    this.#missing = missing;
    this.#refused = refused;
  }

  decide(wanted: Wanted): Decided {
    const { kind, server, name } = wanted;
    if (this.#only?.sees({ kind, server, name }) === false) {
      this.#refused(wanted);
      return { permission: { effect: 'deny', isVisible: false, isRecorded: false } };
    }
    const decided: Decided = this.#ruled?.decide(wanted) ?? {
      permission: { effect: 'allow', isVisible: true, isRecorded: false },
    };
    const { permission } = decided;
    if (permission.effect === 'deny' && !permission.isRecorded) return decided;
    const missingScopes = this.#missing(wanted);
    if (missingScopes === undefined) return decided;
    const { policy } = permission;
    return { permission: { effect: 'deny', isVisible: true, isRecorded: false, policy, missingScopes } };
  }

  /** A grant gives no right that the credential lacks. */
  offers(wanted: Wanted): readonly GrantTerms[] {
    const { kind, server, name } = wanted;
    return this.#only?.sees({ kind, server, name }) === false || this.#missing(wanted) !== undefined
      ? []
      : (this.#ruled?.offers(wanted) ?? []);
  }

  screen(wanted: Wanted, isRedacted?: boolean): CallScreen | undefined {
    return this.#ruled?.screen(wanted, isRedacted);
  }

  redacted(wanted: Wanted, part: JsonObject): JsonObject {
    return this.#ruled?.redacted(wanted, part) ?? part;
  }
}
