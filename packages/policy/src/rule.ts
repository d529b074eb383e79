/** One rule, compiled. */
import { hash } from 'node:crypto';
import { canonical, selectorProblem } from '@omnibus/protocol';
import {
  argumentCondition,
  networkCondition,
  timeCondition,
  type Circumstances,
  type CompileRegular,
  type Condition,
} from './conditions.ts';
import { hintsVerdict } from './hints.ts';
import { labelCondition, labelProblem } from './labels.ts';
import { compileSelector, coversForms, type Selector, type TargetKind } from './selector.ts';
import { hints, type Hint, type RuleProblem, type RuleSettings } from './settings.ts';
import { compileRedaction, type RedactTerms } from './redaction/redaction.ts';
import { both, verdictOf, type Verdict } from './verdict.ts';
import { matchesWho, namesAgents, type Who, type WhoFacts } from './who.ts';

/** The thing that a request uses, without arguments and time. */
export interface Target {
  readonly kind: TargetKind;
  readonly server: string;
  /** The server's own name of a tool or prompt, or a URI. */
  readonly name: string;
  /** The annotations of the tool; left out where its server is not believed. */
  readonly annotations?: unknown;
}

/** The approvers of a call, and the time limit. */
export interface AskTerms {
  readonly by: 'caller' | 'approvers';
  /** Undefined if all with the role may approve. */
  readonly approvers: readonly string[] | undefined;
  /** Milliseconds. */
  readonly expiresMs: number;
  /** Number of different approvers that must approve; left out for one. */
  readonly quorum?: number | undefined;
  /** The longest time for which further calls may be allowed, in milliseconds, and the digest of the rule that says so; left out if each call needs an approval. */
  readonly lasts?: { readonly ms: number; readonly version: string } | undefined;
}

/** A compiled rule. Settings with `ask` become two: one that allows, and one that asks first, whichever rule allows the call. */
export interface Rule {
  readonly id: string;
  readonly effect: 'allow' | 'deny' | 'ask' | 'redact' | 'guard' | 'label';
  /** Only of a rule that redacts. */
  readonly redaction: RedactTerms | undefined;
  /** Only of a rule that asks. */
  readonly terms: AskTerms | undefined;
  /** Labels that results add; empty but for a rule that labels. */
  readonly labels: readonly string[];
  /** Labels that the conversation must have; undefined if the rule does not depend on labels. */
  readonly after: readonly string[] | undefined;
  /** Whether the rule applies to agents acting for users, and to no other. */
  readonly isForAgents: boolean;
  readonly isFor: (facts: WhoFacts) => boolean;
  readonly selectors: readonly Selector[];
  /** @param key `server/name` of the target. */
  readonly covers: (target: Target, key: string) => Verdict;
  readonly mayCover: (server: string) => boolean;
  readonly coversAllOf: (server: string) => boolean;
  /** Undefined for a rule without conditions. */
  readonly condition: Condition | undefined;
  readonly because: string | undefined;
}

type RuleEffect = Rule['effect'];
const effects = ['deny', 'ask', 'redact', 'label', 'guard', 'allow'] as const satisfies readonly RuleEffect[];

/** The effect of a rule as it is written; of an invalid one that has none, `allow`. */
export function effectOf(rule: Pick<RuleSettings, RuleEffect>): RuleEffect {
  return effects.find((each) => rule[each] !== undefined) ?? 'allow';
}

/** The selectors of a rule, each with its text. Invalid ones are left out. */
export function selectorsOf({
  allow,
  deny,
  ask,
  redact,
  guard,
  label,
}: Pick<RuleSettings, RuleEffect>): readonly (Selector & {
  readonly text: string;
})[] {
  return [allow ?? deny ?? ask ?? redact ?? guard ?? label ?? []]
    .flat()
    .filter((text) => selectorProblem(text) === undefined)
    .map((text) => ({ ...compileSelector(text), text }));
}

