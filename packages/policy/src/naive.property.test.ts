/** The compiled rules compared with a second, simple evaluator that shares no code with the first. */
import fc from 'fast-check';
import { isRawNumber } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { compile } from './policy.ts';
import type { AccessSettings, ArgumentSettings, RuleSettings } from './settings.ts';
import { questions, settings, type Question } from './testing/worlds.ts';
import type { Who, WhoParts } from './who.ts';

type Truth = boolean | 'unknown';

const and = (truths: readonly Truth[]): Truth =>
  truths.includes(false) ? false : truths.includes('unknown') ? 'unknown' : true;
const listOf = <Item>(value: Item | readonly Item[] | undefined): readonly Item[] =>
  value === undefined ? [] : Array.isArray(value) ? (value as readonly Item[]) : [value as Item];
const glob = (text: string): RegExp =>
  new RegExp(
    `^${text
      .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll(/\*+/g, '[^]*')
      .replaceAll('?', '[^]')}$`,
    'u',
  );

/** @param isAgainst whether a match counts against the caller; one agent of a chain is sufficient then. */
function isOne(who: Who, { facts }: Question, isAgainst: boolean): boolean {
  return listOf(who as string | WhoParts).some((each) => {
    if (each === 'everyone') return true;
    if (facts === undefined) return false;
    const parts: WhoParts =
      typeof each === 'string' ? { [each.split(':', 1)[0] as string]: each.slice(each.indexOf(':') + 1) } : each;
    return Object.entries(parts as Record<string, string>).every(([key, value]) => {
      switch (key) {
        case 'user':
          return `${facts.issuer}|${facts.subject}` === value;
        case 'group':
          return facts.groups.includes(value) && (facts.tenant === undefined || parts.tenant !== undefined);
        case 'tenant':
          return facts.tenant === value;
        case 'client':
          return facts.client === value;
        case 'via':
          if (isAgainst)
            return (
              value === `client:${facts.client ?? ''}` ||
              facts.actors.some(({ issuer, subject }) => value === 'any' || value === `${issuer}|${subject}`)
            );
          return facts.actors.length > 0
            ? facts.actors.every(({ issuer, subject }) => value === 'any' || value === `${issuer}|${subject}`)
            : value === `client:${facts.client ?? ''}`;
        default:
          throw new Error(key);
      }
    });
  });
}

function isAbout({ allow, deny, ask, only }: RuleSettings, { kind, server, name, annotations }: Question): Truth {
  const isCovered = [...listOf(allow), ...listOf(deny), ...listOf(ask)].some((text) => {
    const of = text.startsWith('prompt:') ? 'prompt' : text.startsWith('resource:') ? 'resource' : 'tool';
    const what = text.replace(/^(prompt|resource):/, '');
    return (
      what === '*' || what === server || (of === kind && what.includes('/') && glob(what).test(`${server}/${name}`))
    );
  });
  if (!isCovered || only === undefined) return isCovered;
  if (kind !== 'tool') return false;
  if (annotations === undefined) return 'unknown';
  return only === 'readOnly'
    ? annotations['readOnlyHint'] === true
    : annotations['readOnlyHint'] !== true && annotations['destructiveHint'] !== false;
}

/** @param isAgainst whether a condition that cannot be evaluated counts against the caller. */
function fits({ args }: RuleSettings, question: Question, isAgainst: boolean): Truth {
  return and(
    Object.entries(args ?? {}).map(([name, { min, max, in: allowed, optional }]: [string, ArgumentSettings]): Truth => {
      const value = question.args?.[name];
      if (value === undefined) return optional === true ? !isAgainst : 'unknown';
      const read = isRawNumber(value) ? Number(value.rawJSON) : value;
      if (allowed !== undefined)
        return allowed.some((each) => typeof each === typeof read) ? allowed.includes(read as string) : 'unknown';
      return typeof read === 'number' ? read >= (min ?? -Infinity) && read <= (max ?? Infinity) : 'unknown';
    }),
  );
}

/** The decision by the rules about users, or by those about agents. */
function half(
  rules: readonly RuleSettings[],
  fallback: string,
  question: Question,
): 'allow' | 'ask' | 'deny' | 'hidden' {
  const mine = (isAgainst: boolean): RuleSettings[] =>
    rules.filter(
      ({ who, except }) =>
        isOne(who, question, isAgainst) && (except === undefined || !isOne(except, question, !isAgainst)),
    );
  const denies = mine(true).filter((rule) => rule.deny !== undefined && isAbout(rule, question) !== false);
  const asks = mine(true).filter(
    (rule) => rule.ask !== undefined && isAbout(rule, question) !== false && fits(rule, question, false) !== false,
  );
  const allows = mine(false).filter((rule) => rule.deny === undefined && isAbout(rule, question) === true);
  if (denies.some(({ args }) => args === undefined) || (allows.length === 0 && fallback === 'deny')) return 'hidden';
  if (denies.some((rule) => fits(rule, question, true) !== false)) return 'deny';
  if (fallback !== 'allow' && !allows.some((rule) => fits(rule, question, false) === true)) return 'deny';
  return asks.length > 0 ? 'ask' : 'allow';
}

function expected({ default: fallback, rules }: AccessSettings, question: Question): string {
  const isForAgents = ({ who }: RuleSettings): boolean => typeof who === 'object' && 'via' in who;
  const agents = rules.flatMap(({ who }) => (typeof who === 'object' && 'via' in who ? [who.via] : []));
  const { facts } = question;
  const isAgent =
    facts !== undefined &&
    (facts.actors.length > 0 || (facts.client !== undefined && agents.includes(`client:${facts.client}`)));
  const answers = [
    half(
      rules.filter((rule) => !isForAgents(rule)),
      fallback,
      question,
    ),
    ...(isAgent ? [half(rules.filter(isForAgents), fallback, question)] : []),
  ];
  return answers.includes('hidden')
    ? 'hidden'
    : answers.includes('deny')
      ? 'deny'
      : answers.includes('ask')
        ? 'ask'
        : 'allow';
}

it('the compiled rules decide as the second evaluator does', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(settings, fc.array(questions, { minLength: 1, maxLength: 20 }), async (given, asked) => {
      const compiled = await compile(given);
      if ('problems' in compiled) throw new Error(JSON.stringify(compiled.problems));
      for (const question of asked) {
        const { facts, kind, server, name, args, annotations } = question;
        const target = { kind, server, name, annotations };
        const { effect, isVisible } = compiled.policy
          .rightsOf(facts)
          .decide(target, { facts, kind, server, name, args, method: 'tools/call', now: 0, address: undefined });
        const decided = isVisible ? effect : 'hidden';
        seen.add(decided);
        expect(decided).toBe(expected(given, question));
        expect(compiled.policy.rightsOf(facts).sees(target)).toBe(isVisible);
      }
    }),
    { numRuns: 1_500 },
  );
  expect([...seen].toSorted()).toEqual(['allow', 'ask', 'deny', 'hidden']);
});
