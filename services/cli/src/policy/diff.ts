/**
 * Finds the callers that gain or lose access by a change of the configuration. Both sides decide for every caller that a rule names (`policy-people.ts`) and for everything that
 * selectors name, at each server. In place of a glob, names are tried that it matches. Where both sides decide alike, the conditions and terms of the rules that decide are compared.
 */
import { enabledServers, isForTenant, trustedHints, type Config } from '@omnibus/config';
import { effectOf, selectorsOf, type Policy, type RuleSettings, type Target } from '@omnibus/policy';
import { canonical, namesLike, noLabels, type Facts } from '@omnibus/protocol';
import { guardedRules } from '@omnibus/setup/rules';
import { conditionsOf, factsOf, grantWords, termsOf, targetOf, type Person } from '@omnibus/admin/policy';
import { peopleOf } from './people.ts';

export interface Change {
  readonly what: string;
  readonly was: string;
  readonly is: string;
  /** Id of the rule that decides after the change. */
  readonly rule: string | undefined;
  /** Left out if neither is certain: the conditions or terms have changed. */
  readonly gains?: boolean;
}

export interface Side {
  readonly config: Config;
  readonly policy: Policy;
}

const order = ['hidden', 'deny', 'in part', 'ask', 'until labelled', 'redacted', 'allow'];
/** Things that are tried at most, and names for one glob. */
const maxThings = 5_000;
const maxNames = 50;

/** @param names of existing tools and others, as `server/tool`, to be tried too. @returns the changes for each caller that has some. */
export function differencesOf(
  before: Side,
  after: Side,
  names: readonly string[],
): ReadonlyMap<string, readonly Change[]> {
  const sides = [before, after];
  const things = thingsOf(sides, names);
  const found = new Map<string, readonly Change[]>();
  const general = generalChanges(before.config, after.config);
  if (general.length > 0) found.set('everybody', general);
  for (const { label, person, of } of peopleOf(sides.map(({ config }) => config))) {
    const known = new Set(of.flatMap((each) => (found.get(each) ?? []).map(({ what }) => what)));
    const changes = things
      .filter((what) => !known.has(what))
      .flatMap((what) => changeOf(what, outcomeOf(before, person, what), outcomeOf(after, person, what)));
    if (changes.length > 0) found.set(label, changes);
  }
  return found;
}

function changeOf(what: string, was: Outcome, is: Outcome): Change[] {
  if (was.outcome !== is.outcome)
    return [
      {
        what,
        was: was.words ?? was.outcome,
        is: is.words ?? is.outcome,
        rule: is.rule,
        gains: order.indexOf(is.outcome) > order.indexOf(was.outcome),
      },
    ];
  return was.terms === is.terms
    ? []
    : [{ what, was: `${was.outcome}: ${was.terms}`, is: `${is.outcome}: ${is.terms}`, rule: is.rule }];
}

/** What changes for all: whether the rules are enforced, and guardrails. */
function generalChanges(before: Config, after: Config): readonly Change[] {
  const [was, is] = [before, after].map(({ access }) => access?.mode ?? 'enforce') as [string, string];
  const mode = was === is ? [] : [{ what: 'mode', was, is, rule: undefined, gains: is === 'record' }];
  const [old, now] = [before, after].map(
    ({ guardrails }) => new Map(guardrails.map((each) => [each.id, canonical(JSON.parse(JSON.stringify(each)))])),
  ) as [Map<string, string>, Map<string, string>];
  const guards = [...new Set([...old.keys(), ...now.keys()])].flatMap((id): Change[] => {
    const what = `guardrail ${id}`;
    if (!now.has(id)) return [{ what, was: 'looks', is: 'gone', rule: undefined, gains: true }];
    if (!old.has(id)) return [{ what, was: 'none', is: 'looks', rule: undefined, gains: false }];
    return old.get(id) === now.get(id) ? [] : [{ what, was: 'looks', is: 'looks otherwise', rule: undefined }];
  });
  const [asked, asks] = [before, after].map(({ access }) => access?.decisions?.url ?? 'none') as [string, string];
  const [pointWas, pointIs] = [before, after].map(({ access }) =>
    canonical(JSON.parse(JSON.stringify(access?.decisions ?? {}))),
  );
  const point =
    asked !== asks
      ? [{ what: 'decisions', was: asked, is: asks, rule: undefined }]
      : pointWas === pointIs
        ? []
        : [{ what: 'decisions', was: asked, is: `${asks}, asked otherwise`, rule: undefined }];
  return [...mode, ...guards, ...point, ...grantChanges(before, after)];
}

/** Changed definitions of grants. What a grant allows differs where the rules differ that name it. */
function grantChanges(before: Config, after: Config): readonly Change[] {
  const [old, now] = [before, after].map(
    ({ access }) => new Map(access?.grants.map((each) => [each.id, grantWords(each)])),
  ) as [Map<string, string>, Map<string, string>];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((id): Change[] => {
    const [was, is] = [old.get(id), now.get(id)];
    if (was === is) return [];
    const gains = was === undefined ? { gains: true } : is === undefined ? { gains: false } : {};
    return [{ what: `grant ${id}`, was: was ?? 'none', is: is ?? 'gone', rule: undefined, ...gains }];
  });
}

