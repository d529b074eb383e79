/**
 * Changes of users and groups (RFC 7644, 3.5.2) with the forms that Entra ID and Okta really send: `op` with a capital letter, no path, paths as names in
 * the value, a list of one object for a single value, members to remove in the value, and attributes that are not kept here.
 */
import { isObject, type JsonObject } from '@omnibus/protocol';
import { attributesOf, lists, membersIn, partsOf, type Kind } from './attributes.ts';
import { parseFilter } from './filter.ts';
import { ScimProblem } from './problem.ts';

type Op = 'add' | 'replace' | 'remove';
type Draft = Record<string, unknown>;

interface Path {
  readonly attribute: string;
  readonly filter: string | undefined;
  readonly part: string | undefined;
}

/** Bound on the operations of one request. */
const maxOperations = 1_000;

const coreSchema = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i;
const pathForm = /^([A-Za-z$][\w$-]*)(?:\[(.*)\])?(?:\.([A-Za-z$][\w$-]*))?$/s;

/**
 * The attributes after the operations of a request.
 * @param before the kept attributes now, with members as a list of objects.
 * @throws {ScimProblem}
 */
export function patched(kind: Kind, before: JsonObject, body: JsonObject): JsonObject {
  const operations = member(body, 'operations');
  if (!Array.isArray(operations) || operations.length === 0)
    throw new ScimProblem(400, 'expected "Operations": a list of changes', 'invalidSyntax');
  if (operations.length > maxOperations)
    throw new ScimProblem(413, `more than ${maxOperations} operations in one request`, 'tooMany');
  const draft: Draft = { ...before };
  for (const each of operations as readonly unknown[]) {
    if (!isObject(each)) throw new ScimProblem(400, 'expected each operation to be an object', 'invalidSyntax');
    const op = String(member(each, 'op')).toLowerCase();
    if (op !== 'add' && op !== 'replace' && op !== 'remove')
      throw new ScimProblem(400, `${JSON.stringify(op)} is not one of add, replace and remove`, 'invalidSyntax');
    change(kind, draft, op, { path: member(each, 'path'), value: member(each, 'value') });
  }
  return draft;
}

/** A member of a message; names are the same in capital and small letters. */
function member(object: JsonObject, small: string): unknown {
  return Object.entries(object).find(([name]) => name.toLowerCase() === small)?.[1];
}

function change(
  kind: Kind,
  draft: Draft,
  op: Op,
  { path, value }: { readonly path: unknown; readonly value: unknown },
): void {
  if (path !== undefined && typeof path !== 'string')
    throw new ScimProblem(400, 'path: expected a text', 'invalidPath');
  if (path !== undefined && path.trim() !== '') {
    const parsed = parsePath(kind, path.trim());
    if (parsed !== undefined) changeAt(draft, op, parsed, value);
    return;
  }
  if (op === 'remove') throw new ScimProblem(400, 'an operation "remove" needs a path', 'noTarget');
  if (!isObject(value))
    throw new ScimProblem(400, 'an operation without a path needs an object as its value', 'invalidValue');
  for (const [name, each] of Object.entries(value)) {
    const parsed = parsePath(kind, name);
    if (parsed !== undefined) changeAt(draft, op, parsed, each);
  }
}

/** @returns undefined for an attribute that is not kept. @throws {ScimProblem} */
function parsePath(kind: Kind, text: string): Path | undefined {
  const plain = text.replace(coreSchema, '');
  // Attributes of an extension.
  if (plain.toLowerCase().startsWith('urn:')) return undefined;
  const [, name = '', filter, part] = pathForm.exec(plain) ?? [];
  if (name === '')
    throw new ScimProblem(400, `${JSON.stringify(text.slice(0, 200))} is no path of an attribute`, 'invalidPath');
  const attribute = attributesOf[kind].get(name.toLowerCase());
  if (attribute === undefined) return undefined;
  const known = part === undefined ? undefined : partsOf[attribute]?.get(part.toLowerCase());
  return part !== undefined && known === undefined ? undefined : { attribute, filter, part: known };
}

function changeAt(draft: Draft, op: Op, { attribute, filter, part }: Path, value: unknown): void {
  if (filter !== undefined) return changeElements(draft, op, { attribute, filter, part }, value);
  if (part !== undefined) return changePart(draft, op, attribute, part, value);
  if (lists.has(attribute)) return changeList(draft, op, attribute, value);
  if (op === 'remove' || value === null) delete draft[attribute];
  else
    draft[attribute] =
      attribute === 'name' && isObject(draft['name']) && isObject(value)
        ? { ...draft['name'], ...value }
        : single(value);
}

/** Older forms of Entra ID put a single value into a list. */
function single(value: unknown): unknown {
  const [first, ...others] = Array.isArray(value) ? (value as readonly unknown[]) : [value];
  return Array.isArray(value) && others.length === 0 && isObject(first) && 'value' in first ? first['value'] : value;
}

function changeList(draft: Draft, op: Op, attribute: string, value: unknown): void {
  const before = elementsOf(draft, attribute);
  const given =
    value === undefined || value === null ? [] : Array.isArray(value) ? (value as readonly unknown[]) : [value];
  if (op === 'replace') draft[attribute] = given;
  else if (op === 'add') draft[attribute] = [...before, ...given];
  else if (attribute === 'members' && given.length > 0) {
    const gone = new Set(membersIn(given));
    draft[attribute] = before.filter((each) => !gone.has(String(each['value'])));
  } else draft[attribute] = [];
}

/** A path without a filter into a list changes its first element. */
function changePart(draft: Draft, op: Op, attribute: string, part: string, value: unknown): void {
  if (!lists.has(attribute)) {
    const { [part]: _before, ...rest } = isObject(draft[attribute]) ? draft[attribute] : {};
    draft[attribute] = op === 'remove' ? rest : { ...rest, [part]: single(value) };
    return;
  }
  const [first = {}, ...others] = elementsOf(draft, attribute);
  draft[attribute] = op === 'remove' ? others : [{ ...first, [part]: single(value) }, ...others];
}

function changeElements(draft: Draft, op: Op, { attribute, filter = '', part }: Path, value: unknown): void {
  if (!lists.has(attribute))
    throw new ScimProblem(400, `${attribute} is no list, so its path has no filter`, 'invalidPath');
  const conditions = parseFilter(filter);
  const isMeant = (each: JsonObject): boolean =>
    conditions.every(({ attribute: name, value: wanted }) => String(each[name]) === String(wanted));
  const before = elementsOf(draft, attribute);
  if (op === 'remove') {
    draft[attribute] = before.filter((each) => !isMeant(each));
    return;
  }
  const change = (each: JsonObject): JsonObject =>
    part === undefined ? { ...each, ...(isObject(value) ? value : {}) } : { ...each, [part]: single(value) };
  // Entra ID changes the address of a type that the user did not have.
  const asked = Object.fromEntries(conditions.map(({ attribute: name, value: wanted }) => [name, wanted]));
  draft[attribute] = before.some(isMeant)
    ? before.map((each) => (isMeant(each) ? change(each) : each))
    : [...before, change(keptParts(attribute, asked))];
}

const elementsOf = (draft: Draft, attribute: string): readonly JsonObject[] =>
  Array.isArray(draft[attribute]) ? (draft[attribute] as readonly unknown[]).filter((each) => isObject(each)) : [];

function keptParts(attribute: string, given: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const usual = partsOf[attribute]?.get(name.toLowerCase());
      return usual === undefined ? [] : [[usual, value] as const];
    }),
  );
}
