/**
 * The rights of a caller: the rules that apply to the caller, chosen once. An agent may do what both its user may do and the rules about
 * agents (`via`): the stricter of the two.
 *
 * Deny overrides ask, ask overrides allow, and allow overrides the default; the order of rules means nothing. A rule with `ask` is two rules: one that allows and one that asks. What some rule allows for some arguments and some
 * time, and no rule denies for all of them, is visible: lists do not change with the time of day.
 */
import type { Circumstances } from './conditions.ts';
import { unapprovedMethods, type LabelReason } from '@omnibus/protocol';
import { becauseOfLabels, labelReason } from './labels.ts';
import { Redaction } from './redaction/redaction.ts';
import type { AskTerms, Rule, Target } from './rule.ts';
import { isOverworked, tooMuchWork } from './work.ts';

export interface Decision {
  readonly effect: 'allow' | 'deny' | 'ask';
  /** The approvers of the call; only when the effect is `ask`. */
  readonly terms?: AskTerms | undefined;
  /** The redaction of its results; left out if there is none. */
  readonly redaction?: Redaction | undefined;
  /** The rule that decided; when none allows the request now, the first that would under other conditions. Left out when the default decided. */
  readonly rule?: string | undefined;
  readonly because?: string | undefined;
  /** The labels on which it depends; left out of a decision that depends on none. */
  readonly labelled?: LabelReason | undefined;
  readonly isVisible: boolean;
}

export type Default = 'allow' | 'deny';

/** The rules that cover a target: of those about the user, or of those about agents. */
interface Matched {
  readonly hiddenBy: Rule | undefined;
  readonly denies: readonly Rule[];
  readonly asks: readonly Rule[];
  readonly redacts: readonly Rule[];
  readonly guards: readonly Rule[];
  readonly labels: readonly Rule[];
  readonly allows: readonly Rule[];
}

interface Known {
  readonly annotations: unknown;
  readonly halves: readonly Matched[];
  /** The decision, where it depends on no circumstances. */
  fixed: Decision | undefined;
  /** The ids of guardrails, where they depend on no circumstances. */
  readonly guards: readonly string[] | undefined;
}

/** Bound on cached matching rules of tools and prompts for one set of rights: more than callers use again and again. */
const maxKnown = 4_096;

export class Rights {
  /** Equal for all callers to whom the same rules apply. */
  readonly name: string;
  readonly #halves: readonly (readonly Rule[])[];
  readonly #default: Default;
  /** By server and name, of tools and of prompts. */
  readonly #known = { tool: new Map<string, Map<string, Known>>(), prompt: new Map<string, Map<string, Known>>() };
  #knownCount = 0;

  /** @param halves the rules about the user, and, of an agent, those about agents. */
  constructor(name: string, halves: readonly (readonly Rule[])[], fallback: Default) {
    this.name = name;
    this.#halves = halves;
    this.#default = fallback;
    this.usesLabels = halves.some((rules) => rules.some(usesLabels));
  }

  sees(target: Target): boolean {
    return this.#matched(target).every((matched) => this.#isShown(matched));
  }

  /** Whether a server is visible of which no tools, prompts or resources are known. */
  seesServer(server: string): boolean {
    return this.#halves.every(
      (rules) =>
        !rules.some(
          ({ effect, condition, coversAllOf }) => effect === 'deny' && condition === undefined && coversAllOf(server),
        ) &&
        (this.#default === 'allow' || rules.some(({ effect, mayCover }) => effect === 'allow' && mayCover(server))),
    );
  }

