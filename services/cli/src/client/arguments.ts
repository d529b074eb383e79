/** Arguments as people type them: `key=text`, `key:=JSON`, `key=@file`, or all of them as one JSON object. */
import { readFileSync } from 'node:fs';
import { text as textOfStream } from 'node:stream/consumers';
import { isObject, parseJson, type JsonObject } from '@omnibus/protocol';
import { CommandProblem } from '@omnibus/client';
import { choicesOf } from './choices.ts';

/**
 * @param words as typed.
 * @param schema of the arguments; gives the type that each text is converted to.
 * @param whole value of `--args`: a JSON object.
 * @throws {CommandProblem}
 */
export function readArguments(
  words: readonly string[],
  schema: JsonObject | undefined,
  whole: string | undefined,
): Record<string, unknown> {
  const [first = ''] = words;
  const given = whole ?? (first.startsWith('{') && words.length === 1 ? first : undefined);
  const all: Record<string, unknown> = given === undefined ? {} : { ...readObject(given) };
  const fields = isObject(schema?.['properties']) ? schema['properties'] : {};
  for (const word of given === first ? [] : words) {
    const match = /^([^=:]+)(:?=)(.*)$/s.exec(word);
    if (match === null)
      throw new CommandProblem('usage', `${JSON.stringify(word)} is not an argument`, {
        advice: 'write key=value, key:=JSON or key=@FILE, or all of them as JSON: --args \'{"key": "value"}\'',
      });
    const [, key, sign, text] = match as unknown as [string, string, string, string];
    const field = Object.hasOwn(fields, key) && isObject(fields[key]) ? fields[key] : {};
    all[key] =
      sign === ':='
        ? readJson(text, key)
        : readValue(text.startsWith('@') ? readText(text.slice(1)) : text, field, key);
  }
  return all;
}

/**
 * The value of `--args`; `-` reads it from stdin. A pipe may be one that does not block, where a synchronous read fails while nothing is there. A terminal is read
 * at once, since a question may follow, and the stream of one that has ended asks nothing.
 */
export async function wholeOf(args: string | undefined): Promise<string | undefined> {
  if (args !== '-') return args;
  return process.stdin.isTTY ? readFileSync(0, 'utf8') : textOfStream(process.stdin);
}

/** Names of required arguments that are missing. */
export function missingOf(given: Readonly<Record<string, unknown>>, schema: JsonObject | undefined): readonly string[] {
  return Array.isArray(schema?.['required'])
    ? schema['required'].filter((name): name is string => typeof name === 'string' && !Object.hasOwn(given, name))
    : [];
}

/** Converts a text to the type that its schema gives. @param name of the argument, for the error. @throws {CommandProblem} if it does not fit. */
// oxlint-disable-next-line complexity -- a table: one line for each type of JSON Schema
export function readValue(text: string, schema: JsonObject, name: string): unknown {
  const types = typesOf(schema);
  const wrong = (expected: string): CommandProblem =>
    new CommandProblem('usage', `${name}: expected ${expected}, got ${JSON.stringify(text)}`);
  const choices = choicesOf(schema);
  if (types.has('array'))
    return text.trimStart().startsWith('[')
      ? readJson(text, name)
      : text.split(',').map((each) => readValue(each.trim(), isObject(schema['items']) ? schema['items'] : {}, name));
  if (types.has('object') && /^\s*\{/.test(text)) return readJson(text, name);
  if (choices.length > 0 && types.has('string') && !choices.includes(text)) throw wrong(`one of ${choices.join(', ')}`);
  if (types.has('string') || types.size === 0) return text;
  if (types.has('null') && text === 'null') return null;
  if (types.has('boolean') && /^(true|false|yes|no)$/.test(text)) return text === 'true' || text === 'yes';
  if (
    (types.has('number') || types.has('integer')) &&
    text.trim() !== '' &&
    Number.isFinite(Number(text)) &&
    (types.has('number') || /^-?\d+$/.test(text))
  )
    return parseJson(String(Number(text)) === text ? text : readable(text));
  throw wrong(
    types.has('boolean')
      ? 'true or false'
      : types.has('integer')
        ? 'a whole number'
        : types.has('number')
          ? 'a number'
          : types.has('object')
            ? 'JSON: {…}'
            : [...types].join(' or '),
  );
}

/** The number as it was typed where that is valid JSON, else as JavaScript writes it. */
function readable(text: string): string {
  return /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(text) ? text : String(Number(text));
}

function typesOf(schema: JsonObject): ReadonlySet<unknown> {
  const { type, anyOf, oneOf } = schema;
  if (typeof type === 'string') return new Set([type]);
  if (Array.isArray(type)) return new Set(type);
  const some = [anyOf, oneOf].flatMap((each) => (Array.isArray(each) ? each.filter(isObject) : []));
  return new Set(some.flatMap((each) => [...typesOf(each)]));
}

function readJson(text: string, name: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new CommandProblem('usage', `${name}: ${JSON.stringify(text)} is not JSON: ${(error as Error).message}`);
  }
}

function readObject(text: string): JsonObject {
  const value = readJson(text, '--args');
  if (!isObject(value))
    throw new CommandProblem('usage', '--args: expected a JSON object of arguments, such as \'{"key": "value"}\'');
  return value;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandProblem('usage', `${file} cannot be read: ${(error as Error).message}`);
  }
}