/** Compilers that are loaded only when a rule needs them. Each throws an error with a message for the operator when its text is invalid. */
export interface Compilers {
  /** Of a text under `when`. */
  readonly when?: ((text: string) => (circumstances: Circumstances) => boolean) | undefined;
  /** Of a text under `matches`. */
  readonly regular?: CompileRegular | undefined;
}

/** @returns the compiled rule (two for one that asks), or everything that is wrong with it. */
export function compileRule(
  settings: RuleSettings,
  index: number,
  compilers: Compilers,
): readonly Rule[] | { readonly problems: readonly RuleProblem[] } {
  const problems = strayProblems(settings, index);
  if (settings.ask === undefined) {
    const rule = compileEffect(settings, index, compilers, effectOf(settings));
    return 'problems' in rule || problems.length > 0
      ? { problems: [...('problems' in rule ? rule.problems : []), ...problems] }
      : [rule];
  }
  problems.push(...askProblems(settings, index));
  const [allowing, asking] = [
    compileEffect(settings, index, compilers, 'allow'),
    compileEffect(settings, index, compilers, 'ask'),
  ];
  if ('problems' in allowing || 'problems' in asking || problems.length > 0)
    return { problems: [...('problems' in allowing ? allowing.problems : []), ...problems] };
  if (settings.onlyAsks === true) return [asking];
  return [allowing, asking];
}

/** Finds options that belong to a rule with another effect. */
function strayProblems(
  {
    ask,
    redact,
    label,
    guard,
    by,
    approvers,
    quorum,
    expires,
    lasts,
    patterns,
    paths,
    unreadable,
    as,
    after,
  }: RuleSettings,
  index: number,
): RuleProblem[] {
  const said = (effect: string, isThere: boolean, members: object): RuleProblem[] =>
    isThere
      ? []
      : Object.entries(members)
          .filter(([, value]) => value !== undefined)
          .map(([member]) => ({ path: ['rules', index, member], message: `is said of rules with \`${effect}\`` }));
  return [
    ...said('ask', ask !== undefined, { by, approvers, quorum, expires, lasts }),
    ...said('redact', redact !== undefined, { patterns, paths, unreadable }),
    ...said('label', label !== undefined, { as }),
    ...((label ?? guard ?? redact) !== undefined && after !== undefined
      ? [{ path: ['rules', index, 'after'], message: 'is said of rules with `allow`, `deny` and `ask`' }]
      : []),
  ];
}

function askProblems({ by, approvers, quorum = 1 }: RuleSettings, index: number): RuleProblem[] {
  const named = approvers === undefined ? [] : [approvers].flat();
  const strange = named.filter(
    (each) =>
      each !== each.trim() || /^(group|key):\s/.test(each) || (!/^(group:|key:)./.test(each) && !each.includes('|')),
  );
  return [
    ...(by === 'caller' && approvers !== undefined
      ? [{ path: ['rules', index, 'by'], message: 'the caller approves, or those who stand under `approvers`' }]
      : []),
    ...(quorum > 1 && (by ?? (approvers === undefined ? 'caller' : 'approvers')) === 'caller'
      ? [{ path: ['rules', index, 'quorum'], message: 'several approvers need `approvers`, or `by: approvers`' }]
      : []),
    ...(approvers !== undefined && named.length === 0
      ? [{ path: ['rules', index, 'approvers'], message: 'expected somebody who approves' }]
      : []),
    ...strange.map((each) => ({
      path: ['rules', index, 'approvers'],
      message: `expected "group:NAME", "key:SUBJECT" or "ISSUER|SUBJECT", got ${JSON.stringify(each)}`,
    })),
  ];
}

/** A person needs a few minutes to decide, and the client is waiting meanwhile. */
const defaultExpiresMs = 10 * 60_000;

function termsOf(settings: RuleSettings): AskTerms {
  const { by, approvers, quorum = 1, expires, lasts } = settings;
  return {
    by: by ?? (approvers === undefined ? 'caller' : 'approvers'),
    approvers: approvers === undefined ? undefined : [approvers].flat(),
    expiresMs: expires ?? defaultExpiresMs,
    ...(quorum === 1 ? {} : { quorum }),
    ...(lasts === undefined
      ? {}
      : { lasts: { ms: lasts, version: hash('sha256', canonical(settings), 'base64url').slice(0, 16) } }),
  };
}

