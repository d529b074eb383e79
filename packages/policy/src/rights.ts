/**
 * What a caller may: the rules that are about him, chosen once. An agent may what both the user whom it acts for may and what rules say of
 * agents (`via`): the stricter of the two.
 *
 * Deny goes over ask, ask over allow, and allow over the default; no rule comes before another. To ask permits nothing by itself: it is the other half of a rule that allows. What some rule might allow, whatever the arguments and the
 * moment, and none denies whatever they are, is visible: lists do not flicker with the clock.
 */
import type { Circumstances } from './conditions.ts';
import { Redaction } from './redaction/redaction.ts';
import type { AskTerms, Rule, Target } from './rule.ts';

export interface Decision {
  readonly effect: 'allow' | 'deny' | 'ask';
  /** Who is asked first, where the effect is that. */
  readonly terms?: AskTerms | undefined;
  /** What of its results is taken out; left out where nothing is. */
  readonly redaction?: Redaction | undefined;
  /** The rule that decided; where none allows it under these conditions, the first that would under others. Left out for the default. */
  readonly rule?: string | undefined;
  readonly because?: string | undefined;
  /** Whether the caller is shown that there is such a thing. */
  readonly isVisible: boolean;
}

export type Default = 'allow' | 'deny';

/** The rules that cover a target, for one half of the rules. */
interface Matched {
  readonly hiddenBy: Rule | undefined;
  readonly denies: readonly Rule[];
  readonly asks: readonly Rule[];
  readonly redacts: readonly Rule[];
  readonly allows: readonly Rule[];
}

interface Known {
  readonly annotations: unknown;
  readonly halves: readonly Matched[];
}

/** Tools and prompts of which it is known which rules cover them, for one set of rights: as many as callers use again and again. */
const maxKnown = 4_096;

export class Rights {
  /** The same for all callers whom the same rules are about. */
  readonly name: string;
  readonly #halves: readonly (readonly Rule[])[];
  readonly #default: Default;
  readonly #known = new Map<string, Known>();

  /** @param halves the rules about the user, and, of an agent, those about agents. */
  constructor(name: string, halves: readonly (readonly Rule[])[], fallback: Default) {
    this.name = name;
    this.#halves = halves;
    this.#default = fallback;
  }

  /** Whether the caller is shown that there is such a thing. */
  sees(target: Target): boolean {
    return this.#matched(target).every((matched) => this.#isShown(matched));
  }

