import { expect, it } from 'vitest';
import { claimAt, proofOf, requireProblem } from './claims.ts';

const names = { subject: 'sub', groups: 'groups' };
const groupsOf = (claims: Readonly<Record<string, unknown>>, groups = 'groups'): unknown => {
  const proof = proofOf({ sub: 'ann', ...claims }, 'https://login.example', { ...names, groups });
  return typeof proof === 'string' ? proof : proof.facts.groups;
};

it('groups are found under their name, under one that is an address, and inside a claim; what objects have of themselves is no claim', () => {
  expect(groupsOf({ groups: ['a'] })).toEqual(['a']);
  expect(groupsOf({ 'https://acme.example/groups': ['b'] }, 'https://acme.example/groups')).toEqual(['b']);
  expect(groupsOf({ realm_access: { roles: ['c'] } }, 'realm_access.roles')).toEqual(['c']);
  expect(groupsOf({ 'realm_access.roles': ['d'], realm_access: { roles: ['c'] } }, 'realm_access.roles')).toEqual([
    'd',
  ]);
  for (const [claims, name] of [
    [{ realm_access: 'x' }, 'realm_access.roles'],
    [{}, 'constructor.name'],
    [{ a: {} }, 'a.__proto__'],
    [{ a: [] }, 'a.length'],
  ] as const)
    expect(claimAt(claims, name)).toBeUndefined();
});

it('groups that an issuer has left out are not "no groups", where it is they that are asked for', () => {
  for (const claims of [{ _claim_names: { groups: 'src1' } }, { hasgroups: true }]) {
    expect(groupsOf(claims)).toMatch(/too many.*docs\/how-to\/sign-in\.md/);
    expect(groupsOf(claims, 'roles')).toEqual([]);
  }
  expect(groupsOf({ _claim_names: 'groups' })).toEqual([]);
});

it('a claim has to say one of what is expected, or have one of it in its list', () => {
  const require = { hd: ['example.com'], email_verified: ['true'] };
  expect(requireProblem({ hd: 'example.com', email_verified: true }, require)).toBeUndefined();
  expect(requireProblem({ hd: ['x', 'example.com'], email_verified: 'true' }, require)).toBeUndefined();
  expect(requireProblem({ hd: 'evil.example', email_verified: true }, require)).toBe(
    'its claim "hd" is "evil.example", and has to be example.com',
  );
  expect(requireProblem({ email_verified: true }, require)).toBe(
    'its claim "hd" is not there, and has to be example.com',
  );
  for (const hd of [{ 'example.com': true }, null, [], [['example.com']], 'EXAMPLE.com'])
    expect(requireProblem({ hd, email_verified: true }, require)).toContain('hd');
});

it('a tenant is named by a claim, or is that of the issuer; the same name in two of them is two callers', () => {
  const of = (more: Readonly<Record<string, unknown>>, claims: Readonly<Record<string, unknown>> = {}) =>
    proofOf({ sub: 'ann', ...claims }, 'https://login.example', { ...names, ...more });
  const [fixed, claimed, none] = [of({ ofTenant: 'acme' }), of({ tenant: 'org' }, { org: 'acme' }), of({})];
  if (typeof fixed === 'string' || typeof claimed === 'string' || typeof none === 'string') throw new Error('no proof');
  expect([fixed, claimed, none].map(({ facts }) => facts.tenant)).toEqual(['acme', 'acme', undefined]);
  expect(fixed.facts.principal).toBe(claimed.facts.principal);
  expect(fixed.facts.principal).not.toBe(none.facts.principal);
  expect(of({ tenant: 'org' }, { org: 'x'.repeat(256) })).toContain('too long');
});

it('a time that is no date any more is the last one that is', () => {
  const proof = proofOf({ sub: 'ann', exp: Number.MAX_SAFE_INTEGER }, 'https://login.example', {
    subject: 'sub',
    groups: 'groups',
  });
  expect(typeof proof !== 'string' && new Date(proof.facts.expiresAt as number).toISOString()).toBe(
    '+275760-09-13T00:00:00.000Z',
  );
});

it.each(['ann\nben', 'ann\u001b[2J', 'ann\u0085', 'ann\u2028', 'ann\ud800'])(
  '%j is no name, whichever claim has it',
  (text) => {
    const of = (claims: Readonly<Record<string, unknown>>): unknown =>
      proofOf({ sub: 'ann', org: 'acme', ...claims }, 'https://login.example', { ...names, tenant: 'org' });
    expect(of({})).toMatchObject({ facts: { subject: 'ann' } });
    for (const [claims, name] of [
      [{ sub: text }, 'sub'],
      [{ client_id: text }, 'client_id'],
      [{ azp: text }, 'azp'],
      [{ sub: undefined, client_id: text }, 'client_id'],
      [{ groups: ['a', text] }, 'groups'],
      [{ org: text }, 'org'],
      [{ act: { sub: text } }, 'act'],
      [{ act: { sub: 'bot', iss: text } }, 'act'],
    ] as const) {
      expect(of(claims)).toMatch(
        new RegExp(`^the token is not accepted: .*"${name}" has a control character, or half of a character$`),
      );
    }
  },
);

it('users of one name are different callers where their records are', () => {
  const principalOfUser = (claims: Readonly<Record<string, string>>, record?: string): unknown => {
    const proof = proofOf({ sub: 'ann', ...claims }, 'https://login.example', { ...names, record });
    return typeof proof === 'string' ? proof : proof.facts.principal;
  };
  const [first, second, none] = [
    principalOfUser({ omnibus_user: 'first' }, 'omnibus_user'),
    principalOfUser({ omnibus_user: 'second' }, 'omnibus_user'),
    principalOfUser({}, 'omnibus_user'),
  ];
  expect(new Set([first, second, none]).size).toBe(3);
  // Of another issuer the claim says nothing.
  expect(principalOfUser({ omnibus_user: 'first' })).toBe(none);
});
