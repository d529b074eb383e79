/** Turns findings in a configuration into messages with fixes. */
import type { z } from 'zod';
import { nearDuration } from './duration.ts';
import { foreign } from './foreign-options.ts';
import { nearestOf } from './nearest.ts';
import { otherPlace } from './nesting.ts';
import type { Path } from './problem.ts';
import { configSchema } from './checked-schema.ts';
import { withoutValues } from './put-in.ts';
import { isSecretOption } from './secret-options.ts';
import { rightForm, shown, shownWords } from './right-forms.ts';
import { isMap, valueAt, type Values } from './values.ts';

type Report = (path: Path, message: string) => void;

/**
 * @param value the checked value, with references replaced.
 * @param written the same as the file has it. Messages repeat this one: the value of a reference may be a secret of any form.
 */
export function reportIssue(issue: z.core.$ZodIssue, value: unknown, report: Report, written = value): void {
  const path = issue.path as Path;
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) {
      const found: unknown = isMap(valueAt(value, path)) ? (valueAt(value, path) as Values)[key] : undefined;
      const place = otherPlace(key, found, path);
      report(
        [...path, key],
        `unknown option${foreign(key, path, valueAt(written, path)) ?? (place === undefined ? nearest(key, path) : `; ${place}`)}`,
      );
    }
    return;
  }
  const got = valueAt(value, path);
  if (issue.code === 'invalid_union') {
    const meant = meantForm(issue, got);
    for (const inner of meant) reportIssue({ ...inner, path: [...issue.path, ...inner.path] }, value, report, written);
    if (meant.length > 0 || isContainer(got)) return;
  }
  report(
    path,
    issue.code === 'invalid_key' ? keyWords(issue, path) : valueWords(issue, got, valueAt(written, path), path),
  );
}

function keyWords(issue: z.core.$ZodIssueInvalidKey, path: Path): string {
  const fitting = String(path.at(-1))
    .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, 64);
  return `${issue.issues[0]?.message ?? issue.message}${fitting === '' ? '' : `, for example "${fitting}"`}`;
}

function valueWords(issue: z.core.$ZodIssue, got: unknown, written: unknown, path: Path): string {
  const repeated = written ?? got;
  const isPutIn = typeof repeated === 'string' && /(?<!\$)\$\{/.test(repeated);
  const words = wordsOf({ ...issue, message: withoutValues(issue.message, got, repeated) }, repeated, path);
  if (got === undefined || got === null || isContainer(got) || isSecret(path)) return words;
  return `${words}, got ${isPutIn ? 'the value of ' : ''}${JSON.stringify(typeof repeated === 'string' ? shown(repeated) : repeated)}`;
}

function wordsOf(issue: z.core.$ZodIssue, got: unknown, path: Path): string {
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input'))
    return typeWords(issue.expected, got, path);
  if (issue.code === 'invalid_value' && issue.values.length > 0)
    return choiceWords(issue.values.map(String), got, path);
  if (issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options))
    return choiceWords(issue.options.map(String), got, path);
  const near = issue.message.startsWith('expected a duration') ? nearDuration(got) : undefined;
  const other = issue.message.startsWith('expected') ? rightForm(got, path) : undefined;
  const form = near === undefined ? other : `write "${near}"`;
  return boundWords(issue) ?? (form === undefined ? issue.message : `${issue.message}: ${form}`);
}

function choiceWords(choices: readonly string[], got: unknown, path: Path): string {
  const near = typeof got === 'string' ? nearestOf(got, choices) : undefined;
  const form = near === undefined ? rightForm(got, path) : `write "${near}"`;
  return `expected ${listed(choices.map((each) => JSON.stringify(each)))}${form === undefined ? '' : `: ${form}`}`;
}

const isContainer = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** The problems with the form of an option that its author probably meant, of an option with several. */
function meantForm({ errors, message }: z.core.$ZodIssueInvalidUnion, got: unknown): readonly z.core.$ZodIssue[] {
  // A list or map: the form that takes such a value, and the map if none does.
  if (isContainer(got))
    return (
      errors.find(
        (each) => each.length > 0 && each.every(({ code, path: at }) => at.length > 0 || code === 'unrecognized_keys'),
      ) ??
      errors.at(-1) ??
      []
    );
  if (!message.startsWith('Invalid input')) return [];
  // A word or number: the form that takes such a value, and the first form if none does.
  return errors.find((each) => each.length > 0 && each.every(({ code }) => code !== 'invalid_type')) ?? errors[0] ?? [];
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
};

