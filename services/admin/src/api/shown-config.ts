/** The configuration in force for showing to people: each value and where it comes from, without secrets. */
import type { Configuration, ConfigDifference } from '@omnibus/admin-api';
import { isSecretOption, type Config, type LoadedConfig } from '@omnibus/config';
import { hasToken, isObject } from '@omnibus/protocol';
import { mayDo, type AdminRole } from '../roles.ts';

type Value = Configuration['values'][number];
type Path = readonly (string | number)[];

/** Stands in place of a secret. */
const hidden = '•••';
/** Bound on shown options, more than a person looks through; of a larger configuration the rest is left out. */
const maxValues = 10_000;
const reference = /\$\{[^}]+\}/;

/** Where the parts of a configuration come from. */
export interface ConfigSourceOf {
  readonly config: Config;
  /** The content of the file; undefined when there is none. */
  readonly loaded?: Pick<LoadedConfig, 'given' | 'problemAt'> | undefined;
  /** Options that the command line or the environment gave. */
  readonly overrides: Readonly<Record<string, 'option' | 'environment'>>;
  /** Servers and profiles that were found in Kubernetes. */
  readonly discovered: ReadonlySet<string>;
}

/** The configuration without secrets, for comparing what processes run: those that do not connect to servers lack the servers' secrets. */
export function redactedConfig(config: Config): unknown {
  const { mcpServers, vault: _keys, ...rest } = config;
  return walk(
    {
      ...rest,
      listen: '',
      admin: '',
      bus: '',
      nats: '',
      mcpServers: Object.fromEntries(
        Object.entries(mcpServers).map(
          ([name, { headers: _headers, env: _env, envFile: _file, credentials: _credentials, ...server }]) => [
            name,
            server,
          ],
        ),
      ),
    },
    [],
  );
}

function walk(value: unknown, path: Path): unknown {
  if (isSecretOption(path)) return hidden;
  if (Array.isArray(value)) return value.map((item, index) => walk(item, [...path, index]));
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, walk(member, [...path, name])]))
    : value;
}

export function shownValues({ config, loaded, overrides, discovered }: ConfigSourceOf): Value[] {
  const values: Value[] = [];
  const add = (value: unknown, given: unknown, path: Path): void => {
    if (values.length >= maxValues || value === undefined) return;
    if (isObject(value) && Object.keys(value).length > 0) {
      for (const [name, member] of Object.entries(value))
        add(member, isObject(given) ? given[name] : undefined, [...path, name]);
      return;
    }
    const [top, name] = path;
    const override = overrides[String(top)];
    const isDiscovered = (top === 'mcpServers' || top === 'profiles') && discovered.has(String(name));
    const from = override ?? (isDiscovered ? 'kubernetes' : given === undefined ? 'default' : 'file');
    const said = secretOf(value, given, path);
    const place = from === 'file' && loaded !== undefined ? placeOf(loaded, path) : undefined;
    values.push({ path: path.join('.'), from, ...said, ...(place === undefined ? {} : { place }) });
  };
  add(config, loaded?.given, []);
  return values;
}

/** The configuration for a caller with these roles: only those that may see the rules get the roles. */
export function configurationFor(shown: Configuration, roles: readonly AdminRole[]): Configuration {
  if (mayDo('policy', roles)) return shown;
  const { changed, rejected, ...rest } = shown;
  const without = (difference: ConfigDifference): ConfigDifference => ({
    ...difference,
    options: difference.options.map((each) =>
      isOfRules(each.path) ? { path: each.path, before: hidden, after: hidden, isSecret: true } : each,
    ),
  });
  return {
    ...rest,
    ...(changed === undefined ? {} : { changed: { ...changed, difference: without(changed.difference) } }),
    ...(rejected === undefined
      ? {}
      : {
          rejected: {
            ...rejected,
            ...(rejected.difference === undefined ? {} : { difference: without(rejected.difference) }),
          },
        }),
    values: shown.values.map((each) =>
      isOfRules(each.path) ? { path: each.path, from: each.from, value: hidden, isSecret: true } : each,
    ),
  };
}

const isOfRules = (path: string): boolean => /^(access\.(rules|grants)|guardrails)\b/.test(path);

/** Hides values of secret options, values that came by reference, and the parts of addresses that may hold secrets. */
function secretOf(value: unknown, given: unknown, path: Path): Pick<Value, 'value' | 'isSecret' | 'reference'> {
  // The default in a reference may be a secret too.
  const found = typeof given === 'string' ? reference.exec(given)?.[0].replace(/:-.*\}$/s, '}') : undefined;
  if (isSecretOption(path))
    return isEmpty(value)
      ? { value }
      : { value: hidden, isSecret: true, ...(found === undefined ? {} : { reference: found }) };
  if (found !== undefined) return { value: hidden, isSecret: true, reference: found };
  return { value: cleaned(value, given) };
}

function isEmpty(value: unknown): boolean {
  return (
    value === '' ||
    value === null ||
    (isObject(value) && Object.keys(value).length === 0) ||
    (Array.isArray(value) && value.length === 0)
  );
}

/** Words in the name of an argument or part of an address that suggest a secret, though no option marks it as one. */
const secretWord = /(^|[-_])(pass|pwd|secret|token|key|cred|auth)/i;

function cleaned(value: unknown, given: unknown): unknown {
  if (typeof given === 'string' && reference.test(given)) return hidden;
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => {
      const said: unknown = Array.isArray(given) ? given[index] : undefined;
      const before: unknown = value[index - 1];
      if (
        typeof before === 'string' &&
        /^--?[\w-]+$/.test(before) &&
        secretWord.test(before) &&
        typeof item === 'string' &&
        !item.startsWith('-')
      )
        return hidden;
      return cleaned(item, said);
    });
  }
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        isSecretOption([name]) ? hidden : cleaned(member, isObject(given) ? given[name] : undefined),
      ]),
    );
  if (typeof value !== 'string') return value;
  const [, option] = /^(--?[\w-]+=)./.exec(value) ?? [];
  if (option !== undefined && secretWord.test(option)) return `${option}${hidden}`;
  if (hasToken(value)) return hidden;
  return cleanAddress(value);
}

/** An address without user, password and the values of its query; another text as it is. */
export function cleanAddress(address: string): string {
  // One text may hold several addresses.
  return address
    .replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@,]*@/gi, `$1${hidden}@`)
    .replaceAll(/([?&][^=&#\s]+=)[^&#\s,]*/g, (found, name: string) =>
      /^\S+:\/\//.test(address) ? `${name}${hidden}` : found,
    );
}

function placeOf({ problemAt }: Pick<LoadedConfig, 'problemAt'>, path: Path): string {
  const { file, line } = problemAt(path, '');
  return `${file}:${line}`;
}
