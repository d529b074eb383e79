import type { Facts, JsonObject } from '@omnibus/protocol';
import { describe, expect, it } from 'vitest';
import { compile } from './policy.ts';
import type { RuleSettings } from './settings.ts';
import { agent, ann, decide, policyOf, targetOf, type Asked } from './testing/deciding.ts';

it('deny goes over allow, and allow over the default, whatever stands first', async () => {
  const rules: RuleSettings[] = [
    { id: 'eng', who: 'group:eng', allow: 'github/*' },
    { id: 'no', who: 'everyone', deny: ['*/delete_*'], because: 'ask an admin' },
  ];
  for (const order of [rules, rules.toReversed()]) {
    const policy = await policyOf(order);
    expect(['github/get', 'github/delete_repo', 'slack/post'].map((what) => decide(policy, what))).toEqual([
      'allow eng',
      'hidden no',
      'hidden',
    ]);
  }
  const open = await policyOf(rules, 'allow');
  expect(['github/get', 'github/delete_repo', 'slack/post'].map((what) => decide(open, what))).toEqual([
    'allow eng',
    'hidden no',
    'allow',
  ]);
});

it('whom a rule excepts it is not about', async () => {
  const policy = await policyOf([{ who: 'everyone', except: 'group:eng', deny: '*' }], 'allow');
  expect([
    decide(policy, 'a/b'),
    decide(policy, 'a/b', { facts: { ...ann, groups: [] } }),
    policy.rightsOf(undefined).sees(targetOf('a/b')),
  ]).toEqual(['allow', 'hidden #1', false]);
});

it('tools, prompts and resources are told apart; the name of a server is all of it', async () => {
  const policy = await policyOf([
    { who: 'everyone', allow: ['a/*', 'prompt:b/*', 'resource:c/file:///public/*', 'd'] },
  ]);
  const all = [
    'a/x',
    'prompt:a/x',
    'b/x',
    'prompt:b/x',
    'resource:c/file:///public/x',
    'resource:c/file:///secret',
    'd/x',
    'prompt:d/x',
    'resource:d/u:x',
    'server:d/anything',
    'server:a/anything',
  ];
  expect(all.filter((what) => decide(policy, what).startsWith('allow'))).toEqual([
    'a/x',
    'prompt:b/x',
    'resource:c/file:///public/x',
    'd/x',
    'prompt:d/x',
    'resource:d/u:x',
    'server:d/anything',
  ]);
  const denied = await policyOf([{ who: 'everyone', deny: 'd/delete_*' }], 'allow');
  // The effect of an unknown method is unknown.
  expect([
    decide(denied, 'server:d/anything'),
    decide(denied, 'server:a/anything'),
    denied.rightsOf(ann).mayEverythingOf('d'),
    denied.rightsOf(ann).seesServer('d'),
  ]).toEqual(['hidden #1', 'allow', false, true]);
});

it('of a server nothing is visible where no name of it can be meant, whatever globs stand in front of the slash', async () => {
  const seen = async (allow: string): Promise<readonly string[]> => {
    const rights = (await policyOf([{ who: 'everyone', allow }])).rightsOf(ann);
    return ['a', 'b', 'ab', 'secret', 'x'].filter((server) => rights.seesServer(server));
  };
  expect(
    await Promise.all(
      [
        '{a,b}/*',
        '[ab]/x',
        '?/y',
        'a*/x',
        '*/x',
        'a*',
        'resource:{a,secret}/*',
        '{a/x,b/y}',
        '*b/x',
        '[!a]/x',
        'prompt:a?/x',
      ].map((allow) => seen(allow).catch(() => ['is none'])),
    ),
  ).toEqual([
    ['a', 'b'],
    ['a', 'b'],
    ['a', 'b', 'x'],
    ['a', 'ab'],
    ['a', 'b', 'ab', 'secret', 'x'],
    ['is none'],
    ['a', 'secret'],
    ['a', 'b'],
    ['a', 'b', 'ab', 'secret', 'x'],
    ['b', 'x'],
    ['a', 'ab'], // "?" is any character, a slash among them.
  ]);
});

