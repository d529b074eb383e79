/** The difference of two configurations, option by option, without secrets. */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigDifference } from '@omnibus/admin-api';
import type { Config } from '@omnibus/config';
import { isObject } from '@omnibus/protocol';
import { shownValues, type ConfigSourceOf } from './shown-config.ts';

/** Bound on the options of one difference: for more, compare the files. */
const maxOptions = 200;

export function differenceOf(before: ConfigSourceOf, after: ConfigSourceOf): ConfigDifference {
  const [old, now] = [leavesOf(before.config), leavesOf(after.config)];
  const [oldShown, nowShown] = [before, after].map(
    (each) => new Map(shownValues(each).map((value) => [value.path, value])),
  );
  const paths = [...new Set([...old.keys(), ...now.keys()])].filter(
    (path) => !isDeepStrictEqual(old.get(path), now.get(path)),
  );
  const options = paths.slice(0, maxOptions).map((path) => {
    const [was, is] = [oldShown?.get(path), nowShown?.get(path)];
    // A secret without its reference would appear next to its hidden form.
    const isSecret = was?.isSecret === true || is?.isSecret === true;
    const side = <Name extends string>(name: Name, leaves: ReadonlyMap<string, unknown>, shown: typeof was): object =>
      leaves.has(path) ? { [name]: isSecret ? (shown?.reference ?? '•••') : shown?.value } : {};
    return { path, ...side('before', old, was), ...side('after', now, is), ...(isSecret ? { isSecret } : {}) };
  });
  return { options, more: paths.length - options.length };
}

/** The options of a configuration as `shownValues` names them, with their values. */
function leavesOf(config: Config): ReadonlyMap<string, unknown> {
  const leaves = new Map<string, unknown>();
  const add = (value: unknown, path: readonly string[]): void => {
    if (isObject(value) && Object.keys(value).length > 0)
      for (const [name, member] of Object.entries(value)) add(member, [...path, name]);
    else if (value !== undefined) leaves.set(path.join('.'), value);
  };
  add(config, []);
  return leaves;
}
