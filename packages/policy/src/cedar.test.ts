/**
 * The compiled rules compared with Cedar: the same rules, translated, give the same decisions. Features that Cedar cannot express (hints, agents,
 * approvals) are left out.
 */
import { isAuthorized, type AuthorizationCall, type EntityJson } from '@cedar-policy/cedar-wasm/nodejs';
import { isRawNumber } from '@omnibus/protocol';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compile } from './policy.ts';
import type { ArgumentSettings, RuleSettings } from './settings.ts';
import { questions, settings, type Question } from './testing/worlds.ts';
import type { Who, WhoParts } from './who.ts';

const listOf = <Item>(value: Item | readonly Item[] | undefined): readonly Item[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as readonly Item[]) : [value as Item];
const text = (value: unknown): string => JSON.stringify(value);
const isTranslated = ({ who, except, only, ask }: RuleSettings): boolean =>
  only === undefined &&
  ask === undefined &&
  [...listOf(who as Who), ...listOf(except as Who)].every(
    (each) => typeof each === 'string' || !('via' in (each as WhoParts)),
  );

function whoOf(who: Who): string {
  return listOf(who as string | WhoParts)
    .map((each) => {
      if (each === 'everyone') return 'true';
      const parts: WhoParts =
        typeof each === 'string' ? { [each.split(':', 1)[0] as string]: each.slice(each.indexOf(':') + 1) } : each;
      const conditions = Object.entries(parts as Record<string, string>).map(([kind, value]) => {
        if (kind === 'user') return `principal.name == ${text(value)}`;
        if (kind === 'group')
          return `principal.groups.contains(${text(value)})${parts.tenant === undefined ? ' && !(principal has tenant)' : ''}`;
        return `(principal has ${kind} && principal.${kind} == ${text(value)})`;
      });
      return `(principal.isKnown && ${conditions.join(' && ')})`;
    })
    .join(' || ');
}

function whatOf({ allow, deny }: RuleSettings): string {
  return [...listOf(allow), ...listOf(deny)]
    .map((selector) => {
      const kind = selector.startsWith('prompt:') ? 'prompt' : selector.startsWith('resource:') ? 'resource' : 'tool';
      const what = selector.replace(/^(prompt|resource):/, '');
      if (what === '*') return 'true';
      // Cedar has no wildcard for one character, so "?" is replaced by each character that occurs in the tests.
      return what.includes('/')
        ? `(resource.kind == "${kind}" && (${(what.includes('?') ? ['g', 'p', 'x'].map((character) => what.replace('?', character)) : [what]).map((each) => `resource.key like ${text(each)}`).join(' || ')}))`
        : `resource.server == ${text(what)}`;
    })
    .join(' || ');
}

/** In a rule that denies, a condition that cannot be evaluated counts as fulfilled. */
function argsOf({ args, deny }: RuleSettings): string {
  const isDenying = deny !== undefined;
  return (
    Object.entries(args ?? {})
      .map(([name, { min, max, in: allowed, optional }]: [string, ArgumentSettings]) => {
        const missing = optional === true ? !isDenying : isDenying;
        const tests =
          allowed === undefined
            ? [
                ...(min === undefined ? [] : [`context.${name}.number >= ${min}`]),
                ...(max === undefined ? [] : [`context.${name}.number <= ${max}`]),
              ].join(' && ')
            : allowed.map((each) => `context.${name}.text == ${text(text(each))}`).join(' || ');
        const judged =
          allowed === undefined
            ? `context.${name} has number`
            : `${text(allowed.map((each) => typeof each))}.contains(context.${name}.type)`;
        return `(if context has ${name} then (if ${judged} then (${tests}) else ${isDenying}) else ${missing})`;
      })
      .join(' && ') || 'true'
  );
}

const policyOf = (rule: RuleSettings): string =>
  `${rule.deny === undefined ? 'permit' : 'forbid'} (principal, action, resource) when { (${whoOf(rule.who)}) && !(${rule.except === undefined ? 'false' : whoOf(rule.except)}) && (${whatOf(rule)}) && ${argsOf(rule)} };`;

function callOf(
  rules: readonly RuleSettings[],
  fallback: string,
  { facts, kind, server, name, args }: Question,
): AuthorizationCall {
  const [caller, thing] = [
    { type: 'Caller', id: 'c' },
    { type: 'Thing', id: 't' },
  ];
  const entities: EntityJson[] = [
    {
      uid: caller,
      parents: [],
      attrs: {
        isKnown: facts !== undefined,
        name: facts === undefined ? '' : `${facts.issuer}|${facts.subject}`,
        groups: [...(facts?.groups ?? [])],
        ...(facts?.tenant === undefined ? {} : { tenant: facts.tenant }),
        ...(facts?.client === undefined ? {} : { client: facts.client }),
      },
    },
    { uid: thing, parents: [], attrs: { kind, server, key: `${server}/${name}` } },
  ];
  const context = Object.fromEntries(
    Object.entries(args ?? {}).map(([key, written]) => {
      const value = isRawNumber(written) ? Number(written.rawJSON) : written;
      const type = typeof value;
      return [
        key,
        {
          type,
          ...(type === 'object' ? {} : { text: text(value) }),
          ...(typeof value === 'number' ? { number: value } : {}),
        },
      ];
    }),
  );
  const staticPolicies = Object.fromEntries([
    ...rules.map((rule, index) => [`r${index}`, policyOf(rule)] as const),
    ...(fallback === 'allow' ? [['default', 'permit (principal, action, resource);'] as const] : []),
  ]);
  return {
    principal: caller,
    action: { type: 'Action', id: 'call' },
    resource: thing,
    context,
    policies: { staticPolicies },
    entities,
  };
}

it('the compiled rules decide as Cedar does', async () => {
  let decided = 0;
  await fc.assert(
    fc.asyncProperty(
      settings,
      fc.array(questions, { minLength: 4, maxLength: 8 }),
      async ({ default: fallback, rules: all }, asked) => {
        const rules = all.filter(isTranslated);
        const compiled = await compile({ default: fallback, rules });
        if ('problems' in compiled) throw new Error(text(compiled.problems));
        for (const each of asked) {
          const question: Question = {
            ...each,
            facts: each.facts === undefined ? undefined : { ...each.facts, actors: [] },
          };
          const { facts, kind, server, name, args } = question;
          const { effect } = compiled.policy
            .rightsOf(facts)
            .decide(
              { kind, server, name },
              { facts, kind, server, name, args, method: '', now: 0, address: undefined },
            );
          const answer = isAuthorized(callOf(rules, fallback, question));
          if (answer.type === 'failure') throw new Error(text(answer.errors));
          expect(answer.response.diagnostics.errors).toEqual([]);
          expect(effect).toBe(answer.response.decision);
          decided += 1;
        }
      },
    ),
    { numRuns: 400 },
  );
  expect(decided).toBeGreaterThan(1_500);
}, 120_000);
