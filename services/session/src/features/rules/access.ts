/**
 * The access rules in force at this worker (`access` in the configuration), and a caller's rights by these and its credential. Identity and address of the caller
 * come with each request, and the rules may change between two requests.
 */
import type { Sight } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import { Proofs } from '@omnibus/identity';
import type { Circumstances, Decision, Guardrails, Policy, Redaction, Rights, Target } from '@omnibus/policy';
import { anonymous, type Caller, type CatalogRecord, type Facts } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';
import { shareOf } from '../../call/client-of.ts';
import type { CredentialLimits } from './credential-limits.ts';
import type { Access } from '../../call/access.ts';
import type { Decided, Wanted } from '../../call/permission.ts';
import { FewLines } from './few-lines.ts';
import { deciding } from './permission.ts';
import { guardedRecord } from '../guardrails/lists.ts';
import type { Outside } from '../guardrails/outside.ts';
import { Screen, type GuardrailNote } from '../guardrails/screen.ts';

interface Rules {
  /** Undefined if all callers may do everything. */
  readonly policy: Policy | undefined;
  readonly guardrails: Guardrails | undefined;
  readonly isRecording: boolean;
  /** Servers with trusted tool annotations (`hints: believe`). */
  readonly believed: ReadonlySet<string>;
  /** What follows from decisions that depend on no circumstances, where nothing looks at the messages. */
  readonly permissions: WeakMap<Decision, Decided>;
  /** Name of this state of the rules; equal in every process that has the same rules. */
  readonly name: string;
}

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
}

/** Named in logs and metrics as what refused a request where the API key itself did; no rule can have this name. */
const keyRule = 'API key';

export class AccessRules {
  readonly #options: AccessRulesOptions;
  #rules: Rules | undefined;
  /** The rights of the last caller with some facts. */
  readonly #known = new WeakMap<Facts, KnownAccess>();
  /** One sight for each set of rights, so that callers with equal rights share the object. */
  #sights = new WeakMap<Rights, Sight>();
  readonly #lines: FewLines;

  constructor(options: AccessRulesOptions) {
    this.#options = options;
    this.#lines = new FewLines(options.log, 'more was refused by rules or stopped by guardrails than is written here');
  }

  /** Puts rules and guardrails in force. @param policy undefined where there are no rules. @param guardrails undefined where there are none. */
  set(config: Config, policy: Policy | undefined, guardrails?: Guardrails): void {
    const isOther = this.isOther(config, policy);
    this.#options.outside?.keep(new Set(guardrails?.all.map(({ id }) => id)));
    if (isOther) this.#sights = new WeakMap();
    this.#rules =
      policy === undefined && guardrails === undefined
        ? undefined
        : {
            policy,
            guardrails,
            isRecording: config.access?.mode === 'record',
            believed: believedOf(config),
            permissions: new WeakMap(),
            name: nameOf(config, policy),
          };
  }

