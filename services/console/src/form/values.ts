/** The content of a form: values, and texts that cannot be read as values yet. A value that is left out, an empty one, and null are different. */
import { fieldsOf, isNullable, resolve, shapeOf, waysOf, type Schema } from './schema.ts';

/** A text that is not of the type of its field. */
export class Unread {
  readonly text: string;
  readonly problem: string;

  constructor(text: string, problem: string) {
    this.text = text;
    this.problem = problem;
  }
}

/** Reads a number; undefined for an empty text. @param isWhole whether it must be an integer. */
export function readNumber(text: string, isWhole: boolean): number | Unread | undefined {
  const said = text.trim();
  if (said === '') return undefined;
  const value = Number(said);
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(said) || !Number.isFinite(value))
    return new Unread(text, 'this is no number');
  if (isWhole && !Number.isInteger(value)) return new Unread(text, 'a whole number is wanted');
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return new Unread(text, 'this number is too large to be kept exactly here: write it as JSON');
  return value;
}

/** Reads JSON; undefined for an empty text. */
export function readJson(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    return new Unread(text, (error as Error).message);
  }
}

export interface FieldProblem {
  /** Path of the field. */
  readonly path: string;
  readonly problem: string;
}

/** Why a form cannot be sent yet: missing and unreadable values. Other rules of the schema are left to the server. */
export function problemsOf(value: unknown, schema: Schema, root: Schema, path = ''): readonly FieldProblem[] {
  if (value instanceof Unread) return [{ path, problem: value.problem }];
  if (value === null)
    return isNullable(schema, root) || schema['type'] === undefined ? [] : [{ path, problem: 'it may not be null' }];
  if (Array.isArray(value)) {
    const items = resolve(schema['items'] ?? {}, root) ?? {};
    return value.flatMap((item: unknown, index) =>
      item === undefined
        ? [{ path: `${path}[${index + 1}]`, problem: 'needed' }]
        : problemsOf(item, items, root, `${path}[${index + 1}]`),
    );
  }
  if (typeof value !== 'object' || value === undefined) return [];
  // Of several alternatives, the one with the fewest missing fields counts.
  const ways = waysOf(schema, root).filter((way) => shapeOf(way) === 'object');
  const found = ways
    .map((way) => missingIn(value as Readonly<Record<string, unknown>>, way, root, path))
    .toSorted((one, other) => one.length - other.length);
  return found[0] ?? [];
}

function missingIn(
  given: Readonly<Record<string, unknown>>,
  schema: Schema,
  root: Schema,
  path: string,
): readonly FieldProblem[] {
  return fieldsOf(schema, root).flatMap(({ name, schema: field, isRequired }) => {
    const inner = path === '' ? name : `${path}.${name}`;
    if (Object.hasOwn(given, name) && given[name] !== undefined) return problemsOf(given[name], field, root, inner);
    return isRequired ? [{ path: inner, problem: 'needed' }] : [];
  });
}

/** The initial value of a form: required objects, and nothing else. Defaults appear as hints, and are not sent. */
export function emptyOf(schema: Schema, root: Schema, depth = 0): unknown {
  const [way = schema] = waysOf(schema, root);
  if (shapeOf(way) !== 'object' || depth > 8) return undefined;
  const inner = fieldsOf(way, root)
    .filter(({ isRequired }) => isRequired)
    .map(({ name, schema: field }) => [name, emptyOf(field, root, depth + 1)] as const)
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(inner);
}
