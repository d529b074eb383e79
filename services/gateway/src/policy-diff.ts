/**
 * Finds who gains and who loses access by a change of the rules. Both rule sets decide for every caller that a rule names, of whom nothing else is
 * known, and for everything that selectors name, at each server. In place of a `*` in a selector a made-up name is tried.
 */
import { enabledServers, type Config } from '@omnibus/config';
import { selectorsOf, type Policy } from '@omnibus/policy';
import { personOf, targetOf, whoText, type Person } from './policy-words.ts';

export interface Change {
  readonly what: string;
  readonly was: string;
  readonly is: string;
  /** Id of the rule that decides after the change. */
  readonly rule: string | undefined;
  readonly gains: boolean;
}

interface Side {
  readonly config: Config;
  readonly policy: Policy;
}

const order = ['hidden', 'deny', 'in part', 'ask', 'redacted', 'allow'];
/** Callers and things that are tried at most; the number of decisions is their product. */
const maxPeople = 500;
const maxThings = 5_000;

/** @param names of existing tools and others, as `server/tool`, to be tried besides. @returns the changes for each caller that has some. */
export function differencesOf(before: Side, after: Side, names: readonly string[]): ReadonlyMap<string, readonly Change[]> {
  const sides = [before, after];
  const people = new Map<string, Person>([['nobody in particular', 'user:somebody'], ['nobody', 'nobody']]);
  for (const { config } of sides) for (const { who, except } of config.access?.rules ?? []) for (const each of [who, except ?? []].flat()) if (each !== 'everyone' && people.size < maxPeople) people.set(whoText(each as Person), meantBy(each as Person));
  const things = thingsOf(sides, names);
  const found = new Map<string, readonly Change[]>();
  for (const [label, person] of people) {
    const changes = things.flatMap((what): Change[] => {
      const [was, is] = [outcomeOf(before, person, what), outcomeOf(after, person, what)];
      return was.outcome === is.outcome ? [] : [{ what, was: was.outcome, is: is.outcome, rule: is.rule, gains: order.indexOf(is.outcome) > order.indexOf(was.outcome) }];
    });
    if (changes.length > 0) found.set(label, changes);
  }
  return found;
}

/** A caller that a rule names, with `via: any` replaced by a made-up agent. */
function meantBy(person: Person): Person {
  if (typeof person === 'string' || person.via === undefined) return person;
  return { ...person, via: [person.via].flat().map((each) => (each === 'any' ? 'some agent' : each)) };
}

function thingsOf(sides: readonly Side[], names: readonly string[]): readonly string[] {
  const selectors = sides.flatMap(({ config }) => (config.access?.rules ?? []).flatMap((rule) => selectorsOf(rule)));
  const servers = new Set(sides.flatMap(({ config }) => [...enabledServers(config).keys()]));
  const things = new Set(names);
  const witnesses = new Set(['something']);
  for (const { text } of selectors) witnesses.add(text.replace(/^(tool|prompt|resource):/, '').replace(/^[^/]*\/?/, '').replaceAll(/\*+/g, 'x').replaceAll('?', 'x') || 'something');
  for (const kind of ['', 'prompt:', 'resource:']) for (const server of servers) for (const name of witnesses) if (things.size < maxThings) things.add(`${kind}${server}/${name}`);
  return [...things].toSorted();
}

/** The outcome without regard to arguments, time and network: `in part` stands for what is allowed under conditions only. */
function outcomeOf({ policy }: Side, person: Person, what: string): { readonly outcome: string; readonly rule: string | undefined } {
  const facts = personOf(person);
  const target = targetOf(what);
  const rights = policy.rightsOf(facts);
  const { effect, isVisible, rule, redaction } = rights.decide(target, { facts, kind: target.kind, method: '', server: target.server, name: target.name, args: undefined, now: 0, address: undefined });
  if (!isVisible) return { outcome: 'hidden', rule };
  if (effect === 'ask') return { outcome: effect, rule };
  const isConditional = policy.rules.some((each) => each.id === rule && each.condition !== undefined);
  if (isConditional || redaction === undefined) return { outcome: isConditional ? 'in part' : effect, rule };
  return { outcome: 'redacted', rule: redaction.rule };
}
