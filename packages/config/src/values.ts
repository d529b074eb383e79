/** Values as parsers of YAML, JSON and TOML return them. */

/** A map of a file. */
export type Values = Readonly<Record<string, unknown>>;

export const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The entries of a map that are maps themselves; none for anything else. */
export const mapsIn = (value: unknown): readonly (readonly [string, Values])[] =>
  isMap(value) ? Object.entries(value).flatMap(([key, each]) => (isMap(each) ? [[key, each] as const] : [])) : [];

/** The texts of a list; none for anything else. */
export const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];

/** Whether a map has one of the options. */
export const has = (value: Values, ...options: readonly string[]): boolean =>
  options.some((option) => Object.hasOwn(value, option));

/** @param path steps from the value to the one wanted. @returns undefined if it is not there. */
export function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let current = value;
  for (const step of path) current = (current as Record<string | number, unknown> | null | undefined)?.[step];
  return current;
}
