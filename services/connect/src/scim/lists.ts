/** Lists of users and groups: filters, pages, and the wanted attributes (RFC 7644, 3.4.2 and 3.9). */
import type { DirectoryGroup, DirectoryUser, JsonObject } from '@omnibus/protocol';
import { maxMembers } from './attributes.ts';
import { listSchema, maxPage } from './documents.ts';
import { parseFilter, type Condition } from './filter.ts';
import { ScimProblem } from './problem.ts';

export type Resource = JsonObject & { readonly id: string };

const usualPage = 100;
/** Members of all groups of a page. */
const maxMembersOfPage = 2 * maxMembers;

export function filterIn(query: URLSearchParams): readonly Condition[] {
  const filter = query.get('filter');
  return filter === null || filter.trim() === '' ? [] : parseFilter(filter);
}

export function isUser(user: DirectoryUser, { attribute, value }: Condition): boolean {
  const text = String(value);
  switch (attribute) {
    case 'id':
    case 'externalid':
      return (attribute === 'id' ? user.id : user.externalId) === text;
    case 'username':
      return user.userName.toLowerCase() === text.toLowerCase();
    case 'displayname':
      return user.displayName?.toLowerCase() === text.toLowerCase();
    case 'active':
      return String(user.active) === text.toLowerCase();
    case 'emails.value':
    case 'emails':
      return user.emails?.some((each) => each.value.toLowerCase() === text.toLowerCase()) === true;
    default:
      throw new ScimProblem(
        400,
        'filters of users compare id, externalId, userName, displayName, active or emails.value',
        'invalidFilter',
      );
  }
}

export function isGroup(
  { id, externalId, displayName }: DirectoryGroup,
  { attribute, value }: Condition,
  members: () => readonly string[],
): boolean {
  const text = String(value);
  switch (attribute) {
    case 'id':
      return id === text;
    case 'externalid':
      return externalId === text;
    case 'displayname':
      return displayName.toLowerCase() === text.toLowerCase();
    case 'members.value':
    case 'members':
      return members().includes(text);
    default:
      throw new ScimProblem(
        400,
        'filters of groups compare id, externalId, displayName or members.value',
        'invalidFilter',
      );
  }
}

interface Page<Entry> {
  readonly totalResults: number;
  readonly startIndex: number;
  readonly shown: readonly Entry[];
}

/**
 * One page (RFC 7644, 3.4.2.4).
 * @param sizeOf members of an entry in the answer: a page ends before the entry with which it would have too many, and has one entry at least.
 */
export function pageOf<Entry>(
  all: readonly Entry[],
  query: URLSearchParams,
  sizeOf: (entry: Entry) => number = () => 0,
): Page<Entry> {
  const whole = (name: string, usual: number): number => {
    const text = query.get(name);
    return text === null || !/^-?\d{1,9}$/.test(text) ? usual : Number(text);
  };
  const startIndex = Math.max(1, whole('startIndex', 1));
  const count = Math.min(maxPage, Math.max(0, whole('count', usualPage)));
  const shown: Entry[] = [];
  let size = 0;
  for (const entry of all.slice(startIndex - 1, startIndex - 1 + count)) {
    size += sizeOf(entry);
    if (size > maxMembersOfPage && shown.length > 0) break;
    shown.push(entry);
  }
  return { totalResults: all.length, startIndex, shown };
}

/** The answer with a page. @param isShown of `shownBy`. @param made from an entry. */
export function listed<Entry>(
  { totalResults, startIndex, shown }: Page<Entry>,
  isShown: (name: string) => boolean,
  made: (entry: Entry) => Resource,
): JsonObject {
  return {
    schemas: [listSchema],
    totalResults,
    startIndex,
    itemsPerPage: shown.length,
    Resources: shown.map((entry) => selected(made(entry), isShown)),
  };
}

/** The wanted attributes of a resource. */
export function selected(resource: Resource, isShown: (name: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(resource).filter(([name]) => isShown(name)));
}

/** Whether a request wants an attribute (RFC 7644, 3.9): whole ones, not parts of them. */
export function shownBy(query: URLSearchParams): (name: string) => boolean {
  const named = (name: string): ReadonlySet<string> | undefined => {
    const text = query.get(name);
    return text === null || text === ''
      ? undefined
      : new Set(
          text
            .toLowerCase()
            .split(',')
            .map((each) => each.trim().split('.')[0] as string),
        );
  };
  const [wanted, unwanted] = [named('attributes'), named('excludedAttributes')];
  return (name) => {
    const small = name.toLowerCase();
    if (small === 'id' || small === 'schemas') return true;
    return wanted === undefined ? unwanted?.has(small) !== true : wanted.has(small);
  };
}
