/** The callers that a comparison of rules tries: each caller that a rule names, without other facts, and each pair of these as one caller. */
import { hasTenants, enabledServers, type Config } from '@omnibus/config';
import { withIssuer } from '@omnibus/protocol';
import { partsOf, whoText, type Person, type PersonParts } from '@omnibus/admin/policy';

export interface Tried {
  readonly label: string;
  readonly person: Person;
  /** Labels of the combined callers; empty for one that a rule names. */
  readonly of: readonly string[];
}

/** Callers that are tried at most. */
const maxPeople = 500;

export function peopleOf(configs: readonly Config[]): readonly Tried[] {
  const rules = configs.flatMap(({ access }) => access?.rules ?? []);
  const named = (whos: readonly unknown[]): ReadonlyMap<string, Person> =>
    new Map(
      whos
        .flat()
        .filter((each) => each !== undefined && each !== 'everyone' && each !== 'known')
        .map((each) => [whoText(each as Person), meantBy(each as Person)]),
    );
  const tenants = configs
    .filter((config) => hasTenants(config))
    .flatMap((config) => [...enabledServers(config).values()].flatMap((server) => server.tenants ?? []))
    .map((tenant) => `tenant:${tenant}`);
  const singles = named([...rules.flatMap(({ who, except }) => [who, except]), ...tenants]);
  // Two at once make a difference if a rule denies, asks, redacts or exempts one of them.
  const narrowing = named(rules.flatMap(({ who, except, allow }) => [allow === undefined ? who : undefined, except]));
  const people = new Map<string, Tried>(
    [['a user that no rule names', 'user:somebody'], ['nobody', 'nobody'], ...singles].map(([label, person]) => [
      label as string,
      { label: label as string, person: person as Person, of: [] },
    ]),
  );
  for (const [one, first] of narrowing) {
    for (const [other, second] of singles) {
      const both = one === other ? undefined : together(first, second);
      const label = [one, other].toSorted().join(' and ');
      if (both !== undefined && !people.has(label)) people.set(label, { label, person: both, of: [one, other] });
      if (people.size >= maxPeople) return [...people.values()];
    }
  }
  return [...people.values()].slice(0, maxPeople);
}

/** A caller that a rule names, with `via: any` replaced by a made-up agent. */
function meantBy(person: Person): Person {
  if (typeof person === 'string' || person.via === undefined) return person;
  return { ...person, via: [person.via].flat().map((each) => (each === 'any' ? 'some agent' : each)) };
}

function issuersIn(parts: readonly PersonParts[]): ReadonlySet<string> {
  const named = parts
    .flatMap(({ user, group, scope, client }) => [user ?? [], group ?? [], scope ?? [], client ?? []].flat())
    .map((text) => withIssuer(text).issuer);
  return new Set(named.filter((issuer) => issuer !== undefined));
}

/** Whether parts name callers in more than one way: an API key, a user and an agent are three callers. */
function namesTwo(parts: readonly PersonParts[]): boolean {
  const ways = (['key', 'user', 'agent'] as const).filter((way) => parts.some((part) => part[way] !== undefined));
  return ways.length > 1;
}

/** @returns undefined if no caller can be both, such as a caller of two tenants. */
function together(one: Person, other: Person): Person | undefined {
  const [first, second] = [partsOf(one), partsOf(other)];
  const isOne = (part: 'user' | 'key' | 'tenant' | 'client' | 'agent'): boolean =>
    first[part] === undefined || second[part] === undefined || first[part] === second[part];
  if (
    !isOne('user') ||
    !isOne('key') ||
    !isOne('tenant') ||
    !isOne('client') ||
    !isOne('agent') ||
    issuersIn([first, second]).size > 1 ||
    namesTwo([first, second])
  )
    return undefined;
  const all = (part: 'group' | 'scope' | 'claim' | 'grant' | 'via'): PersonParts['group'] => {
    const texts = [first[part] ?? [], second[part] ?? []].flat();
    return texts.length === 0 ? undefined : texts;
  };
  return {
    ...first,
    ...Object.fromEntries(Object.entries(second).filter(([, value]) => value !== undefined)),
    group: all('group'),
    scope: all('scope'),
    claim: all('claim'),
    grant: all('grant'),
    via: all('via'),
  };
}