it('names are compared as they are: no case, form or look is taken for another', async () => {
  const policy = await policyOf([{ who: 'everyone', deny: ['files/delete', 'files/é'] }], 'allow');
  expect(
    [
      'files/delete',
      'files/Delete',
      'files/delete ',
      'Files/delete',
      'files/delete\u200b',
      'files/е',
      'files/e\u0301',
      'files/é',
    ].map((what) => decide(policy, what)),
  ).toEqual(['hidden #1', 'allow', 'allow', 'allow', 'allow', 'allow', 'allow', 'hidden #1']);
});

describe('arguments', () => {
  const refund: RuleSettings = {
    id: 'refund',
    who: 'everyone',
    allow: 'stripe/refund',
    args: {
      amount: { min: 1, max: 100 },
      currency: { in: ['EUR', 'USD'] },
      note: { maxLength: 5, optional: true },
      '/to/account': { pattern: ['acct_*', 'cus_*'], optional: true },
    },
  };

  it.each<[JsonObject | undefined, string]>([
    [{ amount: 100, currency: 'EUR' }, 'allow'],
    [{ amount: 101, currency: 'EUR' }, 'deny'],
    [{ amount: 0, currency: 'EUR' }, 'deny'],
    [{ amount: '50', currency: 'EUR' }, 'deny'],
    [{ amount: 50, currency: 'eur' }, 'deny'],
    [{ amount: 50, currency: ['EUR'] }, 'deny'],
    [{ amount: 50 }, 'deny'],
    [{ amount: 50, currency: 'EUR', note: '12345' }, 'allow'],
    [{ amount: 50, currency: 'EUR', note: '123456' }, 'deny'],
    [{ amount: 50, currency: 'EUR', note: 7 }, 'deny'],
    [{ amount: 50, currency: 'EUR', to: { account: 'cus_1' } }, 'allow'],
    [{ amount: 50, currency: 'EUR', to: { account: 'x' } }, 'deny'],
    [{ amount: Number.NaN, currency: 'EUR' }, 'deny'],
    [undefined, 'deny'],
    [JSON.parse('{"__proto__":{"amount":50,"currency":"EUR"}}') as JsonObject, 'deny'],
    [Object.create({ amount: 50, currency: 'EUR' }) as JsonObject, 'deny'],
  ])('%j are of a call that is answered %s', async (args, expected) => {
    expect(decide(await policyOf([refund]), 'stripe/refund', { ...(args === undefined ? {} : { args }) })).toBe(
      `${expected} refund`,
    );
  });

  it('of a rule that denies: what cannot be judged is denied, unless it may be left out', async () => {
    const strict = await policyOf([{ who: 'everyone', deny: 'shell/run', args: { force: { in: [true] } } }], 'allow');
    expect(
      [{ force: true }, { force: false }, { force: {} }, {}].map((args) => decide(strict, 'shell/run', { args })),
    ).toEqual(['deny #1', 'allow', 'deny #1', 'deny #1']);
    const lenient = await policyOf(
      [{ who: 'everyone', deny: 'shell/run', args: { force: { in: [true], optional: true } } }],
      'allow',
    );
    expect(
      [{ force: true }, { force: false }, { force: {} }, {}].map((args) => decide(lenient, 'shell/run', { args })),
    ).toEqual(['deny #1', 'allow', 'deny #1', 'allow']);
  });

  it('a pointer leads into lists; what it cannot follow is of another type, and not left out', async () => {
    const policy = await policyOf(
      [{ who: 'everyone', deny: 'shop/buy', args: { '/items/0/price': { min: 100, optional: true } } }],
      'allow',
    );
    const decided = (args: JsonObject): string => decide(policy, 'shop/buy', { args });
    expect(
      [{ items: [{ price: 500 }] }, { items: [{ price: 5 }] }, { items: [] }, { items: [{}] }, {}].map(decided),
    ).toEqual(['deny #1', 'allow', 'allow', 'allow', 'allow']);
    expect(
      [{ items: '[{"price":500}]' }, { items: [500] }, { items: null }, { items: [null] }, { items: 1 }].map(decided),
    ).toEqual(Array.from({ length: 5 }, () => 'deny #1'));
    const named = await policyOf(
      [{ who: 'everyone', deny: 'shop/buy', args: { '/items/first/price': { min: 100, optional: true } } }],
      'allow',
    );
    expect(decide(named, 'shop/buy', { args: { items: [{ price: 500 }] } })).toBe('deny #1');
  });
});