// oxlint-disable-next-line complexity -- a table: one line for each kind of value
function typeWords(expected: string, got: unknown, path: Path): string {
  const wanted = typeNames[expected] ?? expected;
  const isServer = path.length === 2 && path[0] === 'mcpServers';
  const form = rightForm(got, path);
  if (form !== undefined) return `expected ${wanted}: ${form}`;
  if (expected === 'string' && (typeof got === 'number' || typeof got === 'boolean'))
    return 'expected a text: put it in quotes';
  if (got === null)
    return `expected ${wanted}, and there is no value${isServer ? ': write "command" (a program to start) or "url" (a server to connect to) below it, indented' : ''}`;
  if (expected === 'array' && typeof got === 'string')
    return `expected a list${isSecret(path) ? '' : `: ${JSON.stringify(shownWords(got.trim().split(/\s+/)))}`}`;
  if (Array.isArray(got)) return listWords(wanted, path);
  const isItem = typeof path.at(-1) === 'number' && expected === 'string';
  if (typeof got === 'object' && isItem && Object.keys(got).length === 1)
    return `expected a text, and this is a map, since a blank follows a colon: put the item in quotes, "${shownWords(Object.keys(got)).join('')}: …"`;
  if (typeof got === 'object') return `expected ${wanted}, and this is a map`;
  const plain = typeof got === 'string' && !isSecret(path) ? plainValue(expected, got.trim()) : undefined;
  if (plain !== undefined) return `expected ${wanted}: write ${plain}, without quotes`;
  const size = typeof got === 'string' ? /^(\d+)\s*([kmg])i?b?$/i.exec(got) : null;
  if (size !== null && (expected === 'number' || expected === 'int'))
    return `expected a number: ${Number(size[1]) * 1_024 ** ('kmg'.indexOf((size[2] as string).toLowerCase()) + 1)}`;
  if (path.length === 0)
    return `expected a map of options, such as "mcpServers:", and this is ${typeof got === 'string' ? 'a text' : `a ${typeof got}`}`;
  if (isServer && !isContainer(got))
    return typeof got === 'string' && /^(https?|wss?):/.test(got)
      ? `expected a map: write { url: ${JSON.stringify(shown(got))} }`
      : 'expected a map: write "command" (a program to start) or "url" (a server to connect to) below it, indented';
  return got === undefined ? `expected ${wanted}, and it is missing` : `expected ${wanted}`;
}

/** A number, true or false that was written as a text, or in the words of an older YAML. */
function plainValue(expected: string, got: string): string | undefined {
  if (expected === 'boolean') {
    if (/^(true|yes|y|on|enabled|1)$/i.test(got)) return 'true';
    return /^(false|no|n|off|disabled|0)$/i.test(got) ? 'false' : undefined;
  }
  if (expected !== 'number' && expected !== 'int') return undefined;
  const digits = got.replaceAll(/(?<=\d)[_ ',.](?=\d{3}(?!\d))/g, '');
  return /^-?\d+(\.\d+)?$/.test(digits) ? String(Number(digits)) : undefined;
}

/** Where a list was written. */
function listWords(wanted: string, path: Path): string {
  if (path.length === 0)
    return 'expected a map, and this is a list: write the servers under mcpServers, with the name of each in front of its options';
  const last = path.at(-1);
  return last === 'mcpServers' || last === 'profiles'
    ? `expected a map, with the name of each ${last === 'profiles' ? 'profile' : 'server'} in front of its options, and this is a list`
    : `expected ${wanted}, and this is a list`;
}

function boundWords(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code === 'too_small') {
    if (issue.origin === 'string') return 'expected a non-empty text';
    return issue.origin === 'array'
      ? `expected ${String(issue.minimum)} or more`
      : `expected a number ${issue.inclusive === false ? 'above' : 'of at least'} ${String(issue.minimum)}`;
  }
  if (issue.code === 'too_big')
    return issue.origin === 'string'
      ? `expected at most ${String(issue.maximum)} characters`
      : issue.origin === 'array'
        ? `expected at most ${String(issue.maximum)} of them`
        : `expected a number of at most ${String(issue.maximum)}`;
  return undefined;
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1) as string}`;

/** Whether the option's value is secret. */
function isSecret(path: Path): boolean {
  return (
    path.some(
      (step) =>
        typeof step === 'string' &&
        /^(password|token|headers|env|clientSecret|privateKey|secret|registrationToken)$/.test(step),
    ) || isSecretOption(path)
  );
}

/** The option a mistyped key probably means. */
function nearest(key: string, path: Path): string {
  const name = nearestOf(key, optionNames(path));
  return name === undefined ? '' : `; did you mean "${name}"?`;
}

function optionNames(path: Path): string[] {
  let schema: unknown = configSchema;
  for (const step of [...path, undefined]) {
    let definition = definitionOf(schema);
    while (definition?.innerType !== undefined || definition?.in !== undefined || definition?.options !== undefined) {
      schema = definition.innerType ?? definition.in ?? definition.options?.at(-1);
      definition = definitionOf(schema);
    }
    if (step === undefined) return Object.keys(definition?.shape ?? {});
    schema = definition?.shape?.[step] ?? definition?.valueType ?? definition?.element;
  }
  return [];
}

interface Definition {
  readonly innerType?: unknown;
  readonly in?: unknown;
  readonly options?: readonly unknown[];
  readonly shape?: Record<string | number, unknown>;
  readonly valueType?: unknown;
  readonly element?: unknown;
}

function definitionOf(schema: unknown): Definition | undefined {
  return (schema as { readonly def?: Definition } | undefined)?.def;
}
