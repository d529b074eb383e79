/**
 * The rules that hold at this worker (`access` in the configuration), and what a caller may by them: who he is, and where he connects from,
 * comes with each of his requests, and the rules may change between two of them.
 */
import type { Sight } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import { Proofs } from '@omnibus/identity';
import type { Decision, Policy, Redaction, Rights, Target } from '@omnibus/policy';
import { anonymous, type Caller, type Facts, type JsonObject, type ServerName } from '@omnibus/protocol';
import type { Logger, Metrics } from '@omnibus/telemetry';

/** What is asked for, by the server's own name. */
export interface Wanted {
  readonly kind: Target['kind'];
  readonly server: ServerName;
  readonly name: string;
  readonly method: string;
  /** Of a tool or prompt, as the server is to have them. */
  readonly args?: JsonObject | undefined;
  /** A tool as its server describes it. */
  readonly entry?: JsonObject | undefined;
  /** It was decided about before, and runs (`Circumstances`). */
  readonly isBegun?: true;
}

/** What was decided about one request, for whoever records how it ended. */
export interface Permission extends Decision {
  /** Nothing is refused by it: it is only recorded what would be (`access.mode: record`). */
  readonly isRecorded: boolean;
  /** The version of the rules that decided. */
  readonly policy?: string | undefined;
}

export interface Access {
  /** Undefined where everything is seen. */
  readonly sight: Sight | undefined;
  /** Decides, and says and counts what is refused. */
  decide(wanted: Wanted): Permission;
  /** What is taken out of what a server says of something, besides the answers of requests about it. */
  redaction(wanted: Wanted): Redaction | undefined;
}

interface Rules {
  readonly policy: Policy;
  readonly isRecording: boolean;
  /** Servers whose tools are believed what they say of themselves. */
  readonly believed: ReadonlySet<string>;
  /** The same for the same rules, in every process. */
  readonly name: string;
}

interface AccessRulesOptions {
  readonly log: Logger;
  readonly metrics: Pick<Metrics, 'refusedByRule'>;
  readonly proofs: Proofs | undefined;
}

/** Refusals that are written down one by one within a second; of more than that, how many there were. */
const maxLinesPerSecond = 20;

export class AccessRules {
  readonly #options: AccessRulesOptions;
  #rules: Rules | undefined;
  /** One for each set of rights, so that what is seen has one name and one object. */
  #sights = new WeakMap<Rights, Sight>();
  #lines = { since: 0, written: 0, more: 0 };

  constructor(options: AccessRulesOptions) {
    this.#options = options;
  }

  /** @param policy undefined where nothing says who may do what. */
  set(config: Config, policy: Policy | undefined): void {
    if (!this.isOther(config, policy)) return;
    this.#sights = new WeakMap();
    this.#rules = policy === undefined ? undefined : { policy, isRecording: config.access?.mode === 'record', believed: believedOf(config), name: nameOf(config, policy) };
  }

  /** Whether somebody may something else by these than by those that hold. */
  isOther(config: Config, policy: Policy | undefined): boolean {
    return (policy === undefined ? undefined : nameOf(config, policy)) !== this.#rules?.name;
  }

  /** @returns undefined where there are no rules. */
  readonly of = (caller: Caller): Access | undefined => {
    const rules = this.#rules;
    if (rules === undefined) return undefined;
    const facts = Proofs.factsOf(caller, this.#options.proofs);
    // Somebody known of whom nothing has been heard yet: his session came from another worker.
    if (facts === undefined && caller.principal !== anonymous) return unheard;
    const rights = rules.policy.rightsOf(facts);
    return { sight: rules.isRecording ? undefined : this.#sightOf(rules, rights), decide: (wanted) => this.#decide(rules, rights, wanted, caller, facts), redaction: (wanted) => this.#redaction(rules, rights, wanted, caller, facts) };
  };

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

  #redaction({ isRecording, believed }: Rules, rights: Rights, wanted: Wanted, caller: Caller, facts: Facts | undefined): Redaction | undefined {
    const { kind, server, name, method, args, isBegun } = wanted;
    return isRecording ? undefined : rights.redaction(targetOf(wanted, believed), { facts, kind, server, name, method, args, now: Date.now(), address: caller.address, isBegun });
  }

  #decide({ policy: { version }, isRecording, believed }: Rules, rights: Rights, wanted: Wanted, caller: Caller, facts: Facts | undefined): Permission {
    const { kind, server, name, method, args, isBegun } = wanted;
    const decision = rights.decide(targetOf(wanted, believed), { facts, kind, server, name, method, args, now: Date.now(), address: caller.address, isBegun });
    if (decision.effect === 'deny' || (decision.effect === 'ask' && isRecording)) this.#tell(decision, isRecording, wanted, caller);
    if (!isRecording || decision.redaction === undefined) return { ...decision, isRecorded: isRecording, policy: version };
    this.#tell({ ...decision, rule: decision.redaction.rule }, true, wanted, caller);
    return { ...decision, redaction: undefined, isRecorded: true, policy: version };
  }

  #tell({ rule, isVisible, effect }: Decision, isRecording: boolean, { kind, server, name, method }: Wanted, { principal }: Caller): void {
    const { log, metrics } = this.#options;
    metrics.refusedByRule(isRecording ? 'recorded' : isVisible ? 'denied' : 'hidden', rule ?? 'default');
    const now = performance.now();
    if (now - this.#lines.since > 1_000) {
      if (this.#lines.more > 0) log.info({ count: this.#lines.more }, 'more was refused by rules than is written here');
      this.#lines = { since: now, written: 0, more: 0 };
    }
    if (this.#lines.written >= maxLinesPerSecond) {
      this.#lines.more += 1;
      return;
    }
    this.#lines.written += 1;
    log.info({ rule: rule ?? 'default', principal, method, server, [kind]: name, hidden: !isVisible }, isRecording ? words[effect] : 'refused by a rule');
  }
}

/** What is logged where rules are only recorded, by what is decided besides. */
const words = { deny: 'a rule would refuse this', ask: 'a rule would have this approved first', allow: 'a rule would redact the answer' } as const;

/** Of somebody of whom nothing is known yet: he sees nothing until he asks something. */
const unheard: Access = {
  sight: { name: 'unheard', sees: () => false, seesServer: () => false, mayEverythingOf: () => false },
  decide: () => ({ effect: 'deny', isVisible: false, isRecorded: false }),
  redaction: () => undefined,
};

const believedOf = ({ mcpServers }: Config): ReadonlySet<string> => new Set(Object.entries(mcpServers).filter(([, { hints }]) => hints === 'believe').map(([server]) => server));
const nameOf = (config: Config, { version }: Policy): string => [version, config.access?.mode, ...believedOf(config)].join(' ');

function targetOf({ kind, server, name, entry }: Pick<Wanted, 'kind' | 'server' | 'name' | 'entry'>, believed: ReadonlySet<string>): Target {
  return kind === 'tool' && believed.has(server) ? { kind, server, name, annotations: entry?.['annotations'] ?? null } : { kind, server, name };
}

/** Whether nothing was known of a caller until now, so that what he sees has not changed by it. */
export function isUnheard(access: Access): boolean {
  return access === unheard;
}
