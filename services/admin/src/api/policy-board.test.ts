import { expect, it } from 'vitest';
import type { Catalogue } from '@omnibus/admin-api';
import { loadedFrom } from '@omnibus/config/testing';
import { compile, type RuleSettings } from '@omnibus/policy';
import type { RuleCompiler } from '../policy/decisions.ts';
import { ConfigHistory } from './config-history.ts';
import { PolicyBoard } from './policy-board.ts';
import { configurationFor, shownValues } from './shown-config.ts';

const entry = (name: string, server = 'stripe') => ({
  kind: 'tool' as const,
  name: `${server}__${name}`,
  ownName: name,
  server,
});

const compileAccess: RuleCompiler['compileAccess'] = async ({ access }) => {
  const compiled = access === undefined ? undefined : await compile(access);
  return compiled !== undefined && 'policy' in compiled ? compiled.policy : undefined;
};

function open(
  access: object | undefined,
  env: Readonly<Record<string, string>> = {},
  guarded: readonly RuleSettings[] = [],
) {
  const text = JSON.stringify(
    {
      mcpServers: {
        stripe: { url: 'http://127.0.0.1:1/mcp' },
        acme: { url: 'http://127.0.0.1:2/mcp', tenants: ['acme'] },
      },
      ...(access === undefined ? {} : { access }),
    },
    null,
    2,
  );
  const loaded = loadedFrom(text, { file: 'omnibus.json', env });
  const pages: Catalogue[] = [0, 1].map((page) => ({
    endpoint: '',
    endpoints: [],
    problems: [],
    unreachable: [],
    missing: [],
    total: 4,
    ...(page === 0 ? { next: '2' } : {}),
    entries: page === 0 ? [entry('refund'), entry('find')] : [entry('delete_all'), entry('find', 'acme')],
  }));
  const history = new ConfigHistory('omnibus.json', loaded);
  return {
    loaded,
    history,
    board: new PolicyBoard({
      process: 'session-1',
      config: () => loaded.config,
      history,
      rules: { compileAccess, compileGuards: () => Promise.resolve(undefined), guardedRules: () => guarded },
      catalogue: ({ cursor }) => Promise.resolve(pages[cursor === undefined ? 0 : 1] as Catalogue),
    }),
  };
}

const rules = [
  {
    id: 'small',
    who: { group: 'support' },
    allow: ['stripe/refund'],
    args: { amount: { max: 100 } },
    because: 'more is for finance',
  },
  { id: 'look', who: 'group:support', allow: ['*/find'] },
  {
    who: 'everyone',
    except: 'group:admins',
    deny: ['*/delete_*'],
    time: { days: 'mon-fri', hours: '08:00-18:00' },
    network: '10.0.0.0/8',
  },
];

it('the rules in force are said in words, with where they are from', async () => {
  const { board } = open({ rules });
  const { rules: shown, ...rest } = await board.rules({});
  expect(rest).toMatchObject({ hasRules: true, default: 'deny', isRecorded: false, total: 3, file: 'omnibus.json' });
  expect(shown).toMatchObject([
    {
      id: 'small',
      effect: 'allow',
      who: 'group:support',
      what: ['stripe/refund'],
      conditions: ['amount at most 100'],
      because: 'more is for finance',
      place: expect.stringMatching(/^omnibus\.json:\d+$/) as string,
    },
    { id: 'look', conditions: [] },
    {
      id: '#3',
      effect: 'deny',
      who: 'everyone',
      except: 'group:admins',
      conditions: ['mon-fri 08:00-18:00 UTC', 'from 10.0.0.0/8'],
    },
  ]);
});

