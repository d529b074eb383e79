/** Changes of users and groups in the forms that providers document and send. */
import { describe, expect, it } from 'vitest';
import { groupOf, keptOf, userOf } from './attributes.ts';
import { parseFilter } from './filter.ts';
import { patched } from './patch.ts';

const ann = {
  userName: 'ann@example.com',
  externalId: 'o-1',
  active: true,
  displayName: 'Ann',
  name: { givenName: 'Ann', familyName: 'Lee' },
  emails: [{ value: 'ann@example.com', type: 'work', primary: true }],
};
const user = (...operations: readonly object[]) =>
  userOf(patched('user', ann, { schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations: operations }));
const members = (...ids: readonly string[]) => ids.map((value) => ({ value }));
const group = (...operations: readonly object[]) =>
  groupOf(patched('group', { displayName: 'eng', members: members('a', 'b', 'c') }, { Operations: operations }));

describe('a user', () => {
  it.each([
    ['Entra ID, a text with a capital letter', { op: 'Replace', path: 'active', value: 'False' }],
    ['Entra ID, without path', { op: 'Replace', value: { active: 'False' } }],
    ['Okta, without path', { op: 'replace', value: { active: false } }],
    [
      'with the URN of the schema',
      { op: 'replace', path: 'urn:ietf:params:scim:schemas:core:2.0:User:active', value: false },
    ],
    ['a list of one object', { op: 'Replace', path: 'active', value: [{ $ref: null, value: 'False' }] }],
  ])('is deactivated: %s', (_title, operation) => {
    expect(user(operation)).toEqual({ ...ann, active: false });
  });

  it('gets attributes with paths as names in the value', () => {
    const value = {
      displayName: 'Ann L.',
      'name.givenName': 'Anna',
      'emails[type eq "work"].value': 'anna@example.com',
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department': 'Sales',
      title: 'Lead',
      'addresses[type eq "work"].country': 'NZ',
    };
    expect(user({ op: 'Add', value })).toEqual({
      ...ann,
      displayName: 'Ann L.',
      name: { givenName: 'Anna', familyName: 'Lee' },
      emails: [{ value: 'anna@example.com', type: 'work', primary: true }],
    });
  });

  it('gets an address of a type that it did not have, and loses attributes', () => {
    expect(
      user(
        { op: 'Add', path: 'emails[type eq "home"].value', value: 'a@home.example' },
        { op: 'Remove', path: 'displayName' },
        { op: 'remove', path: 'name.familyName' },
        { op: 'remove', path: 'emails[type eq "work"]' },
      ),
    ).toEqual({
      userName: 'ann@example.com',
      externalId: 'o-1',
      active: true,
      name: { givenName: 'Ann' },
      emails: [{ value: 'a@home.example', type: 'home' }],
    });
  });

  it.each([
    [{ op: 'replace', path: 'active', value: 'maybe' }, /active: expected true or false/],
    [{ op: 'remove', path: 'userName' }, /userName is missing/],
    [{ op: 'replace', path: 'userName', value: 5 }, /userName: expected a text/],
    [{ op: 'replace', path: 'userName', value: 'a\nb' }, /userName has a control character/],
    [{ op: 'replace', path: 'displayName', value: 'x'.repeat(256) }, /longer than 255 bytes/],
    [{ op: 'move', path: 'userName', value: 'x' }, /not one of add, replace and remove/],
    [{ op: 'replace', path: 'a b', value: 'x' }, /is no path/],
    [{ op: 'replace', path: 'userName[type eq "x"]', value: 'x' }, /is no list/],
    [{ op: 'remove' }, /needs a path/],
    [{ op: 'add', value: 'x' }, /needs an object/],
  ])('is not changed by %j', (operation, words) => {
    expect(() => user(operation)).toThrow(words);
  });

  it('has nothing of the prototypes of objects', () => {
    const value = JSON.parse('{ "__proto__": { "active": false }, "constructor": { "x": 1 } }') as object;
    expect(() => user({ op: 'add', value })).toThrow(/"__proto__" is no path/);
    expect(
      user({ op: 'add', path: 'constructor', value: 'x' }, { op: 'add', path: 'name.constructor', value: 'x' }),
    ).toEqual(ann);
    expect(keptOf('user', value as never)).toEqual({});
  });
});

describe('a group', () => {
  it.each([
    ['Entra ID, members in the value', { op: 'Remove', path: 'members', value: [{ $ref: null, value: 'b' }] }, 'a c'],
    ['Okta, a filter', { op: 'remove', path: 'members[value eq "b"]' }, 'a c'],
    ['all members', { op: 'remove', path: 'members' }, ''],
    ['more members', { op: 'Add', path: 'members', value: [{ $ref: null, value: 'd' }, { value: 'a' }] }, 'a b c d'],
    ['other members', { op: 'replace', path: 'members', value: [{ value: 'd', display: 'dan@example.com' }] }, 'd'],
    ['one member, not in a list', { op: 'add', path: 'members', value: { value: 'd' } }, 'a b c d'],
  ])('gets other members: %s', (_title, operation, expected) => {
    expect(group(operation)).toEqual({ displayName: 'eng', members: expected.split(' ').filter((id) => id !== '') });
  });

  it('gets another name from Okta, with its id in the value', () => {
    expect(group({ op: 'replace', value: { id: 'x', displayName: 'engineers' } }).displayName).toBe('engineers');
  });
});

it('filters are conditions that are joined by "and"', () => {
  expect(parseFilter('userName eq "a \\"and\\" b" and ACTIVE EQ True')).toEqual([
    { attribute: 'username', value: 'a "and" b' },
    { attribute: 'active', value: true },
  ]);
  for (const wrong of [
    '',
    'userName',
    'userName co "x"',
    'userName eq x',
    'a eq "x" or b eq "y"',
    'a eq "x" and',
    '(a eq "x")',
  ])
    expect(() => parseFilter(wrong), wrong).toThrow(/filters are like/);
});