  /** Whether these rules differ from those in force. */
  isOther(config: Config, policy: Policy | undefined): boolean {
    return (
      (policy === undefined ? undefined : nameOf(config, policy)) !==
      (this.#rules?.policy === undefined ? undefined : this.#rules.name)
    );
  }

  /** @returns undefined where there are neither rules nor guardrails, and the caller's credential limits nothing. */
  readonly of = (caller: Caller): Access | undefined => {
    const facts = Proofs.factsOf(caller, this.#options.proofs);
    if (facts === undefined && caller.isLimited === true) return withoutFacts;
    if (facts === undefined && this.#rules === undefined) return undefined;
    // Addresses differ from request to request.
    if (facts === undefined || caller.address !== undefined) return this.#made(caller, facts);
    const known = this.#known.get(facts);
    if (
      known !== undefined &&
      known.rules === this.#rules &&
      known.endpoint === caller.endpoint &&
      known.principal === caller.principal
    )
      return known.access;
    const access = this.#made(caller, facts);
    this.#known.set(facts, { rules: this.#rules, endpoint: caller.endpoint, principal: caller.principal, access });
    return access;
  };

  #made(caller: Caller, facts: Facts | undefined): Access | undefined {
    const ruled = this.#byRules(caller, facts);
    const { limits } = this.#options;
    return limits === undefined || facts === undefined
      ? ruled
      : limits.narrow(ruled, facts, caller.endpoint, (wanted) =>
          this.#tell({ effect: 'deny', rule: keyRule, isVisible: false }, false, wanted, caller),
        );
  }

  #byRules(caller: Caller, facts: Facts | undefined): Access | undefined {
    const rules = this.#rules;
    if (rules === undefined) return undefined;
    // A known caller of an adopted session, without a request to this worker yet: its facts are not here.
    const isUnknown = facts === undefined && caller.principal !== anonymous;
    const asking: Asking = { caller, facts, isUnknown };
    const { policy } = rules;
    if (policy === undefined) {
      const screen = (wanted: Wanted): Screen | undefined => this.#screen(rules, wanted, asking, undefined);
      return deciding({
        sight: undefined,
        decide: (wanted) => ({
          permission: { effect: 'allow', isVisible: true, isRecorded: false },
          screen: screen(wanted),
        }),
        screen,
        redacted: (_wanted, part) => part,
      });
    }
    if (isUnknown) return withoutFacts;
    const rights = policy.rightsOf(facts);
    const redaction = (wanted: Wanted): Redaction | undefined =>
      rules.isRecording
        ? undefined
        : rights.redaction(targetOf(wanted, rules.believed), circumstancesOf(wanted, asking));
    return deciding({
      sight: rules.isRecording ? undefined : this.#sightOf(rules, rights),
      decide: (wanted) => this.#decide(rules, rights, wanted, asking),
      screen: (wanted, isRedacted = true) =>
        this.#screen(rules, wanted, asking, isRedacted ? redaction(wanted) : undefined),
      redacted: (wanted, part) => redaction(wanted)?.result(part) ?? part,
    });
  }

  /** A server's record with its lists and instructions as guardrails leave them; the same where they have nothing to say. */
  guarded(record: CatalogRecord): CatalogRecord {
    return guardedRecord(record, this.#rules?.guardrails, (note, { kind, name }) =>
      this.#tellGuarded(
        note,
        undefined,
        { kind, server: record.server, name, method: 'list' },
        { principal: anonymous },
      ),
    );
  }

