/** Facts about callers in headers for servers. */
import { expect, it } from 'vitest';
import { headersFor, templateProblem, withoutTemplates } from './header-templates.ts';
import type { Who } from './exchange.ts';

const ann: Who = {
  issuer: 'https://issuer.example',
  subject: 'ann',
  tenant: undefined,
  groups: ['staff', 'on call'],
  claims: { email: 'ann@example.com' },
};

it('each placeholder stands for a fact about the caller, and everything else is sent as it is', () => {
  const headers = {
    'X-User': '{principal.subject}',
    'X-Groups': '{principal.groups}',
    'X-Mail': '{principal.claims.email}',
    'Forwarded-User': 'user={principal.subject};by={principal.issuer}',
    Authorization: 'Bearer {x}',
  };
  expect(headersFor(headers, ann, 'refuse')).toEqual({
    headers: {
      'X-User': 'ann',
      'X-Groups': 'staff,on call',
      'X-Mail': 'ann@example.com',
      'Forwarded-User': 'user=ann;by=https://issuer.example',
      Authorization: 'Bearer {x}',
    },
  });
  expect(withoutTemplates(headers)).toEqual({ Authorization: 'Bearer {x}' });
});

it('a fact that the caller does not have refuses the call, or leaves the whole header out', () => {
  const headers = { 'X-Tenant': 'tenant={principal.tenant}', 'X-Key': 'one' };
  expect(headersFor(headers, ann, 'refuse')).toMatchObject({
    header: 'X-Tenant',
    fact: 'tenant',
    problem: 'the caller has no such fact',
  });
  expect(headersFor(headers, ann, 'omit')).toEqual({ headers: { 'X-Key': 'one' } });
  expect(headersFor(headers, undefined, 'refuse')).toMatchObject({ header: 'X-Tenant' });
});

it.each([
  ['a line break', 'ann\r\nX-Admin: yes'],
  ['another line break', 'ann\nX'],
  ['a zero', 'ann\0'],
  ['a blank at the end', 'ann '],
  ['a blank in front', ' ann'],
  ['a tabulator', 'a\tb'],
  ['a letter outside ASCII', 'zoë'],
  ['a delete', 'ann\u007F'],
  ['too many characters', 'a'.repeat(5_000)],
])('a fact with %s is never sent, even if absent facts are left out', (_what, subject) => {
  for (const absent of ['refuse', 'omit'] as const) {
    const made = headersFor({ 'X-User': '{principal.subject}' }, { ...ann, subject }, absent);
    expect(made).toMatchObject({ header: 'X-User' });
    expect(JSON.stringify(made)).not.toContain('ann');
  }
});

it.each(['ann;admin=1', 'ann,admin', 'ann admin', 'ann"', 'ann=1'])(
  '%s is not sent in the middle of a header, where it would say more than a name',
  (subject) => {
    expect(headersFor({ 'X-User': 'user={principal.subject}' }, { ...ann, subject }, 'omit')).toMatchObject({
      header: 'X-User',
      fact: 'subject',
    });
    expect(headersFor({ 'X-User': '{principal.subject}' }, { ...ann, subject }, 'omit')).toEqual({
      headers: { 'X-User': subject },
    });
  },
);

it('a group with a comma is not sent as two', () => {
  expect(headersFor({ 'X-Groups': '{principal.groups}' }, { ...ann, groups: ['a', 'b,admins'] }, 'omit')).toMatchObject(
    { fact: 'groups' },
  );
});

it.each([
  ['{principal.subject}', undefined],
  ['a {principal.claims.email} b', undefined],
  ['{principal.token}', 'is no fact'],
  ['{principal.claims.}', 'is no fact'],
  ['{principal.claims.phone}', 'passed on by no issuer'],
  ['{principal.subject', 'expected'],
])('the template %s: %s', (value, problem) => {
  expect(templateProblem(value, new Set(['email']))).toEqual(
    problem === undefined ? undefined : expect.stringContaining(problem),
  );
});
