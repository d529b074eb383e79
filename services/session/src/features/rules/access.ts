/**
 * The access rules in force at this worker (`access` in the configuration), and a caller's rights by these and its credential. Identity and address of the caller
 * come with each request, and the rules may change between two requests.
 */
import type { Sight } from '@omnibus/catalog';
import { hasTrustedHints, type Config, type ServerConfig } from '@omnibus/config';
import { Proofs } from '@omnibus/identity';
import type { Guardrails, Policy, Rights } from '@omnibus/policy';
import { anonymous, type Caller, type CatalogRecord, type Facts, type JsonObject } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import type { Access } from '../../call/access.ts';
import type { Decided, Wanted } from '../../call/permission.ts';
import { guardedRecord } from '../guardrails/lists.ts';
import type { Outside } from '../guardrails/outside.ts';
import type { CredentialLimits } from './credential-limits.ts';
import type { Granted } from './granted.ts';
import { DecisionLog } from './decision-log.ts';
import { DecidingAccess } from './permission.ts';
import { RuledAccess, targetOf, type Rules } from './ruled-access.ts';

interface KnownAccess extends Pick<Caller, 'endpoint' | 'principal'> {
  /** The rules by which it is. */
  readonly rules: Rules | undefined;
  readonly access: Access | undefined;
}

interface AccessRulesOptions {
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'refusedByRule' | 'guarded'>;
  /** Asks external services about messages; left out if there are none. */
  readonly outside?: Outside | undefined;
  readonly proofs: Proofs | undefined;
  /** What credentials limit; left out where they limit nothing. */
  readonly limits?: CredentialLimits | undefined;
  /** Grants that callers have now; asked only if the rules define some. */
  readonly granted?: Granted | undefined;
}

/** Named in logs and metrics as what refused a request where the API key itself did; no rule can have this name. */
const keyRule = 'API key';

export class AccessRules {
  readonly #options: AccessRulesOptions;
  #rules: Rules | undefined;
  #granted: Granted | undefined;
  /** The rights of the last caller with some facts. */
  readonly #known = new WeakMap<Facts, KnownAccess>();
  /** The access of callers without facts: a caller is one object for all requests of its connection in this process. */
  readonly #strangers = new WeakMap<Caller, Pick<KnownAccess, 'rules' | 'access'>>();
  /** One sight for each set of rights, so that callers with equal rights share the object. */
  #sights = new WeakMap<Rights, Sight>();
  readonly #log: DecisionLog;

  constructor(options: AccessRulesOptions) {
    this.#options = options;
    this.#log = new DecisionLog(options.log, options.metrics);
  }

  /** Puts rules and guardrails in force. @param policy undefined where there are no rules. @param guardrails undefined where there are none. */
  set(config: Config, policy: Policy | undefined, guardrails?: Guardrails): void {
    const isOther = this.isOther(config, policy);
    this.#options.outside?.keep(new Set(guardrails?.all.map(({ id }) => id)));
    if (isOther) this.#sights = new WeakMap();
    this.#granted = policy === undefined || policy.grants.length === 0 ? undefined : this.#options.granted;
    this.#rules =
      policy === undefined && guardrails === undefined
        ? undefined
        : {
            policy,
            guardrails,
            isRecording: config.access?.mode === 'record',
            hinted: hintedOf(config),
            permissions: new WeakMap(),
            log: this.#log,
            outside: this.#options.outside,
            name: nameOf(config, policy),
          };
  }

