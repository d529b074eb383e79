import type { Facts } from '@omnibus/protocol';
import { describe, expect, it } from 'vitest';
import { ann as plain } from './testing/deciding.ts';
import { agentClients, matchesWho, namesAgents, type Who } from './who.ts';

const ann: Facts = {
  ...plain,
  groups: ['eng', 'oncall'],
  claims: { department: 'sales', site: 'berlin=mitte' },
  scopes: ['mcp'],
};
const key: Facts = {
  ...ann,
  issuer: 'omnibus:keys',
  subject: 'ci',
  groups: [],
  scopes: [],
  claims: undefined,
  client: undefined,
  key: 'k1',
};
const acme: Facts = { ...ann, tenant: 'acme', claims: undefined };
const agent = { issuer: 'https://login.example', subject: 'agent' };

describe.each<[Who, readonly string[]]>([
  ['everyone', ['ann', 'key', 'acme', 'agent', 'nobody']],
  ['known', ['ann', 'key', 'acme', 'agent']],
  ['user:https://login.example|ann', ['ann', 'acme', 'agent']],
  ['key:ci', ['key']],
  ['key:ann', []],
  ['group:eng', ['ann', 'agent']],
  ['tenant:acme', ['acme']],
  [{ tenant: 'acme', group: 'eng' }, ['acme']],
  [{ tenant: 'other', group: 'eng' }, []],
  ['client:cli', ['ann', 'acme', 'agent']],
  ['scope:mcp', ['ann', 'acme', 'agent']],
  ['group:ENG', []],
  ['group:e*', ['ann', 'agent']],
  ['group:*call', ['ann', 'agent']],
  ['group:o*c*l', ['ann', 'agent']],
  ['group:en*ng', []],
  ['group:*', ['ann', 'agent']],
  [{ tenant: 'acme', group: 'e*' }, ['acme']],
  ['group:https://login.example|on*', ['ann', 'agent']],
  ['group:https://partner.example|*', []],
  // A star means nothing elsewhere.
  ['client:c*', []],
  ['claim:department=sales', ['ann', 'agent']],
  ['claim:department=s*', ['ann', 'agent']],
  ['claim:department=Sales', []],
  ['claim:level=*', []],
  ['claim:toString=*', []],
  [{ claim: ['department=none', 'site=berlin=mitte'] }, ['ann', 'agent']],
  [{ claim: 'department=sales', group: 'none' }, []],
  ['group:https://login.example|eng', ['ann', 'agent']],
  ['group:https://partner.example|eng', []],
  ['client:https://login.example|cli', ['ann', 'acme', 'agent']],
  ['client:https://partner.example|cli', []],
  ['scope:https://login.example|mcp', ['ann', 'acme', 'agent']],
  ['scope:https://partner.example|mcp', []],
  [{ tenant: 'acme', group: 'https://login.example|eng' }, ['acme']],
  [{ group: ['https://partner.example|eng', 'https://login.example|oncall'] }, ['ann', 'agent']],
  [{ via: 'client:https://login.example|cli' }, ['ann', 'acme']],
  [{ via: 'client:https://partner.example|cli' }, []],
  [{ group: ['none', 'oncall'], client: 'cli' }, ['ann', 'agent']],
  [{ group: 'eng', client: 'other' }, []],
  [
    ['key:ci', 'tenant:acme'],
    ['key', 'acme'],
  ],
  [{ via: 'any' }, ['agent']],
  [{ group: 'eng', via: 'https://login.example|agent' }, ['agent']],
  [{ via: 'https://login.example|other' }, []],
  [{ via: 'client:cli' }, ['ann', 'acme']],
  [[], []],
])('%j', (who, expected) => {
  it(`is ${expected.join(', ') || 'nobody'}`, () => {
    const all = { ann, key, acme, agent: { ...ann, actors: [agent] }, nobody: undefined };
    expect(
      Object.entries(all)
        .filter(([, facts]) => matchesWho(who, false)(facts))
        .map(([name]) => name),
    ).toEqual(expected);
  });
});

it('an agent is named as itself, and one that acts for a user only where that counts against the user', () => {
  const bot = { ...ann, subject: 'agent:bot', agent: 'bot' };
  const acting = { ...ann, agent: 'bot', actors: [{ issuer: ann.issuer, subject: 'agent:bot' }] };
  const decided = [bot, acting, ann, undefined].map((facts) =>
    [false, true].map((isAgainst) => matchesWho('agent:bot', isAgainst)(facts)),
  );
  expect(decided).toEqual([
    [true, true],
    [false, true],
    [false, false],
    [false, false],
  ]);
  expect(matchesWho({ agent: ['other', 'bot'], group: 'eng' }, false)(bot)).toBe(true);
  expect(matchesWho('agent:other', true)(bot)).toBe(false);
});

it('each of those that act for somebody has to be named where that is in his favour', () => {
  const chain = { ...ann, actors: [agent, { ...agent, subject: 'helper' }] };
  expect(matchesWho({ via: 'https://login.example|agent' }, false)(chain)).toBe(false);
  expect(matchesWho({ via: ['https://login.example|agent', 'https://login.example|helper'] }, false)(chain)).toBe(true);
});

it('one of those that act for somebody, or his client, is enough where that counts against him', () => {
  const chain = { ...ann, actors: [{ ...agent, subject: 'helper' }, agent] };
  const isOne = (via: string | readonly string[], facts: Facts = chain): boolean => matchesWho({ via }, true)(facts);
  expect([
    isOne('https://login.example|agent'),
    isOne('https://login.example|helper'),
    isOne('client:cli'),
    isOne('any'),
    isOne(['client:none', 'https://login.example|agent']),
  ]).toEqual([true, true, true, true, true]);
  expect([
    isOne('https://login.example|other'),
    isOne('client:other'),
    isOne('any', ann),
    isOne('client:cli', ann),
  ]).toEqual([false, false, false, true]);
});

it('a text that names nobody is said to be none', () => {
  for (const text of [
    'eng',
    'groups:eng',
    'group:',
    'user:ann',
    '',
    'Everyone',
    'user:',
    'group: eng',
    'group:eng ',
    'group: ',
    'claim:department',
    'claim:=sales',
    'claim:department=',
  ])
    expect(() => matchesWho(text, false), text).toThrow(/^expected/);
  for (const parts of [
    {},
    { group: [] },
    { group: 'eng', tenant: [] },
    { user: 'ann' },
    { via: 'agent' },
    { group: ' eng' },
    { claim: 'department' },
  ])
    expect(() => matchesWho(parts, false), JSON.stringify(parts)).toThrow(/expected|is empty/);
});

it('rules tell whether they are about agents, and which clients they take for agents', () => {
  expect([namesAgents('everyone'), namesAgents({ group: 'eng' }), namesAgents(['everyone', { via: 'any' }])]).toEqual([
    false,
    false,
    true,
  ]);
  expect(agentClients([{ via: ['client:a', 'any'] }, 'client:b'])).toEqual(['a']);
});
