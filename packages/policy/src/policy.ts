/** Compiled rules. Callers to whom the same rules apply share one `Rights` object, so that there are few, however many callers there are. */
import { hash } from 'node:crypto';
import { compileGrants, type GrantTerms } from './grants.ts';
import { Rights } from './rights.ts';
import { compileRule, type Compilers, type Rule } from './rule.ts';
import type { AccessSettings, RuleProblem } from './settings.ts';
import { agentClients, type WhoFacts } from './who.ts';

/** Bound on kept `Rights`: each holds the rules for a set of callers, and a cache of which rules cover which tools. */
const maxRights = 1_000;

export class Policy {
  /** A digest of the rules, the same in every process. */
  readonly version: string;
  readonly rules: readonly Rule[];
  /** Rights that callers may ask for. */
  readonly grants: readonly GrantTerms[];
  readonly #settings: AccessSettings;
  /** Clients that count as agents, since rules name them under `via`. */
  readonly #agents: ReadonlySet<string>;
  /** The one used longest ago is first. */
  readonly #rights = new Map<string, Rights>();
  readonly #byFacts = new WeakMap<NonNullable<WhoFacts>, Rights>();
  #nobody: Rights | undefined;

  constructor(settings: AccessSettings, rules: readonly Rule[], grants: readonly GrantTerms[] = []) {
    const said = [settings.default, settings.rules, ...(grants.length === 0 ? [] : [settings.grants])];
    this.version = hash('sha256', JSON.stringify(said), 'base64url').slice(0, 12);
    this.grants = grants;
    this.rules = rules;
    this.#settings = settings;
    this.#agents = new Set(settings.rules.flatMap(({ who }) => agentClients(who)));
  }

  /** @param facts of the caller; the result is cached for each object. */
  rightsOf(facts: WhoFacts): Rights {
    if (facts === undefined) return (this.#nobody ??= this.#choose(facts));
    const known = this.#byFacts.get(facts);
    if (known !== undefined) return known;
    const rights = this.#choose(facts);
    this.#byFacts.set(facts, rights);
    return rights;
  }

  /** Whether an agent acts for the user: one in the token, or a client that rules take for one. */
  isAgent(facts: WhoFacts): boolean {
    return (
      facts !== undefined && (facts.actors.length > 0 || (facts.client !== undefined && this.#agents.has(facts.client)))
    );
  }

  #choose(facts: WhoFacts): Rights {
    const isAgent = this.isAgent(facts);
    const about = this.rules.map((rule) => (isAgent || !rule.isForAgents) && rule.isFor(facts));
    const name = `${this.version}.${hash('sha256', `${isAgent ? 'a' : 'u'}${about.map((is) => (is ? '1' : '0')).join('')}`, 'base64url').slice(0, 12)}`;
    const known = this.#rights.get(name);
    if (known !== undefined) {
      this.#rights.delete(name);
      this.#rights.set(name, known);
      return known;
    }
    const chosen = this.rules.filter((_rule, index) => about[index]);
    const halves = [
      chosen.filter(({ isForAgents }) => !isForAgents),
      ...(isAgent ? [chosen.filter(({ isForAgents }) => isForAgents)] : []),
    ];
    const rights = new Rights(name, halves, this.#settings.default);
    this.#rights.set(name, rights);
    if (this.#rights.size > maxRights) this.#rights.delete(this.#rights.keys().next().value as string);
    return rights;
  }
}

export type Compiled = { readonly policy: Policy } | { readonly problems: readonly RuleProblem[] };

/** Makes a policy from rules, all of them or none. */
export async function compile(settings: AccessSettings): Promise<Compiled> {
  const { rules } = settings;
  const hasRegular = rules.some(({ args = {} }) => Object.values(args).some(({ matches }) => matches !== undefined));
  const compilers: Compilers = {
    when: rules.some(({ when }) => when !== undefined) ? (await import('./when.ts')).compileWhen : undefined,
    regular: hasRegular ? (await import('./regular.ts')).compileRegular : undefined,
  };
  const compiled = rules.map((rule, index) => compileRule(rule, index, compilers));
  const problems = compiled.flatMap((each) => ('problems' in each ? each.problems : []));
  const grants = compileGrants(settings.grants ?? [], rules);
  problems.push(...grants.problems);
  const ids = settings.rules.map(({ id }, index) => id ?? `#${index + 1}`);
  for (const [index, id] of ids.entries())
    if (ids.indexOf(id) !== index)
      problems.push({ path: ['rules', index, 'id'], message: `a rule before it is called ${JSON.stringify(id)} too` });
  return problems.length > 0
    ? { problems }
    : {
        policy: new Policy(
          settings,
          compiled.flatMap((each) => ('problems' in each ? [] : each)),
          grants.terms,
        ),
      };
}