it.each([
  ['2026-11-23T07:30:00Z', 'allow'], // Monday, 08:30 in Berlin.
  ['2026-11-23T06:59:00Z', 'deny'],
  ['2026-11-23T17:00:00Z', 'deny'],
  ['2026-11-22T10:00:00Z', 'deny'], // Sunday.
  ['2026-07-03T06:30:00Z', 'allow'], // Summer time.
])('at %s a rule for working hours in Berlin makes it %s, and the tool stays in sight', async (now, expected) => {
  const policy = await policyOf([
    {
      id: 'hours',
      who: 'everyone',
      allow: 'k8s/restart',
      time: { days: 'mon-fri', hours: '08:00-18:00', zone: 'Europe/Berlin' },
    },
  ]);
  expect(decide(policy, 'k8s/restart', { now })).toBe(`${expected} hours`);
});

it('hours may go over midnight, and days over the end of the week', async () => {
  const policy = await policyOf([
    { id: 'night', who: 'everyone', allow: 'a/b', time: { days: ['sat-mon'], hours: '22:00-06:00' } },
  ]);
  expect(
    ['2026-11-22T23:00:00Z', '2026-11-23T05:59:00Z', '2026-11-23T06:00:00Z', '2026-11-24T23:00:00Z'].map((now) =>
      decide(policy, 'a/b', { now }),
    ),
  ).toEqual(['allow night', 'allow night', 'deny night', 'deny night']);
});

it('networks of the client; an address that nobody knows counts against it', async () => {
  const allow = await policyOf([
    { id: 'office', who: 'everyone', allow: 'a/b', network: ['10.0.0.0/8', '2001:db8::/32'] },
  ]);
  const asked: readonly Asked[] = [
    { address: '10.1.2.3' },
    { address: '192.0.2.1' },
    { address: '2001:db8::1' },
    { address: 'unknown' },
    {},
  ];
  expect(asked.map((each) => decide(allow, 'a/b', each))).toEqual([
    'allow office',
    'deny office',
    'allow office',
    'deny office',
    'deny office',
  ]);
  const deny = await policyOf([{ id: 'guests', who: 'everyone', deny: 'a/b', network: '192.0.2.0/24' }], 'allow');
  expect(asked.map((each) => decide(deny, 'a/b', each))).toEqual([
    'allow',
    'deny guests',
    'allow',
    'deny guests',
    'deny guests',
  ]);
});

it('what a tool says of itself counts where somebody vouches for it, and else against the caller', async () => {
  const reading = await policyOf([{ id: 'read', who: 'everyone', allow: '*/*', only: 'readOnly' }]);
  expect(
    [{ readOnlyHint: true }, { readOnlyHint: false }, {}, null, undefined].map((annotations) =>
      decide(reading, 'a/b', { annotations }),
    ),
  ).toEqual(['allow read', 'hidden', 'hidden', 'hidden', 'hidden']);
  const careful = await policyOf([{ id: 'care', who: 'everyone', deny: '*/*', only: 'destructive' }], 'allow');
  expect(
    [{ readOnlyHint: true }, { destructiveHint: false }, {}, undefined].map((annotations) =>
      decide(careful, 'a/b', { annotations }),
    ),
  ).toEqual(['allow', 'allow', 'hidden care', 'hidden care']);
  expect(decide(careful, 'prompt:a/b')).toBe('allow');
});