/** Mistakes of one rule, collected while it is compiled. */
class Mistakes {
  readonly found: RuleProblem[] = [];
  readonly #path: readonly (string | number)[];

  constructor(index: number) {
    this.#path = ['rules', index];
  }

  add(path: readonly (string | number)[], message: string): void {
    this.found.push({ path: [...this.#path, ...path], message });
  }

  /** @returns undefined if `make` throws; the message of the error is a mistake of the member. */
  attempt<Made>(member: string, make: () => Made): Made | undefined {
    try {
      return make();
    } catch (error) {
      this.add([member], (error as Error).message);
      return undefined;
    }
  }
}

function compileEffect(
  settings: RuleSettings,
  index: number,
  compilers: Compilers,
  effect: Rule['effect'],
): Rule | { readonly problems: readonly RuleProblem[] } {
  const mistakes = new Mistakes(index);
  const { id = `#${index + 1}`, who, ask, because } = settings;
  const texts = textsOf(settings, mistakes);
  const isFor = callersOf(settings, effect !== 'allow', mistakes);
  const wanted = hintsOf(settings, mistakes);
  const selectors = mistakes.found.length > 0 ? [] : texts.map((text) => compileSelector(text));
  if (wanted.length > 0 && selectors.some(({ kind }) => kind === 'prompt' || kind === 'resource'))
    mistakes.add(['only'], 'only tools say this of themselves, so the rule can be about tools alone');
  const conditions = conditionsOf(settings, effect, compilers, mistakes);
  const redaction = effect === 'redact' ? redactionOf(settings, id, mistakes) : undefined;
  const labels = effect === 'label' ? labelsIn('as', settings.as, mistakes) : [];
  if (mistakes.found.length > 0 || isFor === undefined) return { problems: mistakes.found };
  return {
    id,
    effect,
    because,
    selectors,
    redaction,
    labels,
    after: settings.after === undefined ? undefined : [settings.after].flat(),
    terms: effect === 'ask' ? termsOf(settings) : undefined,
    isForAgents: namesAgents(who),
    isFor,
    covers: (target, key) => {
      if ((ask !== undefined && target.kind === 'server') || !coversForms(selectors, target, key, effect === 'allow'))
        return 'no';
      if (wanted.length === 0) return 'yes';
      return target.kind === 'tool' ? hintsVerdict(wanted, target.annotations) : 'no';
    },
    mayCover: (server) => selectors.some((selector) => selector.mayCover(server)),
    coversAllOf: (server) =>
      wanted.length === 0 && ask === undefined && selectors.some((selector) => selector.coversAllOf(server)),
    condition: conditions.length === 0 ? undefined : conditionOf(conditions),
  };
}

function textsOf({ allow, deny, ask, redact, guard, label }: RuleSettings, mistakes: Mistakes): readonly string[] {
  const effects = Object.entries({ allow, deny, ask, redact, guard, label }).filter(([, each]) => each !== undefined);
  if (effects.length !== 1) mistakes.add([], 'expected `allow`, `deny`, `ask`, `redact` or `label`, and one of them');
  const [written = 'allow', what = []] = effects[0] ?? [];
  const texts = [what].flat();
  if (effects.length === 1 && texts.length === 0) mistakes.add([written], 'expected something that the rule is about');
  for (const [at, text] of texts.entries()) {
    const problem = selectorProblem(text);
    if (problem !== undefined) mistakes.add([written, ...(Array.isArray(what) ? [at] : [])], problem);
  }
  return texts;
}

/** @param isAgainst whether the rule denies or asks, so that a caller that is not known well enough counts as meant. */
function callersOf({ who, except }: RuleSettings, isAgainst: boolean, mistakes: Mistakes): Rule['isFor'] | undefined {
  const isFor = mistakes.attempt('who', () => matchesWho(who, isAgainst));
  // An exception from a rule that allows counts against the caller, one from a rule that denies counts for the caller.
  const isExcepted =
    except === undefined ? undefined : mistakes.attempt('except', () => matchesWho(except, !isAgainst));
  if (except !== undefined && namesAgents(except) && !namesAgents(who))
    mistakes.add(['except'], 'agents (`via`) are meant by rules whose `who` names them');
  if (namesAgents(who) && !everyNamesAgents(who))
    mistakes.add(['who'], 'names agents (`via`) and others; give each a rule');
  return isFor === undefined || isExcepted === undefined ? isFor : (facts) => isFor(facts) && !isExcepted(facts);
}

function hintsOf({ only }: RuleSettings, mistakes: Mistakes): readonly Hint[] {
  const wanted: readonly Hint[] = only === undefined ? [] : ([only].flat() as readonly Hint[]);
  for (const hint of wanted)
    if (!hints.includes(hint)) mistakes.add(['only'], `expected ${hints.join(', ')}, got ${JSON.stringify(hint)}`);
  return wanted;
}

function conditionsOf(
  { args, time, network, when, after, endpoints }: RuleSettings,
  effect: Rule['effect'],
  { when: compileWhen, regular }: Compilers,
  mistakes: Mistakes,
): readonly Condition[] {
  return [
    args === undefined
      ? undefined
      : mistakes.attempt('args', () => once(argumentCondition(args, effect === 'deny', regular), effect)),
    time === undefined ? undefined : mistakes.attempt('time', () => once(timeCondition(time), effect)),
    network === undefined ? undefined : mistakes.attempt('network', () => networkCondition(network)),
    when === undefined || compileWhen === undefined
      ? undefined
      : mistakes.attempt('when', () => once(tried(compileWhen(when)), effect)),
    endpoints === undefined
      ? undefined
      : ({ endpoint }: Circumstances): Verdict =>
          endpoint === undefined ? 'unknown' : verdictOf(endpoints.includes(endpoint)),
    after === undefined ? undefined : labelCondition(labelsIn('after', after, mistakes), effect === 'allow'),
  ].filter((each) => each !== undefined);
}

/** @param member of the rule that has them. */
function labelsIn(member: 'as' | 'after', given: RuleSettings['as'], mistakes: Mistakes): readonly string[] {
  const labels = [given ?? []].flat();
  if (labels.length === 0) mistakes.add([member], 'expected at least one label');
  for (const label of labels) {
    const problem = labelProblem(label);
    if (problem !== undefined) mistakes.add([member], problem);
  }
  return labels;
}

function redactionOf(
  { patterns = [], paths = [], unreadable = 'withhold' }: RuleSettings,
  id: string,
  mistakes: Mistakes,
): RedactTerms | undefined {
  return mistakes.attempt('redact', () =>
    compileRedaction(id, { patterns: [patterns].flat(), paths: [paths].flat(), unreadable }),
  );
}

function everyNamesAgents(who: Who): boolean {
  return (Array.isArray(who) ? (who as readonly Who[]) : [who]).every((each) => namesAgents(each));
}

function conditionOf(conditions: readonly Condition[]): Condition {
  return (circumstances) =>
    conditions.reduce<Verdict>(
      (verdict, condition) => (verdict === 'no' ? verdict : both(verdict, condition(circumstances))),
      'yes',
    );
}

/** For a task that runs, conditions were evaluated when it began: they count as true for a rule that allows, and as false for one that denies or asks. A rule that redacts, and a guardrail, applies. */
function once(condition: Condition, effect: Rule['effect']): Condition {
  return (circumstances) =>
    circumstances.isBegun === true ? (effect !== 'deny' && effect !== 'ask' ? 'yes' : 'no') : condition(circumstances);
}

/** Wraps a condition so that one that throws gives `unknown`. */
function tried(holds: (circumstances: Circumstances) => boolean): Condition {
  return (circumstances) => {
    try {
      return holds(circumstances) ? 'yes' : 'no';
    } catch {
      return 'unknown';
    }
  };
}
