/** Rights that callers may ask for, for a time (`access.grants`): a group, or the name that rules have under `who` as `grant:NAME`. */
import { hash } from 'node:crypto';
import { canonical, type Facts } from '@omnibus/protocol';
import type { GrantSettings, RuleProblem, RuleSettings } from './settings.ts';
import { matchesWho, type Who, type WhoTest } from './who.ts';

/** A compiled definition. */
export interface GrantTerms {
  readonly id: string;
  /** The group that its holder counts as a member of, in rules. */
  readonly group: string | undefined;
  /** Callers that may ask for it, and that it counts for. */
  readonly isFor: WhoTest;
  /** Milliseconds. */
  readonly lastsMs: number;
  /** Permitted approvers; undefined if all with the role may approve. */
  readonly approvers: readonly string[] | undefined;
  readonly because: string | undefined;
  /** A digest: a changed definition ends what was given by the earlier one. */
  readonly version: string;
}

export function compileGrants(
  grants: readonly GrantSettings[],
  rules: readonly RuleSettings[],
): { readonly terms: readonly GrantTerms[]; readonly problems: readonly RuleProblem[] } {
  const problems: RuleProblem[] = [];
  const names = new Set<string>();
  const terms = grants.flatMap((settings, index): GrantTerms[] => {
    const { id, who, group, lasts, approvers, because } = settings;
    if (names.has(id))
      problems.push({
        path: ['grants', index, 'id'],
        message: `a grant before it is called ${JSON.stringify(id)} too`,
      });
    names.add(id);
    if (grantsIn(who).length > 0)
      problems.push({ path: ['grants', index, 'who'], message: 'a grant cannot be asked for by holders of a grant' });
    const isFor = attempt(
      () => matchesWho(who, false),
      (message) => problems.push({ path: ['grants', index, 'who'], message }),
    );
    return isFor === undefined
      ? []
      : [
          {
            id,
            group,
            isFor,
            lastsMs: lasts,
            approvers: approvers === undefined ? undefined : [approvers].flat(),
            because,
            version: hash('sha256', canonical(settings), 'base64url').slice(0, 16),
          },
        ];
  });
  for (const [index, { who, except }] of rules.entries())
    for (const [member, named] of [
      ['who', who],
      ['except', except ?? []],
    ] as const)
      for (const name of grantsIn(named as Who))
        if (!names.has(name))
          problems.push({
            path: ['rules', index, member],
            message: `there is no grant ${JSON.stringify(name)} under access.grants`,
          });
  return { terms, problems };
}

/** The facts of a caller that has some grants: with their names, and their groups. */
export function holding(facts: Facts, names: readonly string[], grants: readonly GrantTerms[]): Facts {
  const groups = grants.flatMap(({ id, group }) => (group !== undefined && names.includes(id) ? [group] : []));
  return { ...facts, grants: names, groups: [...new Set([...facts.groups, ...groups])] };
}

/** The names of grants in `who`. */
export function grantsIn(who: Who): readonly string[] {
  return ([who].flat() as readonly Exclude<Who, readonly unknown[]>[]).flatMap((each) =>
    typeof each === 'string'
      ? each.startsWith('grant:')
        ? [each.slice('grant:'.length)]
        : []
      : [each.grant ?? []].flat(),
  );
}

function attempt<Made>(make: () => Made, failed: (message: string) => void): Made | undefined {
  try {
    return make();
  } catch (error) {
    failed((error as Error).message);
    return undefined;
  }
}