describe('agents', () => {
  it('may what both their user may and rules about agents say', async () => {
    const policy = await policyOf([
      { id: 'eng', who: 'group:eng', allow: ['github/*', 'jira/get'] },
      { id: 'coder', who: { group: 'eng', via: 'https://login.example|agent' }, allow: ['github/get_*', 'slack/post'] },
      { id: 'never', who: { via: 'any' }, deny: 'github/get_secret' },
    ]);
    const all = ['github/get_file', 'github/get_secret', 'github/push', 'jira/get', 'slack/post'];
    expect(all.map((what) => decide(policy, what))).toEqual([
      'allow eng',
      'allow eng',
      'allow eng',
      'allow eng',
      'hidden',
    ]);
    expect(all.map((what) => decide(policy, what, { facts: agent }).split(' ')[0])).toEqual([
      'allow',
      'hidden',
      'hidden',
      'hidden',
      'hidden',
    ]);
  });

  it('one that is denied, or excepted of what is allowed, is so in a chain of others too', async () => {
    const policy = await policyOf([
      { who: 'group:eng', allow: '*' },
      { who: { via: 'any' }, except: { via: 'https://login.example|bad' }, allow: '*' },
      {
        id: 'secrets',
        who: { via: ['https://login.example|agent', 'client:bot'] },
        except: { via: 'https://login.example|helper' },
        deny: 'github/get_secret',
      },
    ]);
    const chain = (...subjects: readonly string[]): Facts => ({
      ...ann,
      actors: subjects.map((subject) => ({ issuer: 'https://login.example', subject })),
    });
    const of = (facts: Facts): string[] =>
      ['github/push', 'github/get_secret'].map((what) => decide(policy, what, { facts }).split(' ')[0] as string);
    expect(of(chain('bad'))).toEqual(['hidden', 'hidden']);
    expect(of(chain('helper', 'bad'))).toEqual(['hidden', 'hidden']);
    expect(of(chain('other', 'agent'))).toEqual(['allow', 'hidden']);
    expect(of({ ...chain('other'), client: 'bot' })).toEqual(['allow', 'hidden']);
    expect(of(chain('helper'))).toEqual(['allow', 'allow']);
    // An exception from a refusal is in the caller's favour: the whole chain must match.
    expect(of(chain('helper', 'agent'))).toEqual(['allow', 'hidden']);
  });

  it('a client that a rule names as an agent is one, and other clients are not', async () => {
    const policy = await policyOf([
      { who: 'group:eng', allow: '*' },
      { who: { via: 'client:bot' }, allow: 'github/*' },
    ]);
    expect([
      decide(policy, 'jira/get'),
      decide(policy, 'jira/get', { facts: { ...ann, client: 'bot' } }),
      decide(policy, 'github/get', { facts: { ...ann, client: 'bot' } }),
    ]).toEqual(['allow #1', 'hidden', 'allow #1']);
  });
});

it('rights are chosen once for all whom the same rules are about', async () => {
  const policy = await policyOf([{ who: 'group:eng', allow: '*' }]);
  expect(policy.rightsOf(ann)).toBe(policy.rightsOf({ ...ann, subject: 'bob', groups: ['eng', 'x'] }));
  expect(policy.rightsOf(ann)).not.toBe(policy.rightsOf({ ...ann, groups: [] }));
  expect(policy.rightsOf(undefined)).toBe(policy.rightsOf(undefined));
  expect((await policyOf([{ who: 'group:eng', allow: '*' }])).rightsOf(ann).name).toBe(policy.rightsOf(ann).name);
});

it('what asks goes over what allows, and nothing unjudged is allowed unasked', async () => {
  const policy = await policyOf([
    { id: 'all', who: 'everyone', allow: 'a/*' },
    { id: 'ask', who: 'everyone', ask: ['a/pay', 'b/pay'], args: { n: { max: 5 } } },
    { id: 'no', who: 'everyone', deny: 'a/drop' },
    { id: 'odd', who: 'everyone', ask: 'a/*', only: 'destructive' },
    { id: 'maybe', who: 'everyone', ask: 'c/pay', args: { n: { max: 5, optional: true } } },
    { id: 'theirs', who: 'group:eng', ask: 'c/pay', approvers: 'group:x' },
  ]);
  const hinted = { annotations: { readOnlyHint: true } };
  expect(decide(policy, 'a/pay', { args: { n: 1 }, ...hinted })).toBe('ask ask');
  expect(decide(policy, 'a/pay', { args: { n: 9 }, ...hinted })).toBe('allow all');
  expect(decide(policy, 'a/pay', hinted)).toBe('ask ask');
  expect(decide(policy, 'a/get', { annotations: undefined })).toBe('ask odd');
  expect(decide(policy, 'b/pay')).toBe('deny ask');
  expect(decide(policy, 'b/pay', { args: { n: 1 } })).toBe('ask ask');
  expect([decide(policy, 'a/drop'), decide(policy, 'c/pay', { args: {} })]).toEqual(['hidden no', 'ask theirs']);
  expect([
    policy.rightsOf(ann).mayEverythingOf('c'),
    (await policyOf([{ who: 'everyone', ask: '*' }])).rightsOf(ann).sees(targetOf('prompt:a/x')),
  ]).toEqual([false, true]);
});