  /** The same of a server of which nothing is known that could be shown. */
  seesServer(server: string): boolean {
    return this.#halves.every((rules) => !rules.some(({ effect, condition, coversAllOf }) => effect === 'deny' && condition === undefined && coversAllOf(server))
      && (this.#default === 'allow' || rules.some(({ effect, mayCover }) => effect === 'allow' && mayCover(server))));
  }

  /** Whether everything that a server has is allowed, whatever it is: nothing is denied, and nothing has conditions. */
  mayEverythingOf(server: string): boolean {
    return this.#halves.every((rules) => !rules.some(({ effect, mayCover }) => (effect === 'deny' || effect === 'ask') && mayCover(server))
      && (this.#default === 'allow' || rules.some(({ effect, condition, coversAllOf }) => effect === 'allow' && condition === undefined && coversAllOf(server))));
  }

  /** What is taken out of what is said of a thing, whether or not it is allowed. */
  redaction(target: Target, circumstances: Circumstances): Redaction | undefined {
    return redactionOf(this.#matched(target), circumstances);
  }

  decide(target: Target, circumstances: Circumstances): Decision {
    let decision: Decision | undefined;
    const halves = this.#matched(target);
    for (const matched of halves) {
      const next = this.#decideHalf(matched, circumstances);
      if (decision === undefined || isStricter(next, decision)) decision = next;
    }
    const redaction = decision?.effect === 'deny' ? undefined : redactionOf(halves, circumstances);
    const decided = decision ?? { effect: this.#default, isVisible: this.#default === 'allow' };
    return redaction === undefined ? decided : { ...decided, redaction };
  }

  #decideHalf({ hiddenBy, denies, asks, allows }: Matched, circumstances: Circumstances): Decision {
    if (hiddenBy !== undefined) return { effect: 'deny', rule: hiddenBy.id, because: hiddenBy.because, isVisible: false };
    const isVisible = this.#default === 'allow' || allows.length > 0;
    for (const { condition, id, because } of denies) if (condition?.(circumstances) !== 'no') return { effect: 'deny', rule: id, because, isVisible };
    const allowing = allows.find(({ condition }) => condition === undefined || condition(circumstances) === 'yes');
    if (allowing !== undefined || this.#default === 'allow') {
      // What runs was approved when it began.
      const asking = asks.length === 0 || circumstances.isBegun === true ? undefined : askingOf(asks.filter(({ condition }) => condition?.(circumstances) !== 'no'));
      return asking === undefined ? { effect: 'allow', isVisible, ...(allowing === undefined ? {} : { rule: allowing.id }) } : { effect: 'ask', rule: asking.id, because: asking.because, terms: asking.terms, isVisible };
    }
    return { effect: 'deny', rule: allows[0]?.id, because: allows[0]?.because, isVisible };
  }

  #isShown({ hiddenBy, allows }: Matched): boolean {
    return hiddenBy === undefined && (this.#default === 'allow' || allows.length > 0);
  }

  /** The names of tools and prompts come from servers, and are bounded with their lists; URIs come from clients, and are not kept. */
  #matched(target: Target): readonly Matched[] {
    const { kind, server, name, annotations } = target;
    const key = `${server}/${name}`;
    const isKept = kind === 'tool' || kind === 'prompt';
    const keptAs = kind === 'tool' ? key : `${kind}:${key}`;
    const known = isKept ? this.#known.get(keptAs) : undefined;
    if (known !== undefined && known.annotations === annotations) return known.halves;
    const halves = this.#halves.map((rules) => match(rules, target, key));
    if (isKept) {
      if (this.#known.size >= maxKnown) this.#known.clear();
      this.#known.set(keptAs, { annotations, halves });
    }
    return halves;
  }
}

function match(rules: readonly Rule[], target: Target, key: string): Matched {
  const denies: Rule[] = [];
  const asks: Rule[] = [];
  const redacts: Rule[] = [];
  const allows: Rule[] = [];
  for (const rule of rules) {
    // What is not said in words of its own may do anything: a rule that denies a part of its server denies it.
    const verdict = target.kind === 'server' && rule.effect !== 'allow' && rule.mayCover(target.server) ? 'yes' : rule.covers(target, key);
    if (rule.effect === 'allow' ? verdict !== 'yes' : verdict === 'no') continue;
    // Nobody can be shown what has no words of its own.
    (rule.effect === 'allow' ? allows : rule.effect === 'redact' ? redacts : rule.effect === 'ask' && target.kind !== 'server' ? asks : denies).push(rule);
  }
  return { hiddenBy: denies.find(({ condition }) => condition === undefined), denies, asks, redacts, allows };
}

function redactionOf(halves: readonly Matched[], circumstances: Circumstances): Redaction | undefined {
  if (halves.every(({ redacts }) => redacts.length === 0)) return undefined;
  const terms = halves.flatMap(({ redacts }) => redacts).filter(({ condition }) => condition?.(circumstances) !== 'no').map(({ redaction }) => redaction).filter((each) => each !== undefined);
  return terms.length === 0 ? undefined : new Redaction(terms);
}

/** Of several that ask, one that asks others than the caller goes first. */
function askingOf(asks: readonly Rule[]): Rule | undefined {
  return asks.find(({ terms }) => terms?.by === 'approvers') ?? asks[0];
}

/** Of what is said of a user and of his agent. */
function isStricter(next: Decision, decision: Decision): boolean {
  if (next.effect === 'deny') return decision.effect !== 'deny' || !next.isVisible;
  return next.effect === 'ask' && (decision.effect === 'allow' || (decision.effect === 'ask' && next.terms?.by === 'approvers' && decision.terms?.by === 'caller'));
}
