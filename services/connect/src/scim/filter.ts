/** Filters of lists (RFC 7644, 3.4.2.2), as far as providers send them: attributes that are equal to values, all of them. */
import { ScimProblem } from './problem.ts';

export interface Condition {
  /** In small letters, without the URN of its schema. */
  readonly attribute: string;
  readonly value: string | boolean;
}

/** Bound on a filter, and on its conditions. */
const maxCharacters = 2_000;
const maxConditions = 10;

const condition = /\s*([A-Za-z][\w.:$-]*)\s+eq\s+("(?:[^"\\]|\\.)*"|true|false)\s*/iy;
const conjunction = /and\s/iy;
const schema = /^urn:ietf:params:scim:schemas:core:2\.0:\w+:/i;

/** @throws {ScimProblem} */
export function parseFilter(text: string): readonly Condition[] {
  if (text.length > maxCharacters) throw problem(`it is longer than ${maxCharacters} characters`);
  const found: Condition[] = [];
  for (let at = 0; ;) {
    condition.lastIndex = at;
    const match = condition.exec(text);
    if (match === null || found.length >= maxConditions)
      throw problem(`${JSON.stringify(text.slice(at, at + 80))} is another`);
    const [, attribute = '', value = ''] = match;
    found.push({ attribute: attribute.replace(schema, '').toLowerCase(), value: valueOf(value) });
    at = condition.lastIndex;
    if (at === text.length) return found;
    conjunction.lastIndex = at;
    if (!conjunction.test(text)) throw problem(`${JSON.stringify(text.slice(at, at + 80))} is not "and"`);
    at = conjunction.lastIndex;
  }
}

function valueOf(text: string): string | boolean {
  if (!text.startsWith('"')) return text.toLowerCase() === 'true';
  try {
    return JSON.parse(text) as string;
  } catch {
    throw problem(`${text} is no text`);
  }
}

function problem(why: string): ScimProblem {
  return new ScimProblem(
    400,
    `filters are like: userName eq "ann" and active eq true, with at most ${maxConditions} conditions; ${why}`,
    'invalidFilter',
  );
}