function thingsOf(sides: readonly Side[], names: readonly string[]): readonly string[] {
  const selectors = sides.flatMap(({ config }) => rulesOf(config).flatMap(({ rule }) => selectorsOf(rule)));
  const servers = new Set(sides.flatMap(({ config }) => [...enabledServers(config).keys()]));
  const things = new Set(names);
  const witnesses = new Set(['something']);
  // Tools with hints of the operator, by which rules decide.
  for (const { config } of sides)
    for (const { tools } of enabledServers(config).values())
      for (const [name, { annotations }] of Object.entries(tools)) if (annotations !== undefined) witnesses.add(name);
  for (const { text } of selectors)
    for (const name of namesLike(text.replace(/^(tool|prompt|resource):/, ''), maxNames))
      witnesses.add(name.replace(/^[^/]*\/?/, '') || 'something');
  for (const kind of ['', 'prompt:', 'resource:'])
    for (const server of servers)
      for (const name of witnesses) if (things.size < maxThings) things.add(`${kind}${server}/${name}`);
  return [...things].toSorted();
}

/** The rules of a configuration with their ids: those under `access`, and those of `flow: guarded`. */
function rulesOf(config: Config): readonly { readonly id: string; readonly rule: RuleSettings }[] {
  return [...(config.access?.rules ?? []), ...guardedRules(config)].map((rule, index) => ({
    id: rule.id ?? `#${index + 1}`,
    rule,
  }));
}

interface Outcome {
  /** One of `order`. */
  readonly outcome: string;
  /** The outcome for people, if it says more. */
  readonly words?: string;
  readonly rule: string | undefined;
  /** Conditions and terms on which it depends, in words. */
  readonly terms: string;
}

/** The outcome without regard to arguments, time and network: `in part` means allowed under conditions only. */
function outcomeOf({ config, policy }: Side, person: Person, what: string): Outcome {
  const facts = factsOf(person, policy);
  const target = hintedTarget(config, what);
  if (!isForTenant(enabledServers(config).get(target.server)?.tenants, facts?.tenant))
    return { outcome: 'hidden', rule: undefined, terms: '' };
  const rights = policy.rightsOf(facts);
  const circumstances = {
    facts,
    kind: target.kind,
    method: '',
    server: target.server,
    name: target.name,
    args: undefined,
    now: 0,
    address: undefined,
  };
  // Without known labels, conditions on them count against the caller.
  const { effect, isVisible, rule, redaction } = rights.decide(target, circumstances);
  if (!isVisible) return { outcome: 'hidden', rule, terms: '' };
  const terms = (isDecided: boolean): string => termsFor({ config, policy }, facts, target, isDecided);
  const after = policy.rules.find((each) => each.id === rule)?.after;
  if (effect !== 'allow' && after !== undefined) {
    const unlabelled = rights.decide(target, { ...circumstances, labels: noLabels });
    if (unlabelled.effect === 'allow')
      return {
        outcome: 'until labelled',
        words: `allow, and ${effect} after ${after.join(' and ')}`,
        rule,
        terms: terms(false),
      };
  }
  if (effect === 'ask') return { outcome: effect, rule, terms: terms(false) };
  const isConditional = policy.rules.some((each) => each.id === rule && each.condition !== undefined);
  if (isConditional || redaction === undefined)
    return { outcome: isConditional ? 'in part' : effect, rule, terms: terms(!isConditional) };
  return { outcome: 'redacted', rule: redaction.rule, terms: terms(true) };
}

/** A target, with the hints that the operator wrote for a tool. */
function hintedTarget(config: Config, what: string): Target {
  const target = targetOf(what);
  const settings = enabledServers(config).get(target.server);
  const annotations =
    target.kind === 'tool' && settings !== undefined
      ? trustedHints({ ...settings, hints: 'ignore' }, target.name, undefined)
      : undefined;
  return annotations === undefined ? target : { ...target, annotations };
}

/** @param isDecided whether it is allowed whatever the conditions are; then only redaction matters. */
function termsFor({ config, policy }: Side, facts: Facts | undefined, target: Target, isDecided: boolean): string {
  const isAgent = policy.isAgent(facts);
  const about = new Set(
    policy.rules
      .filter(
        (each) =>
          (isAgent || !each.isForAgents) &&
          each.isFor(facts) &&
          each.covers(target, `${target.server}/${target.name}`) !== 'no',
      )
      .map(({ id }) => id),
  );
  const words = rulesOf(config).flatMap(({ id, rule }) => {
    const effect = effectOf(rule);
    if (!about.has(id) || (isDecided && effect !== 'redact' && effect !== 'label')) return [];
    const conditions = conditionsOf(rule);
    const believed =
      rule.only !== undefined && enabledServers(config).get(target.server)?.hints === 'believe'
        ? ['its server is believed']
        : [];
    const said = [...conditions, ...believed, termsOf(rule)].filter((each) => each !== undefined);
    return said.length === 0 ? [] : [`${effect} (${said.join('; ')})`];
  });
  return words.toSorted().join(', ');
}
