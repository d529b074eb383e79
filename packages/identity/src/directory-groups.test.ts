import type { DirectoryUser } from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { directoryKeyOf, DirectoryGroups, type DirectorySettings } from './directory-groups.ts';

const provider = 'https://login.example.com';
const own = 'https://mcp.example.com';
const settings: readonly DirectorySettings[] = [
  { issuer: provider, subject: 'externalId' },
  { issuer: provider, tenant: 'acme', subject: 'userName' },
];
const [plain, acme] = settings.map((each) => directoryKeyOf(each)) as [string, string];
const user = (directory: string, more: Partial<DirectoryUser> = {}): DirectoryUser => ({
  kind: 'user',
  directory,
  id: 'u',
  userName: 'ann',
  externalId: 'o-1',
  active: true,
  groups: ['g2', 'g1', 'gone'],
  created: 0,
  changed: 0,
  ...more,
});

function groupsOf(stored: readonly DirectoryUser[]): DirectoryGroups {
  const names = new Map([
    ['g1', 'eng'],
    ['g2', 'ops'],
  ]);
  return new DirectoryGroups(settings, own, {
    find: (directory, by, value) => stored.find((each) => each.directory === directory && each[by] === value),
    groupName: (_directory, id) => names.get(id),
    onChanged: () => undefined,
  });
}

const caller = (issuer: string, subject: string, tenant?: string) => ({ issuer, subject, tenant });

it('a user of a directory has its groups by the attribute that is the subject, also if it signs in through the gateway', () => {
  const groups = groupsOf([user(plain), user(acme, { groups: ['g1'] })]);
  expect(groups.of(caller(provider, 'o-1'))).toEqual(['eng', 'ops']);
  expect(groups.of(caller(own, `${provider}|o-1`))).toEqual(['eng', 'ops']);
  expect(groups.of(caller(provider, 'ann', 'acme'))).toEqual(['eng']);
});

it('callers of another issuer, of another tenant, or with another attribute have none, and neither has a user that is not active', () => {
  const groups = groupsOf([user(plain), user(acme, { active: false })]);
  for (const other of [
    caller('https://other.example.com', 'o-1'),
    caller('https://other.example.com', `${provider}|o-1`),
    caller(provider, 'o-1', 'acme'),
    caller(provider, 'ann'),
    caller(provider, 'o-1', 'other'),
    caller(provider, 'ann', 'acme'),
    caller(own, 'o-1'),
  ])
    expect(groups.of(other), JSON.stringify(other)).toEqual([]);
});

it('the keys of directories do not depend on where a tenant ends and an issuer begins', () => {
  expect(directoryKeyOf({ issuer: 'bc', tenant: 'a' })).not.toBe(directoryKeyOf({ issuer: 'c', tenant: 'ab' }));
});
