/**
 * Attributes of users and groups that are kept (RFC 7643, 4.1 and 4.2), and their values as providers really send them. All other attributes are passed over:
 * no password, address or employee number of a directory is stored.
 */
import { isName, noName } from '@omnibus/identity';
import { isObject, type DirectoryGroup, type DirectoryUser, type JsonObject } from '@omnibus/protocol';
import { invalid } from './problem.ts';

export type UserAttributes = Pick<
  DirectoryUser,
  'userName' | 'externalId' | 'active' | 'displayName' | 'name' | 'emails'
>;
export type GroupAttributes = Pick<DirectoryGroup, 'displayName' | 'externalId'> & {
  /** Ids of users. */
  readonly members: readonly string[];
};
export type Kind = 'user' | 'group';

/** The kept attributes by their names in small letters: names are the same in capital and small letters (RFC 7643, 2.1). */
export const attributesOf = {
  user: namesBySmall('userName', 'externalId', 'active', 'displayName', 'name', 'emails'),
  group: namesBySmall('displayName', 'externalId', 'members'),
} as const satisfies Record<Kind, ReadonlyMap<string, string>>;
export const lists: ReadonlySet<string> = new Set(['emails', 'members']);
/** The parts of attributes that have some. */
export const partsOf: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  name: namesBySmall('formatted', 'givenName', 'familyName'),
  emails: namesBySmall('value', 'type', 'primary'),
  members: namesBySmall('value'),
};

/** Bounds on texts, in bytes and entries. */
const maxNameBytes = 255;
const maxEmails = 5;
export const maxMembers = 10_000;

function namesBySmall(...names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [name.toLowerCase(), name]));
}

/** The kept attributes of an object of a provider, with their usual names. */
export function keptOf(kind: Kind, given: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const usual = attributesOf[kind].get(name.toLowerCase());
      return usual === undefined || value === null || value === undefined ? [] : [[usual, value] as const];
    }),
  );
}

/** @throws {ScimProblem} that names the attribute. */
export function userOf(kept: JsonObject): UserAttributes {
  const { userName, externalId, active = true, displayName, name, emails } = kept;
  return {
    userName: required('userName', userName),
    active: flagOf('active', active),
    ...some('externalId', externalId),
    ...some('displayName', displayName),
    ...(isObject(name) ? { name: textsOf('name', name) } : {}),
    ...(emails === undefined ? {} : { emails: emailsOf(emails) }),
  };
}

/** @throws {ScimProblem} that names the attribute. */
export function groupOf(kept: JsonObject): GroupAttributes {
  const { displayName, externalId, members = [] } = kept;
  return {
    displayName: required('displayName', displayName),
    ...some('externalId', externalId),
    members: membersIn(members),
  };
}

/** @throws {ScimProblem} */
export function membersIn(given: unknown): readonly string[] {
  const all = Array.isArray(given) ? (given as readonly unknown[]) : [given];
  if (all.length > maxMembers) throw invalid(`members: a group has at most ${maxMembers}`);
  const ids = all.map((each) => (isObject(each) ? each['value'] : each));
  if (!ids.every((id) => typeof id === 'string' && id !== '' && id.length <= maxNameBytes))
    throw invalid('members: expected objects with the id of a user as "value"');
  return [...new Set(ids as readonly string[])];
}

/** Entra ID sends `active` as a text with a capital letter. @throws {ScimProblem} */
function flagOf(name: string, value: unknown): boolean {
  const small = typeof value === 'string' ? value.toLowerCase() : value;
  if (small === true || small === 'true') return true;
  if (small === false || small === 'false') return false;
  throw invalid(`${name}: expected true or false`);
}

function required(name: string, value: unknown): string {
  if (value === undefined || value === '') throw invalid(`${name} is missing`);
  return text(name, value);
}

function some<Name extends string>(name: Name, value: unknown): { readonly [name in Name]?: string } {
  return (value === undefined || value === '' ? {} : { [name]: text(name, value) }) as { [name in Name]?: string };
}

/** A text that may be the name of a user or a group. @throws {ScimProblem} */
function text(name: string, value: unknown): string {
  if (typeof value !== 'string') throw invalid(`${name}: expected a text`);
  if (Buffer.byteLength(value) > maxNameBytes) throw invalid(`${name}: longer than ${maxNameBytes} bytes`);
  if (!isName(value)) throw invalid(`${name} ${noName}`);
  return value;
}

function textsOf(of: string, given: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const usual = partsOf[of]?.get(name.toLowerCase());
      return usual === undefined || value === null || value === ''
        ? []
        : [[usual, text(`${of}.${usual}`, value)] as const];
    }),
  );
}

function emailsOf(given: unknown): NonNullable<DirectoryUser['emails']> {
  const all = Array.isArray(given) ? (given as readonly unknown[]) : [given];
  return all
    .filter((each): each is JsonObject => isObject(each))
    .filter(({ value }) => typeof value === 'string' && value !== '')
    .slice(0, maxEmails)
    .map(({ value, type, primary }) => ({
      value: text('emails.value', value),
      ...some('type', type),
      ...(primary === undefined ? {} : { primary: flagOf('emails.primary', primary) }),
    }));
}