  /** Whether everything that a server has is allowed without conditions, and nothing of it is denied. */
  mayEverythingOf(server: string): boolean {
    return this.#halves.every(
      (rules) =>
        !rules.some(({ effect, mayCover }) => (effect === 'deny' || effect === 'ask') && mayCover(server)) &&
        (this.#default === 'allow' ||
          rules.some(
            ({ effect, condition, coversAllOf }) =>
              effect === 'allow' && condition === undefined && coversAllOf(server),
          )),
    );
  }

  /** The redaction of messages about a target, whether or not it is allowed. */
  redaction(target: Target, circumstances: Circumstances): Redaction | undefined {
    return redactionOf(this.#matched(target), circumstances);
  }

  /** The ids of guardrails that look at messages about a thing. */
  guards(target: Target, circumstances: () => Circumstances): readonly string[] {
    const { halves, guards } = this.#cached(target) ?? this.#find(target);
    if (guards !== undefined) return guards;
    const now = circumstances();
    return guardsOf(halves, ({ condition }) => condition?.(now) !== 'no');
  }

  /** Whether some rule labels, or depends on labels. */
  readonly usesLabels: boolean;

  /** The labels that results of a target add to the conversation. */
  labels(target: Target, circumstances: Circumstances): readonly { readonly label: string; readonly rule: string }[] {
    return this.usesLabels
      ? this.#matched(target).flatMap(({ labels }) =>
          labels
            .filter(({ condition }) => condition?.(circumstances) !== 'no')
            .flatMap(({ id, labels: added }) => added.map((label) => ({ label, rule: id }))),
        )
      : [];
  }

  /** Whether a rule that denies or asks about a target depends on labels. */
  flowsAt(target: Target): boolean {
    return (
      this.usesLabels &&
      this.#matched(target).some(({ denies, asks }) => [...denies, ...asks].some(({ after }) => after !== undefined))
    );
  }

  /** The decision about a target, if it is cached and depends on no circumstances. */
  fixed(target: Target): Decision | undefined {
    return this.#cached(target)?.fixed;
  }

  decide(target: Target, circumstances: Circumstances): Decision {
    const known = this.#find(target);
    if (known.fixed !== undefined) return known.fixed;
    const decision = this.#decide(known.halves, circumstances);
    if (known.halves.every(isUnconditional)) known.fixed = decision;
    return decision;
  }

  #decide(halves: readonly Matched[], circumstances: Circumstances): Decision {
    let decision: Decision | undefined;
    for (const matched of halves) {
      const next = this.#decideHalf(matched, circumstances);
      if (decision === undefined || isStricter(next, decision)) decision = next;
    }
    const redaction = decision?.effect === 'deny' ? undefined : redactionOf(halves, circumstances);
    if (decision?.effect === 'deny' && isOverworked(circumstances)) return { ...decision, because: tooMuchWork };
    const decided = decision ?? { effect: this.#default, isVisible: this.#default === 'allow' };
    return redaction === undefined ? decided : { ...decided, redaction };
  }

  #decideHalf({ hiddenBy, denies, asks, allows }: Matched, circumstances: Circumstances): Decision {
    if (hiddenBy !== undefined)
      return { effect: 'deny', rule: hiddenBy.id, because: hiddenBy.because, isVisible: false };
    const isVisible = this.#default === 'allow' || allows.length > 0;
    for (const rule of denies)
      if (rule.condition?.(circumstances) !== 'no')
        return { effect: 'deny', ...reasonOf(rule, circumstances), isVisible };
    const allowing = allows.find(({ condition }) => condition === undefined || condition(circumstances) === 'yes');
    if (allowing !== undefined || this.#default === 'allow') {
      const applying = asks.length === 0 ? [] : asks.filter(({ condition }) => condition?.(circumstances) !== 'no');
      // A task that runs was approved when it began.
      const isUnasked = circumstances.isBegun === true || unapprovedMethods.has(circumstances.method);
      // What has no form for approvers could carry data out: after labels it is denied.
      const flowing = isUnasked ? applying.find(({ after }) => after !== undefined) : undefined;
      if (flowing !== undefined && circumstances.method !== 'resources/unsubscribe')
        return { effect: 'deny', ...reasonOf(flowing, circumstances), isVisible };
      const asking = isUnasked ? undefined : askingOf(applying);
      return asking === undefined
        ? { effect: 'allow', isVisible, ...(allowing === undefined ? {} : { rule: allowing.id }) }
        : { effect: 'ask', ...reasonOf(asking, circumstances), terms: asking.terms, isVisible };
    }
    return { effect: 'deny', rule: allows[0]?.id, because: allows[0]?.because, isVisible };
  }

  #isShown({ hiddenBy, allows }: Matched): boolean {
    return hiddenBy === undefined && (this.#default === 'allow' || allows.length > 0);
  }

  #matched(target: Target): readonly Matched[] {
    return this.#find(target).halves;
  }

  #cached({ kind, server, name, annotations }: Target): Known | undefined {
    const known = kind === 'tool' || kind === 'prompt' ? this.#known[kind].get(server)?.get(name) : undefined;
    return known !== undefined && known.annotations === annotations ? known : undefined;
  }

  /** Cached for tools and prompts: their names come from servers in bounded lists; URIs come from clients, and are not cached. */
  #find(target: Target): Known {
    const cached = this.#cached(target);
    if (cached !== undefined) return cached;
    const { kind, server, name, annotations } = target;
    const key = `${server}/${name}`;
    const halves = this.#halves.map((rules) => match(rules, target, key));
    const isGuardedAlways = halves.every(({ guards }) => guards.every(({ condition }) => condition === undefined));
    const found: Known = {
      annotations,
      halves,
      fixed: undefined,
      guards: isGuardedAlways ? guardsOf(halves, () => true) : undefined,
    };
    if (kind !== 'tool' && kind !== 'prompt') return found;
    const cache = this.#known[kind];
    if (this.#knownCount >= maxKnown) {
      this.#known.tool.clear();
      this.#known.prompt.clear();
      this.#knownCount = 0;
    }
    const ofServer = cache.get(server) ?? new Map<string, Known>();
    if (!ofServer.has(name)) this.#knownCount += 1;
    cache.set(server, ofServer.set(name, found));
    return found;
  }
}

