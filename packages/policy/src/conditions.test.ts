/** Conditions on arguments, and in CEL. */
import { parseJson, type JsonObject } from '@omnibus/protocol';
import { describe, expect, it } from 'vitest';
import { compile } from './policy.ts';
import { decide, decisionOf, policyOf } from './testing/deciding.ts';

describe('numbers and truth values are compared by value, and another type counts against the caller', () => {
  const written = (text: string): JsonObject => parseJson(`{"mode":${text}}`) as JsonObject;
  const ofNine = ['9', '9.0', '9e0', '90e-1', '9.000', '"9"', '9.0000000000000000001', 'null', '[9]', '{}'];
  const ofOthers = ['8', '8.0', '8.5', '-9.0', '1e400'];

  it.each([
    ['deny', { args: { mode: { in: [9] } } }],
    ['deny', { args: { mode: { min: 9, max: 9 } } }],
    ['deny', { when: 'args.mode == 9' }],
    ['deny', { when: 'has(args.mode) && args.mode == 9' }],
    ['deny', { when: 'args.mode in [9]' }],
    ['deny', { when: '!(args.mode != 9)' }],
    ['allow', { when: 'args.mode != 9' }],
    ['allow', { when: '!(args.mode in [9])' }],
    ['allow', { when: 'args.mode < 9 || args.mode > 9' }],
  ] as const)('%s with %j', async (effect, condition) => {
    const policy = await policyOf(
      [{ id: 'r', who: 'everyone', [effect]: 'a/b', ...condition }],
      effect === 'deny' ? 'allow' : 'deny',
    );
    expect(ofNine.map((text) => [text, decide(policy, 'a/b', { args: written(text) }).split(' ')[0]])).toEqual(
      ofNine.map((text) => [text, 'deny']),
    );
    expect(ofOthers.map((text) => [text, decide(policy, 'a/b', { args: written(text) }).split(' ')[0]])).toEqual(
      ofOthers.map((text) => [text, 'allow']),
    );
  });

  it.each([
    ['deny', { args: { mode: { in: [true, 1] } } }, ['true', '1', '1.0', '"true"', 'null'], ['false', '0.0', '2']],
    ['ask', { args: { mode: { in: [true, 1] } } }, ['true', '1', '1.0', '"true"'], ['false', '0.0', '2']],
    ['deny', { args: { mode: { in: [true] } } }, ['true', '"true"', '"yes"', '1', '1.0'], ['false']],
    ['deny', { when: 'args.mode == true' }, ['true', '"true"', '"yes"', '1', '1.0'], ['false']],
    ['deny', { args: { mode: { in: ['x'] } } }, ['"x"', '5', '5.0', 'true'], ['"y"']],
    ['deny', { when: 'args.mode in ["x"]' }, ['"x"', '5', '5.0', 'true'], ['"y"']],
    ['deny', { args: { mode: { min: 1000 } } }, ['1000', '1e3', '1000.0', '1e400', '"1000"'], ['20', '20.0', '2e1']],
    ['deny', { when: 'args.mode >= 1000' }, ['1000', '1e3', '1000.0', '1e400', '"1000"'], ['20', '20.0', '2e1']],
    [
      'deny',
      { when: 'args.mode == 9007199254740993' },
      ['9007199254740993', '"9007199254740993"'],
      ['9007199254740992', '9007199254740994', '9007199254740995'],
    ],
    ['deny', { args: { mode: { in: [9_007_199_254_740_992] } } }, ['9007199254740992', '9007199254740993'], ['1e30']],
    ['deny', { when: 'args.mode == null' }, ['null'], ['5', '5.0', '"x"']],
    ['deny', { args: { mode: { in: [9, 'a'] } } }, ['9', '"9"', '" 9.0 "', '"a"', '[9]'], ['"b"', '8', '"8"', '"1x"']],
    ['deny', { args: { mode: { in: [true, 'a', 0] } } }, ['1', '"yes"', '"0"', 'false'], ['"b"', '2', '"2"']],
    ['deny', { when: 'args.mode in [9, "a"]' }, ['9', '"9"', '"a"', '[9]'], ['"b"', '8', '"8"']],
    ['deny', { when: 'args.mode == [9]' }, ['[9]', '["9"]', '[9.0]', '[null]', '9'], ['[8]', '[9, 9]', '[]']],
    ['deny', { when: '!(args.mode != [9, "a"])' }, ['[9, "a"]', '["9", "a"]'], ['["9", "b"]', '[8, 5]']],
    ['deny', { when: 'args.mode in [[9], [1]]' }, ['[9]', '["9"]', '["1"]', '9'], ['[8]', '[9, 9]']],
    [
      'deny',
      { when: 'args.mode == {"a": [9]}' },
      ['{"a":[9]}', '{"a":["9"]}', '{"a":9}'],
      ['{"a":[8]}', '{"b":["9"]}'],
    ],
  ] as const)('%s with %j stops %j and passes %j', async (effect, condition, stopped, passed) => {
    const policy = await policyOf([{ id: 'r', who: 'everyone', [effect]: 'a/b', ...condition }], 'allow');
    const decided = (texts: readonly string[]): string[] =>
      texts.map((text) => decide(policy, 'a/b', { args: written(text) }));
    expect(decided(stopped)).toEqual(stopped.map(() => `${effect} r`));
    expect(decided(passed).filter((each) => each.startsWith(effect))).toEqual([]);
  });

  it('a regular expression matches the whole text; a text that is too long counts against the caller, without costing time', async () => {
    const matches = ['[A-Z]{3}-[0-9]+', '(a|aa)+'];
    const allows = await policyOf([{ id: 'r', who: 'everyone', allow: 'a/b', args: { mode: { matches } } }]);
    const denies = await policyOf([{ id: 'r', who: 'everyone', deny: 'a/b', args: { mode: { matches } } }], 'allow');
    const outcomes = (mode: unknown): string[] =>
      [allows, denies].map((policy) => decide(policy, 'a/b', { args: { mode } as JsonObject }));
    for (const mode of ['ABC-1', 'aaaa', 'a'.repeat(4_096)]) expect(outcomes(mode)).toEqual(['allow r', 'deny r']);
    for (const mode of ['xABC-1', 'ABC-1\n', 'abc-1', '', `${'a'.repeat(4_000)}b`])
      expect(outcomes(mode)).toEqual(['deny r', 'allow']);
    // Not judged: another type, and more characters than are compared.
    for (const mode of [7, ['ABC-1'], null, 'a'.repeat(4_097)]) expect(outcomes(mode)).toEqual(['deny r', 'deny r']);
  });

  it('a glob for addresses is compared with one address, and a text with several counts against the caller', async () => {
    const allows = await policyOf([
      { id: 'r', who: 'everyone', allow: 'a/b', args: { mode: { pattern: '*@acme.example' } } },
    ]);
    const denies = await policyOf(
      [{ id: 'r', who: 'everyone', deny: 'a/b', args: { mode: { pattern: '*@evil.example' } } }],
      'allow',
    );
    const several = [
      'evil@x, a@acme.example',
      'evil@x;a@acme.example',
      'evil@x\na@acme.example',
      '<evil@x> a@acme.example',
      '"evil@x"@acme.example',
      'a@evil.example, b@acme.example',
    ];
    for (const mode of several)
      expect([mode, decide(allows, 'a/b', { args: { mode } }), decide(denies, 'a/b', { args: { mode } })]).toEqual([
        mode,
        'deny r',
        'deny r',
      ]);
    expect(
      [allows, denies].map((policy) => decide(policy, 'a/b', { args: { mode: 'ann.lee+x@acme.example' } })),
    ).toEqual(['allow r', 'allow']);
    const others = await policyOf([
      { id: 'r', who: 'everyone', allow: 'a/b', args: { mode: { pattern: ['git@github.com:*', 'note *'] } } },
    ]);
    for (const mode of ['git@github.com:acme/x@v1', 'note for a@b, c@d'])
      expect(decide(others, 'a/b', { args: { mode } })).toBe('allow r');
  });

  it('at any depth, in a list, and after a guardrail has made the arguments again', async () => {
    const policy = await policyOf(
      [{ id: 'r', who: 'everyone', deny: 'a/b', when: 'args.f.modes.exists(x, x == 9) || 9 in args.f.more' }],
      'allow',
    );
    const given = parseJson('{"f":{"modes":[8.0,9.0],"more":[1.5]}}') as { f: { modes: unknown[]; more: unknown[] } };
    expect(decide(policy, 'a/b', { args: given })).toBe('deny r');
    expect(decide(policy, 'a/b', { args: { f: { ...given.f, more: [...given.f.more] } } })).toBe('deny r');
    expect(decide(policy, 'a/b', { args: parseJson('{"f":{"modes":[8.0],"more":[8.0]}}') as JsonObject })).toBe(
      'allow',
    );
  });
});