it('a decision names the rule that decided, and what every other one says', async () => {
  const { board } = open({ rules, mode: 'record' });
  const ask = (who: string, what: string, args?: string) => board.explain({ who, what, args });
  expect(await ask('group:support', 'stripe/refund', '{"amount": 20}')).toMatchObject({
    outcome: 'allow',
    rule: 'small',
    isRecorded: true,
    rules: [
      { id: 'small', isMatch: true, why: 'matches, and its conditions are met' },
      { id: 'look', isMatch: false, why: 'is about something else' },
      { id: '#3' },
    ],
  });
  expect(await ask('group:support', 'stripe/refund', '{"amount": 200}')).toMatchObject({
    outcome: 'deny',
    rule: 'small',
  });
  expect(await ask('nobody', 'stripe/refund')).toMatchObject({ outcome: 'hidden' });
  expect(await ask('{"tenant": "acme", "group": "support"}', 'acme/find')).toMatchObject({
    who: 'group:support tenant:acme',
    outcome: 'hidden',
  });
  expect(await ask('group:support', 'acme/find')).toMatchObject({
    outcome: 'hidden',
    because: expect.stringContaining('tenants') as string,
  });
  for (const [who, what, args] of [
    ['eng', 'a/b'],
    ['{"x":1}', 'a/b'],
    ['nobody', 'a'],
    ['nobody', 'a/b', '[1]'],
    ['nobody', 'a/b', '{'],
  ] as const)
    await expect(ask(who, what, args)).rejects.toMatchObject({ reason: 'invalid' });
});

it('what somebody is shown is decided page by page, until there are rows that fit', async () => {
  const { board } = open({ rules });
  expect(await board.sees({ who: 'group:support' })).toMatchObject({
    looked: 4,
    total: 4,
    rows: [
      { name: 'refund', outcome: 'deny', isConditional: true, rule: 'small' },
      { name: 'find', outcome: 'allow', isConditional: false, rule: 'look' },
      { name: 'delete_all', outcome: 'hidden' },
      { server: 'acme', outcome: 'hidden' },
    ],
  });
  const { rows } = await board.sees({ who: 'group:support', outcome: 'allow' });
  expect(rows.map(({ name }) => name)).toEqual(['find']);
});

it('without rules it is said that there are none', async () => {
  const { board } = open(undefined);
  expect(await board.rules({})).toMatchObject({ hasRules: false, default: 'allow', rules: [], total: 0 });
  await expect(board.explain({ who: 'nobody', what: 'stripe/find' })).rejects.toMatchObject({ reason: 'conflict' });
});

it('the rules of `flow: guarded` follow those of the configuration, and stand in no line of it', async () => {
  const asks = {
    id: 'flow:shared',
    who: 'everyone',
    ask: ['stripe/*'],
    after: ['untrusted', 'private'],
    only: 'writes',
  } as const;
  const { board } = open({ rules }, {}, [asks]);
  const shown = (await board.rules({})).rules.at(-1);
  expect(shown).toEqual({
    id: 'flow:shared',
    effect: 'ask',
    who: 'everyone',
    what: ['stripe/*'],
    conditions: ['the tool says writes', 'after untrusted and private'],
    terms: expect.any(String) as string,
  });
  expect(await open(undefined, {}, [asks]).board.rules({})).toMatchObject({
    hasRules: true,
    default: 'allow',
    total: 1,
  });
});

it('a decision reads numbers as a running gateway does', async () => {
  const { board } = open({ rules });
  const outcomes = await Promise.all(
    ['20.0', '1e2', '100.0', '100.00000000000000000001', '100.5'].map(
      async (amount) =>
        (await board.explain({ who: 'group:support', what: 'stripe/refund', args: `{"amount": ${amount}}` })).outcome,
    ),
  );
  expect(outcomes).toEqual(['allow', 'allow', 'allow', 'deny', 'deny']);
});

it('what came by reference is hidden in a rule, and the rules in the configuration of a viewer', async () => {
  const { board, loaded, history } = open(
    { rules: [{ who: 'key:${BOT}', allow: ['stripe'] }] },
    { BOT: 'very-secret' },
  );
  expect(JSON.stringify(await board.rules({}))).not.toContain('very-secret');
  const shown = {
    file: '',
    appliedAt: '',
    digest: '',
    restart: [],
    missing: [],
    values: shownValues({ config: loaded.config, ...history.source }),
  };
  expect(JSON.stringify(configurationFor(shown, ['operator']))).toContain('stripe');
  const ofViewer = configurationFor(shown, ['viewer']).values.find(({ path }) => path === 'access.rules');
  expect(ofViewer).toMatchObject({ value: '•••', isSecret: true });
});
