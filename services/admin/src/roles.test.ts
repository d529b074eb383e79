import { expect, it } from 'vitest';
import { factsWithoutToken } from '@omnibus/identity/testing';
import { mayDoForTenant, rolesOf, tenantOf } from './roles.ts';

const lists = {
  viewer: ['group:people'],
  operator: ['https://login.example|ann'],
  auditor: ['key:audit'],
  approver: ['group:release'],
  admin: ['group:admins'],
};
const somebody = factsWithoutToken({ issuer: 'https://login.example', subject: 'bob' }, { groups: [] });

it('a caller has the roles that it, its key or one of its groups is named for', () => {
  expect(rolesOf(somebody, lists)).toEqual([]);
  expect(rolesOf({ ...somebody, groups: ['people', 'admins'] }, lists)).toEqual(['viewer', 'admin']);
  expect(rolesOf({ ...somebody, subject: 'ann' }, lists)).toEqual(['operator']);
  expect(rolesOf({ ...somebody, issuer: 'omnibus:keys', subject: 'audit' }, lists)).toEqual(['auditor']);
});

it('a subject that looks like a group, or is of another issuer, is nobody; neither is whoever acts for somebody, nor the group of a tenant', () => {
  expect(rolesOf({ ...somebody, subject: 'audit' }, lists)).toEqual([]);
  expect(rolesOf({ ...somebody, issuer: 'https://other.example', subject: 'ann' }, lists)).toEqual([]);
  expect(rolesOf({ ...somebody, issuer: 'group:admins', subject: 'x', groups: ['key:audit'] }, lists)).toEqual([]);
  expect(
    rolesOf(
      {
        ...somebody,
        subject: 'ann',
        groups: ['admins'],
        actors: [{ issuer: 'https://login.example', subject: 'agent' }],
      },
      lists,
    ),
  ).toEqual([]);
  expect(rolesOf({ ...somebody, subject: 'ann', groups: ['admins'], tenant: 'acme' }, lists)).toEqual(['operator']);
});

it.each(['omnibus:keys', 'omnibus:proxy'])(
  'a name that %s gives is that of a caller without a tenant: each tenant may have somebody of that name',
  (issuer) => {
    const root = { ...somebody, issuer, subject: 'root' };
    const [roles, tenants] = [{ ...lists, admin: [`${issuer}|root`] }, { acme: [`${issuer}|root`] }];
    expect([rolesOf(root, roles), rolesOf({ ...root, tenant: 'acme' }, roles)]).toEqual([['admin'], []]);
    expect([
      tenantOf({ ...root, tenant: 'acme' }, tenants),
      tenantOf({ ...root, tenant: 'umbrella' }, tenants),
    ]).toEqual(['acme', undefined]);
  },
);

it('who looks after a tenant is of that tenant, and is so by its own groups and keys; a key of a tenant has no role by its name', () => {
  const tenants = { acme: ['group:ops', 'key:audit'], umbrella: ['https://login.example|bob'] };
  const key = { ...somebody, issuer: 'omnibus:keys', subject: 'audit' };
  expect(rolesOf({ ...key, tenant: 'acme' }, lists)).toEqual([]);
  expect(tenantOf({ ...key, tenant: 'acme' }, tenants)).toBe('acme');
  expect(tenantOf({ ...somebody, tenant: 'acme', groups: ['ops'] }, tenants)).toBe('acme');
  for (const facts of [
    { ...somebody, tenant: 'umbrella', groups: ['ops'], subject: 'eve' },
    { ...somebody, groups: ['ops'] },
    { ...somebody, tenant: 'acme' },
    { ...somebody, tenant: 'constructor', groups: ['ops'] },
    { ...somebody, tenant: 'acme', groups: ['ops'], actors: [{ issuer: 'x', subject: 'agent' }] },
  ])
    expect(tenantOf(facts, tenants)).toBeUndefined();
  expect(
    (['status', 'usage', 'whoami', 'metrics', 'reload', 'keys.list', 'blocks.change'] as const).filter((act) =>
      mayDoForTenant(act),
    ),
  ).toEqual(['status', 'usage', 'whoami']);
});

it('a group of one issuer is not that of another', () => {
  const roles = { ...lists, admin: ['group:https://login.example|ops'] };
  const ann = { ...somebody, issuer: 'https://login.example', groups: ['ops'] };
  expect([ann, { ...ann, issuer: 'https://partner.example' }].map((facts) => rolesOf(facts, roles))).toEqual([
    ['admin'],
    [],
  ]);
  const tenants = { acme: ['group:https://login.example|ops'] };
  expect(
    [ann, { ...ann, issuer: 'https://partner.example' }].map((facts) =>
      tenantOf({ ...facts, tenant: 'acme' }, tenants),
    ),
  ).toEqual(['acme', undefined]);
});
