/**
 * The restrictions of the credential of a request, in addition to the rules under `access`: the tools of an API key, and the scopes that a token must
 * have for some tools (`auth.stepUp`). They are in force also where rules are only recorded, or do not exist.
 */
import type { Sight } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import { rightsToOnly, WantedScopes, type Rights } from '@omnibus/policy';
import type { EndpointName, Facts } from '@omnibus/protocol';
import type { Access } from '../../call/access.ts';
import { deciding } from './permission.ts';
import type { Decided, Wanted } from '../../call/permission.ts';

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
    ruled: Access | undefined,
    facts: Facts,
    endpoint: EndpointName,
    refused: (wanted: Wanted) => void,
  ): Access | undefined {
    const only = this.#rightsOf(facts);
    if (only === undefined && (this.#scopes.isEmpty || facts.isUnscoped === true)) return ruled;
    return deciding({
      sight: only === undefined ? ruled?.sight : this.#sightOf(only, ruled?.sight),
      decide: (wanted) => {
        const { kind, server, name } = wanted;
        if (only?.sees({ kind, server, name }) === false) {
          refused(wanted);
          return { permission: { effect: 'deny', isVisible: false, isRecorded: false } };
        }
        const decided: Decided = ruled?.decide(wanted) ?? {
          permission: { effect: 'allow', isVisible: true, isRecorded: false },
        };
        const { permission } = decided;
        if (permission.effect === 'deny' && !permission.isRecorded) return decided;
        const missingScopes = this.#scopes.missing(facts, endpoint, { kind, server, name });
        return missingScopes === undefined
          ? decided
          : {
              permission: {
                effect: 'deny',
                isVisible: true,
                isRecorded: false,
                policy: permission.policy,
                missingScopes,
              },
            };
      },
      screen: (wanted, isRedacted) => ruled?.screen(wanted, isRedacted),
      redacted: (wanted, part) => ruled?.redacted(wanted, part) ?? part,
    });
  }

  /** Undefined for a credential without such a restriction. */
  #rightsOf(facts: Facts): Rights | undefined {
    if (facts.tools === undefined) return undefined;
    const known = this.#byFacts.get(facts);
    if (known !== undefined) return known;
    const name = JSON.stringify(facts.tools);
    const rights = this.#rights.get(name) ?? rightsToOnly(facts.tools);
    this.#rights.delete(name);
    this.#rights.set(name, rights);
    if (this.#rights.size > maxRights) this.#rights.delete(this.#rights.keys().next().value as string);
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