it('prompts and reads of resources are asked for too, and what brings nothing of them is not', async () => {
  const policy = await policyOf([
    { id: 'all', who: 'everyone', ask: ['prompt:a/*', 'resource:a/*'] },
    { id: 'whole', who: 'everyone', ask: 'b' },
  ]);
  const effect = (what: string, method: string): string => decide(policy, what, { method });
  expect([
    effect('prompt:a/x', 'prompts/get'),
    effect('resource:a/f://x', 'resources/read'),
    effect('resource:b/f://x', 'skills/get'),
    effect('b/x', 'tools/call'),
  ]).toEqual(['ask all', 'ask all', 'ask whole', 'ask whole']);
  expect([
    effect('prompt:a/x', 'completion/complete'),
    effect('resource:a/f://x', 'resources/subscribe'),
    effect('resource:a/f://x', 'resources/unsubscribe'),
  ]).toEqual(['allow all', 'allow all', 'allow all']);
  expect(effect('a/x', 'tools/call')).toBe('hidden');
});

it('what is redacted is whatever allows it, of tools, prompts and resources, and of what nobody has a name for', async () => {
  const policy = await policyOf([
    { id: 'all', who: 'everyone', allow: '*' },
    { id: 'cut', who: 'group:eng', redact: ['a', 'resource:b/*'], patterns: 'email', args: { n: { max: 5 } } },
  ]);
  const cut = (what: string, args?: JsonObject): string | undefined => {
    const target = targetOf(what);
    return policy.rightsOf(ann).decide(target, {
      facts: ann,
      kind: target.kind,
      method: '',
      server: target.server,
      name: target.name,
      args,
      now: 0,
      address: undefined,
    }).redaction?.rule;
  };
  expect(
    ['a/x', 'prompt:a/x', 'resource:a/x', 'server:a/x', 'resource:b/x', 'b/x', 'server:b/x'].map((what) => cut(what)),
  ).toEqual(['cut', 'cut', 'cut', 'cut', 'cut', undefined, 'cut']);
  expect([cut('a/x', { n: 1 }), cut('a/x', { n: 9 })]).toEqual(['cut', undefined]);
});