  isOther(config: Config, policy: Policy | undefined): boolean {
    return (
      (policy === undefined ? undefined : nameOf(config, policy)) !==
      (this.#rules?.policy === undefined ? undefined : this.#rules.name)
    );
  }

  /** @returns undefined where there are neither rules nor guardrails, and the caller's credential limits nothing. */
  readonly of = (caller: Caller): Access | undefined => {
    const proven = Proofs.factsOf(caller, this.#options.proofs);
    const facts = proven === undefined || this.#granted === undefined ? proven : this.#granted.of(proven);
    if (facts === undefined && caller.isLimited === true) return withoutFacts;
    if (facts === undefined && this.#rules === undefined) return undefined;
    if (facts === undefined) {
      const stranger = this.#strangers.get(caller);
      if (stranger?.rules === this.#rules) return stranger?.access;
      const access = this.#byRules(caller, facts);
      this.#strangers.set(caller, { rules: this.#rules, access });
      return access;
    }
    // Addresses differ from request to request.
    if (caller.address !== undefined) return this.#narrowed(caller, facts);
    const known = this.#known.get(facts);
    if (
      known !== undefined &&
      known.rules === this.#rules &&
      known.endpoint === caller.endpoint &&
      known.principal === caller.principal
    )
      return known.access;
    const access = this.#narrowed(caller, facts);
    this.#known.set(facts, { rules: this.#rules, endpoint: caller.endpoint, principal: caller.principal, access });
    return access;
  };

  /** The rights by the rules, restricted to those of the credential. */
  #narrowed(caller: Caller, facts: Facts): Access | undefined {
    const ruled = this.#byRules(caller, facts);
    const { limits } = this.#options;
    return limits === undefined
      ? ruled
      : limits.narrow(ruled, facts, caller.endpoint, (wanted) =>
          this.#log.refused({ effect: 'deny', rule: keyRule, isVisible: false }, false, wanted, caller),
        );
  }

  #byRules(caller: Caller, facts: Facts | undefined): DecidingAccess | undefined {
    const rules = this.#rules;
    if (rules === undefined) return undefined;
    const { policy } = rules;
    if (policy === undefined) return new RuledAccess(rules, undefined, undefined, caller, facts);
    // A known caller of an adopted session, without a request to this worker yet: its facts are not here.
    if (facts === undefined && caller.principal !== anonymous) return withoutFacts;
    const rights = policy.rightsOf(facts);
    const sight = rules.isRecording ? undefined : (this.#sights.get(rights) ?? this.#sightOf(rules, rights));
    return new RuledAccess(rules, rights, sight, caller, facts);
  }

  guarded(record: CatalogRecord): CatalogRecord {
    return guardedRecord(record, this.#rules?.guardrails, (note, { kind, name }) =>
      this.#log.guarded(
        note,
        undefined,
        { kind, server: record.server, name, method: 'list' },
        { principal: anonymous },
      ),
    );
  }

  #sightOf({ hinted, name }: Rules, rights: Rights): Sight {
    const sight: Sight = {
      name: `${rights.name} ${name}`,
      sees: (kind, server, original, entry) => rights.sees(targetOf({ kind, server, name: original, entry }, hinted)),
      seesServer: (server) => rights.seesServer(server),
      mayEverythingOf: (server) => rights.mayEverythingOf(server),
    };
    this.#sights.set(rights, sight);
    return sight;
  }
}

/** Access of a known caller without facts: it sees nothing and may do nothing until its next request brings them. */
class WithoutFacts extends DecidingAccess {
  readonly lacksFacts = true;
  readonly sight: Sight = {
    name: 'unheard',
    sees: () => false,
    seesServer: () => false,
    mayEverythingOf: () => false,
  };

  decide(): Decided {
    return { permission: { effect: 'deny', isVisible: false, isRecorded: false } };
  }

  screen(): undefined {
    return undefined;
  }

  offers(): readonly never[] {
    return [];
  }

  redacted(_wanted: Wanted, part: JsonObject): JsonObject {
    return part;
  }
}

const withoutFacts: DecidingAccess = new WithoutFacts();

const hintedOf = ({ mcpServers }: Config): ReadonlyMap<string, ServerConfig> =>
  new Map(Object.entries(mcpServers).filter(([, settings]) => hasTrustedHints(settings)));
/** The trusted annotations of a server that the configuration knows. */
const hintsOf = ([server, { hints, tools }]: readonly [string, ServerConfig]): string =>
  hints === 'believe'
    ? server
    : JSON.stringify([server, Object.entries(tools).map(([tool, { annotations }]) => [tool, annotations])]);
const nameOf = (config: Config, policy: Policy | undefined): string =>
  [policy?.version, config.access?.mode, ...[...hintedOf(config)].map(hintsOf)].join(' ');
