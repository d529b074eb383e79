/** Warnings about rules and guardrails that are valid, and probably mistaken: mistakes of people that know other notations. */
import { patternNames, selectorsOf, type RuleSettings } from '@omnibus/policy';

/** The common part of a rule and a guardrail. */
type Written = Pick<
  RuleSettings,
  'who' | 'except' | 'allow' | 'deny' | 'ask' | 'redact' | 'guard' | 'args' | 'only' | 'patterns'
>;

/** @param name of the rule or guardrail, as the warnings say it. */
export function ruleWarnings(name: string, rule: Written): readonly string[] {
  return [...whoWarnings(rule), ...argumentWarnings(rule), ...hintWarnings(rule), ...patternWarnings(rule)].map(
    (warning) => `${name} ${warning}`,
  );
}

function whoWarnings({ who, except }: Written): readonly string[] {
  const named = [who, except ?? []].flat().flatMap((each): readonly (readonly [part: string, text: string])[] => {
    if (typeof each !== 'string')
      return Object.entries(each as object).flatMap(([part, texts]: [string, string | readonly string[] | undefined]) =>
        [texts ?? []].flat().map((text) => [part, text] as const),
      );
    const at = each.indexOf(':');
    return at < 0 ? [] : [[each.slice(0, at), each.slice(at + 1)]];
  });
  const excepted = [except ?? []].flat();
  return [
    ...named
      .filter(([part, text]) => text.includes('*') && part !== 'group' && part !== 'claim')
      .map(
        ([part, text]) =>
          `names the ${part} ${JSON.stringify(text)} exactly: "*" stands for nothing else among callers`,
      ),
    ...named
      .filter(([part, text]) => text.startsWith(`${part}:`))
      .map(
        ([part, text]) =>
          `names the ${part} ${JSON.stringify(text)}; write ${JSON.stringify(text.slice(part.length + 1))} if that is its name`,
      ),
    ...(excepted.includes('everyone') ? ['can never match: it excepts everyone'] : []),
  ];
}

/** Parts of regular expressions without meaning in globs. */
const regularExpression = /^\^|\$$|\\[dwsDWSb]|\.\+|\(\?/;

function argumentWarnings({ args, allow, ...rule }: Written): readonly string[] {
  if (args === undefined) return [];
  const selectors = selectorsOf({ allow, ...rule });
  const isOfResources = selectors.length > 0 && selectors.every(({ kind }) => kind === 'resource');
  return [
    ...(isOfResources
      ? [
          `has conditions on arguments, and reads of resources have none: it ${allow === undefined ? 'applies to all of them' : 'allows none of them'}`,
        ]
      : []),
    ...Object.keys(args)
      .filter((key) => !key.startsWith('/') && /^\$|\.|\[\d*\]/.test(key))
      .map(
        (key) =>
          `is about an argument called ${JSON.stringify(key)}; a value in an argument is named by a pointer such as ${JSON.stringify(pointerOf(key))}`,
      ),
    ...Object.entries(args).flatMap(([key, { pattern }]) =>
      [pattern ?? []]
        .flat()
        .filter((glob) => regularExpression.test(glob))
        .map(
          (glob) =>
            `compares ${key} with the glob ${JSON.stringify(glob)}, which looks like a regular expression: in a glob "*" is any text, and a whole value has to match; a regular expression is \`matches\``,
        ),
    ),
  ];
}

/** `$.filter.limit`, `items[0].price` as pointers. */
function pointerOf(key: string): string {
  return `/${key
    .replace(/^\$\.?/, '')
    .split(/[.[\]]+/)
    .filter((step) => step !== '')
    .join('/')}`;
}

const opposites = [
  ['openWorld', 'closedWorld'],
  ['destructive', 'nonDestructive'],
  ['readOnly', 'destructive'],
] as const;

function hintWarnings({ only }: Written): readonly string[] {
  const hints: readonly string[] = [only ?? []].flat();
  return opposites
    .filter((pair) => pair.every((hint) => hints.includes(hint)))
    .map((pair) => `can never match: no tool is both ${pair.join(' and ')}`);
}

function patternWarnings({ patterns }: Written): readonly string[] {
  return [patterns ?? []]
    .flat()
    .filter((pattern) => /^[A-Za-z]+$/.test(pattern) && !patternNames.includes(pattern))
    .map(
      (pattern) =>
        `searches for the text ${JSON.stringify(pattern)}; the patterns with a name are ${patternNames.join(', ')}`,
    );
}
