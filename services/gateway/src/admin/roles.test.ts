import { expect, it } from 'vitest';
import type { Facts } from '@omnibus/identity';
import type { Principal } from '@omnibus/protocol';
import { rolesOf } from './roles.ts';

const lists = { viewer: ['group:people'], operator: ['https://login.example|ann'], auditor: ['key:audit'], admin: ['group:admins'] };
const somebody: Facts = { issuer: 'https://login.example', subject: 'bob', principal: 'p_bob' as Principal, tenant: undefined, actors: [], groups: [], scopes: [], client: undefined, expiresAt: undefined, key: undefined };

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
  expect(rolesOf({ ...somebody, subject: 'ann', groups: ['admins'], actors: [{ issuer: 'https://login.example', subject: 'agent' }] }, lists)).toEqual([]);
  expect(rolesOf({ ...somebody, subject: 'ann', groups: ['admins'], tenant: 'acme' }, lists)).toEqual(['operator']);
});
