/** Generates access rules and requests for property tests. There are only a few names, so that rules often match requests. */
import { parseJson, type Facts, type JsonObject, type Principal } from '@omnibus/protocol';
import fc from 'fast-check';
import type { AccessSettings, RuleSettings } from '../settings.ts';
import type { Who } from '../who.ts';

export interface Question {
  readonly facts: Facts | undefined;
  readonly kind: 'tool' | 'prompt' | 'resource';
  readonly server: string;
  readonly name: string;
  readonly args: JsonObject | undefined;
  readonly annotations: JsonObject | undefined;
}

const issuer = 'i';
const servers = ['a', 'b', 'ab'];
const names = ['get', 'get_x', 'put', 'x/get'];

const whos: fc.Arbitrary<Who> = fc.constantFrom<Who>(
  'everyone',
  'group:g',
  'group:h',
  'user:i|ann',
  'tenant:t',
  'client:c',
  ['group:g', 'tenant:t'],
  { tenant: 't', group: 'g' },
  { group: 'g', client: 'c' },
  { via: 'any' },
  { group: 'g', via: 'i|bot' },
  { via: 'client:c' },
);
const selectors = fc.oneof(
  fc.constantFrom('*', ...servers),
  fc
    .tuple(
      fc.constantFrom('', 'prompt:', 'resource:'),
      fc.constantFrom('*', 'a*', ...servers),
      fc.constantFrom('*', 'get*', '*x', '?et', ...names),
    )
    .map(([mark, server, name]) => `${mark}${server}/${name}`),
);
const conditions: fc.Arbitrary<Pick<RuleSettings, 'args' | 'only'>> = fc.record(
  {
    args: fc.constantFrom<RuleSettings['args'][]>(
      { n: { max: 5 } },
      { n: { min: 3, optional: true } },
      { s: { in: ['x', true] } },
    ),
    only: fc.constantFrom('readOnly' as const, 'destructive' as const),
  },
  { requiredKeys: [] },
);

const rules: fc.Arbitrary<RuleSettings> = fc
  .tuple(
    whos,
    fc.option(fc.constantFrom<Who>('group:h', 'user:i|ann'), { nil: undefined, freq: 4 }),
    fc.constantFrom('allow', 'deny', 'ask'),
    fc.array(selectors, { minLength: 1, maxLength: 3 }),
    fc.oneof(fc.constant<Pick<RuleSettings, 'args' | 'only'>>({}), conditions, conditions),
  )
  .map(([who, except, effect, what, { args, only }]) => ({
    // In a rule about agents, the exception names an agent too.
    who,
    ...(except === undefined
      ? {}
      : { except: typeof who === 'object' && 'via' in who && except === 'group:h' ? { via: 'i|bot' } : except }),
    [effect]: what,
    ...(args === undefined ? {} : { args }),
    ...(only === undefined || what.some((each) => each.includes(':')) ? {} : { only }),
  }));

export const settings: fc.Arbitrary<AccessSettings> = fc.record({
  default: fc.constantFrom('allow', 'deny'),
  rules: fc.array(rules, { maxLength: 6 }),
});

export const questions: fc.Arbitrary<Question> = fc.record({
  facts: fc.option(
    fc.record({
      principal: fc.constant('p' as Principal),
      issuer: fc.constant(issuer),
      subject: fc.constantFrom('ann', 'bob'),
      tenant: fc.constantFrom(undefined, undefined, 't'),
      groups: fc.subarray(['g', 'h']),
      scopes: fc.constant([]),
      client: fc.constantFrom(undefined, 'c', 'd'),
      actors: fc.constantFrom(
        [],
        [],
        [{ issuer, subject: 'bot' }],
        [
          { issuer, subject: 'bot' },
          { issuer, subject: 'ann' },
        ],
      ),
      expiresAt: fc.constant(undefined),
      key: fc.constant(undefined),
    }),
    { nil: undefined, freq: 9 },
  ),
  kind: fc.constantFrom('tool', 'tool', 'tool', 'prompt', 'resource'),
  server: fc.constantFrom(...servers),
  name: fc.constantFrom(...names),
  args: fc.constantFrom<(JsonObject | undefined)[]>(
    undefined,
    {},
    { n: 4 },
    { n: 6 },
    { n: '4' },
    { s: 'x' },
    { s: true, n: 1 },
    { s: {} },
    { s: 1 },
    { s: false },
    parseJson('{"n":5.0,"s":1.0}') as JsonObject,
    parseJson('{"n":6.0}') as JsonObject,
  ),
  annotations: fc.constantFrom<(JsonObject | undefined)[]>(
    undefined,
    {},
    { readOnlyHint: true },
    { destructiveHint: false },
  ),
});
