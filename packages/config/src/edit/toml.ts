/** Tables of a TOML file, put in and taken out as text: its parser forgets comments. */
import { isDeepStrictEqual } from 'node:util';
import { parse, stringify, TomlError } from 'smol-toml';
import { tomlWords } from '../document.ts';
import { isMap } from '../values.ts';

/** @throws {Error} in words */
export function tomlValue(text: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text);
  } catch (error) {
    throw new Error(`it is not TOML: ${error instanceof TomlError ? tomlWords(error) : String(error)}`, {
      cause: error,
    });
  }
}

const header = (path: readonly string[], name: string): string =>
  [...path, name].map((step) => (/^[A-Za-z0-9_-]+$/.test(step) ? step : JSON.stringify(step))).join('.');

export function setTable(text: string, path: readonly string[], name: string, value: object): string {
  const without = removeTable(text, path, name);
  const plain = Object.fromEntries(Object.entries(value).filter(([, each]) => !isMap(each)));
  const inner = Object.entries(value)
    .filter(([, each]) => isMap(each))
    .map(([key, each]) => `\n[${header([...path, name], key)}]\n${stringify(each)}`);
  const changed = `${without.trimEnd()}${without.trim() === '' ? '' : '\n\n'}[${header(path, name)}]\n${stringify(plain).trimEnd()}\n${inner.join('')}`;
  const written = path.reduce<unknown>((at, step) => (isMap(at) ? at[step] : undefined), tomlValue(changed));
  if (
    !isMap(written) ||
    !isDeepStrictEqual(JSON.parse(JSON.stringify(written[name])), JSON.parse(JSON.stringify(value)))
  )
    throw new Error('the file cannot be edited by a program without changing other parts of it: edit it by hand');
  return changed;
}

export function removeTable(text: string, path: readonly string[], name: string): string {
  const before = path.reduce<unknown>((at, step) => (isMap(at) ? at[step] : undefined), tomlValue(text));
  if (!isMap(before) || !Object.hasOwn(before, name)) return text;
  const own = `[${[...path, name].join('.')}`;
  const kept: string[] = [];
  let isInside = false;
  for (const line of text.split('\n')) {
    if (/^\s*\[/.test(line)) {
      const bare = line.replaceAll(/["'\s]/g, '');
      isInside = bare.startsWith(`${own}]`) || bare.startsWith(`${own}.`);
    }
    if (!isInside) kept.push(line);
  }
  const changed = `${kept.join('\n').trimEnd()}\n`;
  const left = path.reduce<unknown>((at, step) => (isMap(at) ? at[step] : undefined), tomlValue(changed));
  if (isMap(left) && Object.hasOwn(left, name))
    throw new Error(
      `${[...path, name].join('.')} cannot be removed by a program without changing other parts of the file: edit it by hand`,
    );
  return changed === '\n' ? '' : changed;
}
