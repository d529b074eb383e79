/** An entry of a configuration as a person edits it in a page: YAML in which secrets are hidden, and keep their value where they stay hidden. */
import { parse, stringify } from 'yaml';
import { isSecretOption } from '../secret-options.ts';
import { secretArguments, secretsOfUrl } from '../secret-words.ts';
import { isMap } from '../values.ts';
import { scalarsOf, type EntryFormat } from './entries.ts';

/** Stands in place of a secret. */
const hiddenSecret = '•••';
/** A shorter text is no secret, and would be hidden in other words too. */
const leastCharacters = 4;
/** A shorter word of a secret, such as `Bearer`, tells nothing of it. */
const leastOfWord = 8;

/** The secrets that stand in a configuration as text; references such as `${TOKEN}` are none. @param given as it was written. */
export function secretsIn(given: unknown, path: readonly (string | number)[] = []): ReadonlySet<string> {
  if (typeof given === 'string')
    return new Set(
      isSecretOption(path) ? formsOf(given) : URL.canParse(given) ? secretsOfUrl(given).flatMap(formsOf) : [],
    );
  const words = Array.isArray(given) ? secretArguments(given.map(String)) : [];
  const members = Array.isArray(given) ? given.entries() : isMap(given) ? Object.entries(given) : [];
  return new Set([
    ...words.flatMap(formsOf),
    ...[...members].flatMap(([name, member]) => [...secretsIn(member, [...path, name])]),
  ]);
}

/** A secret as it may stand in a line of a file: whole, with the escapes of JSON, and by its words, between which YAML may break the line. */
function formsOf(secret: string): readonly string[] {
  if (secret.includes('${') || secret.length < leastCharacters) return [];
  const words = secret.split(/\s+/).filter((word) => word.length >= leastOfWord);
  return [secret, JSON.stringify(secret).slice(1, -1), ...words];
}

export function hideSecrets(text: string, secrets: ReadonlySet<string>): string {
  // The longest first: one secret may be a part of another.
  return [...secrets]
    .toSorted((one, other) => other.length - one.length)
    .reduce((left, secret) => left.replaceAll(secret, hiddenSecret), text);
}

/**
 * The secrets of a file as its text writes them, where that differs from the secret: with escapes, or in several lines.
 * @param text YAML or JSON.
 */
export function writtenSecrets(text: string, format: EntryFormat, secrets: ReadonlySet<string>): readonly string[] {
  return format === 'toml'
    ? []
    : scalarsOf(text, format)
        .filter(({ value, source }) => !source.includes(value) && hideSecrets(value, secrets) !== value)
        .flatMap(({ source }) => source.split('\n').map((line) => line.trim()))
        .filter((line) => line.length >= leastCharacters);
}

/** Where an entry stands in a configuration, or a value in it. */
type Place = readonly (string | number)[];

/** The options of an entry as YAML. @param server its name. */
export function shownEntry(entry: object, server: string, secrets: ReadonlySet<string>): string {
  return stringify(hiddenIn(entry, longOf(secrets), ['mcpServers', server]), { lineWidth: 0 });
}

/** A short secret may be a word of other options, and is hidden in its own alone. */
function longOf(secrets: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...secrets].filter((secret) => secret.length >= leastOfWord));
}

/** The value with its texts hidden where they are secret. Names of options, numbers and switches stay. */
function hiddenIn(value: unknown, secrets: ReadonlySet<string>, place: Place): unknown {
  if (typeof value === 'string') return hideSecrets(value, new Set([...secrets, ...secretsIn(value, place)]));
  if (Array.isArray(value)) {
    const all = new Set([...secrets, ...secretsIn(value, place)]);
    return value.map((item, at) => hiddenIn(item, all, [...place, at]));
  }
  return isMap(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, member]) => [name, hiddenIn(member, secrets, [...place, name])]),
      )
    : value;
}

/**
 * Reads an entry that a person has edited.
 * @param before the entry in the file, whose values stand for those that are hidden.
 * @param server its name.
 * @throws {Error} in words, if it is no map of options, a hidden value has no counterpart, or hidden values would go to another host.
 */
export function editedEntry(text: string, before: unknown, server: string, secrets: ReadonlySet<string>): object {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw new Error(`the options are no YAML: ${(error as Error).message.split('\n')[0]}`, { cause: error });
  }
  if (!isMap(value)) throw new Error('expected options, one on each line, such as "url: https://HOST/mcp"');
  const entry = restored(value, before, hiddenIn(before, longOf(secrets), ['mcpServers', server]), []) as object;
  const [from, to] = [originOf(before), originOf(entry)];
  if (from !== to && to !== undefined && text.includes(hiddenSecret))
    throw new Error(
      `url: the secrets that are shown as ${hiddenSecret} were for ${from ?? 'a program'}, and ${to} would get them; write them again, as \${NAME} for example`,
    );
  return entry;
}

/** The host that gets the secrets of an entry; undefined for a program. */
function originOf(entry: unknown): string | undefined {
  const url = isMap(entry) ? entry['url'] : undefined;
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined;
}

/** @param shown what was shown of the value before. */
function restored(value: unknown, before: unknown, shown: unknown, path: Place): unknown {
  if (typeof value === 'string') {
    if (!value.includes(hiddenSecret)) return value;
    if (typeof before === 'string' && shown === value) return before;
    throw new Error(
      `${path.join('.')}: ${hiddenSecret} stands for a secret that this option did not have; write it as \${NAME}, and set the variable`,
    );
  }
  if (Array.isArray(value))
    return value.map((item, at) => restored(item, memberOf(before, at), memberOf(shown, at), [...path, at]));
  return isMap(value)
    ? Object.fromEntries(
        Object.entries(value).map(([name, member]) => [
          name,
          restored(member, memberOf(before, name), memberOf(shown, name), [...path, name]),
        ]),
      )
    : value;
}

function memberOf(value: unknown, step: string | number): unknown {
  if (typeof step === 'number') return Array.isArray(value) ? value[step] : undefined;
  return isMap(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}