describe('conditions in CEL', () => {
  it('see arguments and caller, and count against the caller where they cannot be judged', async () => {
    const policy = await policyOf([
      {
        id: 'acme',
        who: 'everyone',
        allow: 'github/get',
        when: 'args.repo.startsWith("acme/") && "eng" in caller.groups && server == "github"',
      },
    ]);
    expect(
      [{ repo: 'acme/x' }, { repo: 'other/x' }, { repo: 5 }, {}].map((args) => decide(policy, 'github/get', { args })),
    ).toEqual(['allow acme', 'deny acme', 'deny acme', 'deny acme']);
    const deny = await policyOf([{ id: 'big', who: 'everyone', deny: 'a/b', when: 'args.count > 10' }], 'allow');
    expect([{ count: 11 }, { count: 10 }, { count: 'x' }, {}].map((args) => decide(deny, 'a/b', { args }))).toEqual([
      'deny big',
      'allow',
      'deny big',
      'deny big',
    ]);
  });

  const texts = (count: number, length = 1): string[] => Array.from({ length: count }, () => 'a'.repeat(length));
  it.each<readonly [string, JsonObject, JsonObject]>([
    [
      '!args.to.all(x, !(x in args.blocked))',
      { to: texts(2_000), blocked: texts(2_000, 2) },
      { to: ['x'], blocked: ['y'] },
    ],
    ['!args.a.all(x, !args.t.contains(x))', { a: texts(1_000, 300), t: 'b'.repeat(400_000) }, { a: ['x'], t: 'y' }],
    ['size(args.a.map(x, args.a + args.b)) == 0', { a: texts(2_000), b: texts(2_000) }, { a: ['x'], b: ['y'] }],
    ['args.t.contains(args.u)', { t: 'a'.repeat(100_000), u: `b${'a'.repeat(50_000)}` }, { t: 'x', u: 'y' }],
    ['args.a.join(args.t) == ""', { a: texts(10_000), t: 'b'.repeat(10_000) }, { a: ['x'], t: 'y' }],
    ['size(args.t.split("")) == 0', { t: 'a'.repeat(1_000_000) }, { t: 'x' }],
    ['args.a.exists(x, args.f == [x])', { a: texts(1_000), f: texts(1_000) }, { a: ['x'], f: ['y'] }],
    ['cel.bind(v, args.a + args.a, args.a.exists(x, x + "b" in v))', { a: texts(1_000) }, { a: ['x'] }],
    [
      'args.a.exists(x, timestamp("2026-01-01T00:00:00Z").getHours("Asia/Tokyo") == 1)',
      { a: texts(1_000) },
      { a: ['x'] },
    ],
    ['duration(args.t) > duration("1s")', { t: '1'.repeat(1_000) }, { t: '1s' }],
    ['true || args.t.contains(args.u)', { t: 'a'.repeat(100_000), u: 'a'.repeat(50_000) }, {}],
  ])('the work of %s is bounded, and needing more counts against the caller', async (when, large, small) => {
    const denies = await policyOf([{ id: 'no', who: 'everyone', deny: 'a/b', when }], 'allow');
    const isConstant = when.startsWith('true');
    expect(decide(denies, 'a/b', { args: small })).toBe(isConstant ? 'deny no' : 'allow');
    expect(decide(denies, 'a/b', { args: large })).toBe('deny no');
    expect(decisionOf(denies, 'a/b', { args: large }).because).toEqual(
      isConstant ? undefined : expect.stringContaining('needs more than 250000 steps'),
    );
    const allows = await policyOf([{ id: 'yes', who: 'everyone', allow: 'a/b', when: `!(${when})` }]);
    expect(decide(allows, 'a/b', { args: large })).toBe('deny yes');
  });

  it('ordinary conditions on large arguments stay within their work', async () => {
    const policy = await policyOf(
      [
        { id: 'to', who: 'everyone', deny: 'a/b', when: '!args.to.all(x, x.endsWith("@acme.example"))' },
        { id: 'drop', who: 'everyone', deny: 'a/b', when: 'args.query.contains("DROP TABLE")' },
      ],
      'allow',
    );
    const args = { to: Array.from({ length: 10_000 }, (_, at) => `u${at}@acme.example`), query: 'x'.repeat(500_000) };
    expect(decide(policy, 'a/b', { args })).toBe('allow');
  });

  it.each([
    ['args.a.matches("^(a+)+$")', /matches. is not taken/],
    ['matches(args.a, "x")', /matches. is not taken/],
    ['args.list.exists(x, args.list.exists(y, y == x))', /inside another one/],
    ['nobody == 1', /nobody/],
    ['args.a +', /./],
    ['"text"', /true or false/],
    [Array.from({ length: 300 }, () => 'true').join(' && '), /./],
  ])('%s is refused', async (when, expected) => {
    expect(await compile({ default: 'deny', rules: [{ who: 'everyone', allow: '*', when }] })).toEqual({
      problems: [{ path: ['rules', 0, 'when'], message: expect.stringMatching(expected) as string }],
    });
  });
});