describe('a rule that means nothing is refused whole, with everything that is wrong', () => {
  it.each<[RuleSettings, readonly (string | number)[], RegExp]>([
    [{ who: 'eng', allow: '*' }, ['who'], /expected "everyone"/],
    [{ who: 'everyone' }, [], /`allow`, `deny`, `ask`, `redact` or `label`/],
    [{ who: 'everyone', allow: '*', deny: 'a' }, [], /`allow`, `deny`, `ask`, `redact` or `label`/],
    [{ who: 'everyone', allow: [] }, ['allow'], /something/],
    [{ who: 'everyone', allow: ['a/b', 'gi*'] }, ['allow', 1], /expected "server\/tool"/],
    [{ who: 'everyone', deny: '!a/b' }, ['deny'], /takes nothing away/],
    [{ who: 'everyone', deny: 'a/@(b|c)' }, ['deny'], /parentheses/],
    [
      { who: 'everyone', deny: 'a/b', args: { n: { min: 10, max: 5 } } },
      ['args'],
      /no number is at least 10 and at most 5/,
    ],
    [{ who: 'everyone', deny: 'a/b', args: { n: { in: [] } } }, ['args'], /no value matches/],
    [{ who: 'everyone', deny: 'a/b', args: {} }, ['args'], /at least one argument/],
    [{ who: 'everyone', deny: 'a/b', args: { n: { optional: true } } }, ['args'], /expected `min`/],
    [{ who: 'everyone', deny: 'a/b', args: { n: { max: 5, pattern: 'x*' } } }, ['args'], /a number .* and a text/],
    [{ who: 'everyone', deny: 'a/b', args: { n: { in: ['x', 7], max: 5 } } }, ['args'], /nothing under `in`/],
    [{ who: 'everyone', deny: 'a/b', time: {} }, ['time'], /expected `days`, `hours`, `from` or `until`/],
    [
      { who: 'everyone', deny: 'a/b', time: { zone: 'Europe/Berlin' } },
      ['time'],
      /expected `days`, `hours`, `from` or `until`/,
    ],
    [{ who: 'everyone', deny: 'a/b', time: { from: 'soon' } }, ['time'], /`from`: expected a date/],
    [{ who: 'everyone', deny: 'a/b', time: { until: '2026-02-30' } }, ['time'], /`until`: expected a date/],
    [{ who: 'everyone', deny: 'a/b', args: { n: { matches: '(?=a)b' } } }, ['args'], /no look-around/],
    [{ who: 'everyone', deny: 'a/b', args: { n: { matches: '(a{100}){10}{9}' } } }, ['args'], /RE2|too large/],
    [{ who: 'everyone', deny: 'a/b', args: { n: { matches: 'x', max: 5 } } }, ['args'], /a number .* and a text/],
    [{ who: { claim: 'department' }, deny: 'a/b' }, ['who'], /"=" and its value/],
    [{ who: 'everyone', deny: 'a/b', time: { days: [] } }, ['time'], /`days` is empty/],
    [{ who: 'everyone', deny: 'a/b', network: [] }, ['network'], /expected an IP address/],
    [{ who: 'everyone', deny: 'a/b', when: '"eng" in caller.group' }, ['when'], /no "group", but issuer/],
    [{ who: 'everyone', deny: 'a/b', when: 'args.a > 1 and args.b > 2' }, ['when'], /CEL has "&&"/],
    [{ who: 'everyone', deny: 'a/b ' }, ['deny'], /a blank/],
    [{ who: 'everyone', deny: 'a/ b' }, ['deny'], /a blank/],
    [{ who: 'everyone', ask: '*', approvers: 'group: a' }, ['approvers'], /group:NAME/],
    [{ who: 'everyone', deny: 'a/[x-' }, ['deny'], /"\[" or "\{" is opened and not closed/],
    [{ who: 'everyone', deny: 'a/{delete,drop_*' }, ['deny'], /"\[" or "\{" is opened and not closed/],
    [{ who: 'everyone', deny: 'a/' }, ['deny'], /after it/],
    [{ who: 'everyone', allow: 'prompt:a/*', only: 'readOnly' }, ['only'], /only tools/],
    [{ who: 'everyone', allow: '*', time: { days: 'someday' } }, ['time'], /days/],
    [{ who: 'everyone', allow: '*', time: { hours: '8-18' } }, ['time'], /hours/],
    [{ who: 'everyone', allow: '*', time: { hours: '08:00-09:00', zone: 'Mars/Base' } }, ['time'], /time zone/],
    [{ who: 'everyone', allow: '*', network: '10.0.0.0/33' }, ['network'], /network/],
    [{ who: [{ via: 'any' }, 'everyone'], allow: '*' }, ['who'], /give each a rule/],
    [{ who: 'everyone', allow: '*', by: 'approvers' }, ['by'], /`ask`/],
    [{ who: 'everyone', ask: '*', by: 'caller', approvers: 'group:a' }, ['by'], /the caller/],
    [{ who: 'everyone', ask: '*', approvers: 'ann' }, ['approvers'], /group:NAME/],
    [{ who: 'everyone', redact: '*' }, ['redact'], /patterns/],
    [{ who: 'everyone', redact: '*', patterns: '(a+)+' }, ['redact'], /no groups/],
    [{ who: 'everyone', allow: '*', paths: '/a' }, ['paths'], /`redact`/],
    [{ who: 'everyone', except: { via: 'any' }, allow: '*' }, ['except'], /agents/],
    [{ who: 'everyone', label: 'a' }, ['as'], /at least one label/],
    [{ who: 'everyone', label: 'a', as: '' }, ['as'], /expected a label of 1 to 64/],
    [{ who: 'everyone', label: 'a', as: 'x'.repeat(65) }, ['as'], /expected a label of 1 to 64/],
    [{ who: 'everyone', deny: 'a', after: [] }, ['after'], /at least one label/],
    [{ who: 'everyone', deny: 'a', as: 'x' }, ['as'], /`label`/],
    [{ who: 'everyone', label: 'a', as: 'x', after: 'y' }, ['after'], /`allow`, `deny` and `ask`/],
    [{ who: 'everyone', redact: 'a', patterns: 'key', after: 'y' }, ['after'], /`allow`, `deny` and `ask`/],
  ])('%j', async (rule, path, message) => {
    expect(await compile({ default: 'deny', rules: [rule] })).toEqual({
      problems: [{ path: ['rules', 0, ...path], message: expect.stringMatching(message) as string }],
    });
  });

  it('two rules of one name are one too many', async () => {
    expect(
      await compile({
        default: 'deny',
        rules: [
          { id: 'a', who: 'everyone', allow: '*' },
          { id: 'a', who: 'everyone', deny: '*' },
        ],
      }),
    ).toMatchObject({ problems: [{ path: ['rules', 1, 'id'] }] });
  });
});