  #sightOf({ believed, name }: Rules, rights: Rights): Sight {
    const known = this.#sights.get(rights);
    if (known !== undefined) return known;
    const sight: Sight = {
      name: `${rights.name} ${name}`,
      sees: (kind, server, original, entry) => rights.sees(targetOf({ kind, server, name: original, entry }, believed)),
      seesServer: (server) => rights.seesServer(server),
      mayEverythingOf: (server) => rights.mayEverythingOf(server),
    };
    this.#sights.set(rights, sight);
    return sight;
  }

  #screen(
    { guardrails, believed }: Rules,
    wanted: Wanted,
    asking: Asking,
    redaction: Redaction | undefined,
  ): Screen | undefined {
    const about =
      guardrails?.about(asking.facts, targetOf(wanted, believed), circumstancesOf(wanted, asking), asking.isUnknown) ??
      [];
    if (redaction === undefined && about.length === 0) return undefined;
    const { principal } = asking.caller;
    return new Screen({
      redaction,
      guardrails: about,
      wanted,
      outside: this.#options.outside,
      schemaProblem: guardrails?.schemaProblem ?? noProblem,
      caller: {
        principal,
        owner: shareOf(asking.caller, asking.facts),
        isKnown: principal !== anonymous,
        about: wanted,
      },
      tell: (note, problem) => this.#tellGuarded(note, problem, wanted, asking.caller),
    });
  }

  #tellGuarded(
    { guardrail, stage, action }: GuardrailNote,
    problem: string | undefined,
    { kind, server, name, method }: Wanted,
    { principal }: Pick<Caller, 'principal'>,
  ): void {
    this.#options.metrics.guarded(guardrail, stage, action);
    this.#lines.write(
      {
        guardrail,
        stage,
        action,
        principal,
        method,
        server,
        [kind]: name,
        ...(problem === undefined ? {} : { problem }),
      },
      action === 'failed' ? 'a guardrail could not look at a message' : 'a guardrail has found something',
    );
  }

  #decide(
    rules: Rules & { readonly policy?: Policy | undefined },
    rights: Rights,
    wanted: Wanted,
    asking: Asking,
  ): Decided {
    const { policy, isRecording, believed, permissions } = rules;
    const target = targetOf(wanted, believed);
    const fixed = rights.fixed(target);
    const known = fixed === undefined ? undefined : permissions.get(fixed);
    if (known !== undefined) return known;
    const decision = fixed ?? rights.decide(target, circumstancesOf(wanted, asking));
    const { effect, rule, because, terms, isVisible, redaction } = decision;
    if (decision.effect === 'deny' || (decision.effect === 'ask' && isRecording))
      this.#tell(decision, isRecording, wanted, asking.caller);
    if (isRecording && redaction !== undefined)
      this.#tell({ ...decision, rule: redaction.rule }, true, wanted, asking.caller);
    const isRefused = decision.effect === 'deny' && !isRecording;
    const screen = isRefused ? undefined : this.#screen(rules, wanted, asking, isRecording ? undefined : redaction);
    const decided: Decided = {
      permission: { effect, rule, because, terms, isVisible, isRecorded: isRecording, policy: policy?.version },
      screen,
    };
    if (
      decision === rights.fixed(target) &&
      effect === 'allow' &&
      redaction === undefined &&
      rules.guardrails === undefined
    )
      permissions.set(decision, decided);
    return decided;
  }

  #tell(
    { rule, isVisible, effect }: Decision,
    isRecording: boolean,
    { kind, server, name, method }: Wanted,
    { principal }: Caller,
  ): void {
    this.#options.metrics.refusedByRule(isRecording ? 'recorded' : isVisible ? 'denied' : 'hidden', rule ?? 'default');
    this.#lines.write(
      { rule: rule ?? 'default', principal, method, server, [kind]: name, hidden: !isVisible },
      isRecording ? words[effect] : 'refused by a rule',
    );
  }
}

/** The caller of a request. */
interface Asking {
  readonly caller: Caller;
  readonly facts: Facts | undefined;
  /** Whether it is a known caller without facts here yet. */
  readonly isUnknown: boolean;
}

function circumstancesOf(
  { kind, server, name, method, args, isBegun }: Wanted,
  { caller: { address }, facts }: Asking,
): Circumstances {
  return { facts, kind, server, name, method, args, now: Date.now(), address, isBegun };
}

const noProblem = (): undefined => undefined;

/** Log messages for decisions that are only recorded. */
const words = {
  deny: 'a rule would refuse this',
  ask: 'a rule would have this approved first',
  allow: 'a rule would redact the answer',
} as const;

/** Access of a known caller without facts: it sees nothing and may do nothing until its next request brings them. */
const withoutFacts: Access = deciding({
  lacksFacts: true,
  sight: { name: 'unheard', sees: () => false, seesServer: () => false, mayEverythingOf: () => false },
  decide: () => ({ permission: { effect: 'deny', isVisible: false, isRecorded: false } }),
  screen: () => undefined,
  redacted: (_wanted, part) => part,
});

const believedOf = ({ mcpServers }: Config): ReadonlySet<string> =>
  new Set(
    Object.entries(mcpServers)
      .filter(([, { hints }]) => hints === 'believe')
      .map(([server]) => server),
  );
const nameOf = (config: Config, policy: Policy | undefined): string =>
  [policy?.version, config.access?.mode, ...believedOf(config)].join(' ');

function targetOf(wanted: Pick<Wanted, 'kind' | 'server' | 'name' | 'entry'>, believed: ReadonlySet<string>): Target {
  const { kind, server, name, entry } = wanted;
  return kind === 'tool' && believed.has(server)
    ? { kind, server, name, annotations: entry?.['annotations'] ?? null }
    : wanted;
}