/** The rule of a decision, and its reasons. */
function reasonOf(
  { id, because, after }: Rule,
  { labels }: Circumstances,
): Pick<Decision, 'rule' | 'because' | 'labelled'> {
  const labelled = labelReason(after, labels);
  return {
    rule: id,
    because: becauseOfLabels(because, labelled),
    ...(labelled === undefined ? {} : { labelled }),
  };
}

/** Whether no rule about a target depends on circumstances. A rule that asks does, since some methods are not asked about. */
function isUnconditional({ denies, asks, redacts, allows }: Matched): boolean {
  return (
    asks.length === 0 &&
    redacts.length === 0 &&
    [...denies, ...allows].every(({ condition }) => condition === undefined)
  );
}

function match(rules: readonly Rule[], target: Target, key: string): Matched {
  const of: Record<Rule['effect'], Rule[]> = { deny: [], ask: [], redact: [], guard: [], label: [], allow: [] };
  for (const rule of rules) {
    // A method that no revision defines may have any effect: a rule that denies a part of its server denies it.
    const verdict =
      target.kind === 'server' && rule.effect !== 'allow' && rule.mayCover(target.server)
        ? 'yes'
        : rule.covers(target, key);
    if (rule.effect === 'allow' ? verdict !== 'yes' : verdict === 'no') continue;
    // A call of a method that no revision defines has no form for approvers: such a rule denies it.
    of[rule.effect === 'ask' && target.kind === 'server' ? 'deny' : rule.effect].push(rule);
  }
  const { deny: denies, ask: asks, redact: redacts, guard: guards, label: labels, allow: allows } = of;
  const hiddenBy = denies.find(({ condition }) => condition === undefined);
  return { hiddenBy, denies, asks, redacts, guards, labels, allows };
}

/** Whether a rule labels, or depends on labels. */
export function usesLabels({ effect, after }: Pick<Rule, 'effect' | 'after'>): boolean {
  return effect === 'label' || after !== undefined;
}

function guardsOf(halves: readonly Matched[], applies: (rule: Rule) => boolean): readonly string[] {
  return halves.flatMap(({ guards }) => guards.filter(applies).map(({ id }) => id));
}

function redactionOf(halves: readonly Matched[], circumstances: Circumstances): Redaction | undefined {
  if (halves.every(({ redacts }) => redacts.length === 0)) return undefined;
  const terms = halves
    .flatMap(({ redacts }) => redacts)
    .filter(({ condition }) => condition?.(circumstances) !== 'no')
    .map(({ redaction }) => redaction)
    .filter((each) => each !== undefined);
  return terms.length === 0 ? undefined : new Redaction(terms);
}

/** Terms are the stricter, the more approvers they need; the caller is none. */
function weightOf(terms: AskTerms | undefined): number {
  return terms?.by === 'approvers' ? (terms.quorum ?? 1) : 0;
}

/** Of several rules that ask, one that asks approvers takes precedence over one that asks the caller, and one that asks more of them over others. */
function askingOf(asks: readonly Rule[]): Rule | undefined {
  return asks.reduce<Rule | undefined>(
    (found, rule) => (weightOf(rule.terms) > weightOf(found?.terms) ? rule : (found ?? rule)),
    undefined,
  );
}

/** Compares the decision by the rules about a user with that by the rules about the user's agent. */
function isStricter(next: Decision, decision: Decision): boolean {
  if (next.effect === 'deny') return decision.effect !== 'deny' || !next.isVisible;
  return (
    next.effect === 'ask' &&
    (decision.effect === 'allow' || (decision.effect === 'ask' && weightOf(next.terms) > weightOf(decision.terms)))
  );
}
