/** The configuration that a command runs with. An option of the command line wins over the environment, that over the file, and that over the default. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  formatProblem,
  loadConfig,
  readConfigFile,
  type ReadOptions,
  type SecretReader,
  type Config,
  type ConfigProblem,
  type ProblemAt,
  type Role,
} from '@omnibus/config';
import { CommandProblem } from '@omnibus/client';
import { isObject } from '@omnibus/protocol';

/** Names of the configuration file that are tried, in this order, without `--config`. */
export const defaultFiles = ['omnibus.yaml', 'omnibus.yml', 'omnibus.json', '.mcp.json'] as const;

/** BSD `sysexits.h`: the configuration is wrong. */
const exitConfig = 78;

export interface Overrides {
  readonly listen?: string | undefined;
  readonly admin?: string | undefined;
  readonly bus?: string | undefined;
  /** Default: all. */
  readonly role?: Role;
}

export interface Settings {
  readonly config: Config;
  readonly file: string;
  readonly baseFolder: string;
  /** Problems of single servers, which cannot be connected to; the others can. */
  readonly faults: readonly ConfigProblem[];
  /** Options that may not do what their author thinks. */
  readonly notes: readonly ConfigProblem[];
  /** Name of the MCP client that the file belongs to, where it is not a configuration of Omnibus. */
  readonly client: string | undefined;
  readonly problemAt: ProblemAt;
  /** The parsed file before defaults and references are filled in. */
  readonly given: unknown;
}

interface SettingsOptions {
  readonly connects?: boolean;
  /** Default: one request to the store. */
  readonly secrets?: SecretReader;
  /** What of the file is looked at. Default: all. */
  readonly part?: ReadOptions['part'];
  /** Default: the environment of this process. */
  readonly env?: Environment;
}

/** Variables of an environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Options for the set-up of NATS: its address and login, and the storage of the audit. The rest of a file may be wrong, and a process that sets NATS up need
 * not have the secrets of others.
 */
export function partOfNats({ bus, nats, audit }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const sinks: unknown = isObject(audit) ? audit['sinks'] : undefined;
  const ledgers: readonly unknown[] = Array.isArray(sinks)
    ? sinks.filter((sink) => isObject(sink) && sink['kind'] === 'jetstream')
    : [];
  const given = { bus, nats, audit: ledgers.length === 0 ? undefined : { sinks: ledgers } };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

export type SettingsResult =
  | Settings
  | { readonly problems: readonly string[]; readonly found?: readonly ConfigProblem[] };

export function findConfigFile(given: string | undefined): string | undefined {
  return given ?? defaultFiles.find((file) => existsSync(file));
}

/** The configuration of Omnibus itself: not the file of a client that is served as it is. */
export function findOwnFile(given: string | undefined): string | undefined {
  return given ?? defaultFiles.find((file) => file !== '.mcp.json' && existsSync(file));
}

/** Options that a role leaves out: processes without connections to servers must not hold the secrets for servers, and only edges those of the exchange of tokens. */
export function readingOf(role: Role | undefined): {
  readonly withoutServerSecrets: boolean;
  readonly withoutExchangeSecrets: boolean;
} {
  return {
    withoutServerSecrets: role === 'edge' || role === 'session',
    withoutExchangeSecrets: role === 'backend' || role === 'session',
  };
}

/** Asks the secret store for one command, and leaves no login behind. */
const askedOnce: SecretReader = {
  async read(references, settings, at) {
    if (references.length === 0) return new Map();
    const { SecretStore } = await import('../secrets/store.ts');
    await using store = new SecretStore(() => undefined);
    return await store.read(references, settings, at);
  },
};

export async function readSettings(
  file: string,
  overrides: Overrides,
  { connects = true, secrets = askedOnce, part, env = process.env }: SettingsOptions = {},
): Promise<SettingsResult> {
  const result = await readConfigFile(file, { ...readingOf(overrides.role), connects, secrets, part, env });
  if ('problems' in result) return { problems: result.problems.map(formatProblem), found: result.problems };
  const applied = applyOverrides(result.config, overrides, env);
  return 'problems' in applied
    ? applied
    : {
        config: applied.config,
        file,
        baseFolder: dirname(resolve(file)),
        faults: result.faults,
        notes: result.notes,
        client: result.client === undefined || result.client.id === 'client' ? undefined : result.client.name,
        problemAt: result.problemAt,
        given: result.given,
      };
}

/**
 * The settings a command runs with. Secrets that only servers need are not read, unless it `connects` to them.
 * @throws {CommandProblem} when there are none, or they are wrong.
 */
export async function needSettings(
  given: string | undefined,
  overrides: Overrides,
  how: SettingsOptions = { connects: false },
): Promise<Settings> {
  const file = findConfigFile(given);
  const settings =
    file === undefined
      ? {
          problems: [
            `no configuration was found in this folder: "omnibus import" makes one of the servers of your MCP clients, "omnibus add NAME -- COMMAND" one with a single server; or name one with --config FILE`,
          ],
        }
      : await readSettings(file, overrides, how);
  if ('problems' in settings) throw new CommandProblem('config', settings.problems.join('\n'));
  return settings;
}

/**
 * The settings of a process that serves.
 * @returns undefined after printing why there are none and setting the exit status.
 */
export async function findSettings(
  given: string | undefined,
  overrides: Overrides,
  secrets: SecretReader = askedOnce,
): Promise<Settings | undefined> {
  try {
    return await needSettings(given, overrides, { connects: true, secrets });
  } catch (error) {
    fail((error as Error).message.split('\n'));
    return undefined;
  }
}

export function fail(problems: readonly string[]): void {
  process.stderr.write(`${problems.map((problem) => `omnibus: ${problem}`).join('\n')}\n`);
  process.exitCode = exitConfig;
}

/** The file of API keys that OMNIBUS_KEYS_FILE names; it is used where the configuration has no `auth`. */
export function keysFileOf({ OMNIBUS_KEYS_FILE: file }: Environment): string | undefined {
  return file === undefined || file === '' ? undefined : resolve(file);
}

/** Options that come from the command line or the environment instead of the file. */
export function overridesIn(
  overrides: Overrides,
  env: Environment,
): Readonly<Record<string, 'option' | 'environment'>> {
  return Object.fromEntries(
    (['listen', 'admin', 'bus'] as const).flatMap((option): (readonly [string, 'option' | 'environment'])[] => {
      if (overrides[option] !== undefined) return [[option, 'option']];
      return env[`OMNIBUS_${option.toUpperCase()}`] === undefined ? [] : [[option, 'environment']];
    }),
  );
}

/** Puts options and environment variables over those of the file, after checking them against the same schema. */
export function applyOverrides(
  config: Config,
  overrides: Overrides,
  env: Environment,
): { readonly config: Config } | { readonly problems: readonly string[] } {
  const keysFile = keysFileOf(env);
  const given = {
    ...(keysFile === undefined || config.auth !== undefined ? {} : { auth: { keys: { file: keysFile } } }),
    listen: overrides.listen ?? env['OMNIBUS_LISTEN'],
    admin: overrides.admin ?? env['OMNIBUS_ADMIN'],
    bus: overrides.bus ?? env['OMNIBUS_BUS'],
  };
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const checked = loadConfig({ file: 'options', text: JSON.stringify(present), env: {}, readFile: () => '' });
  if ('problems' in checked) return { problems: checked.problems.map(({ path, message }) => `--${path}: ${message}`) };
  const { listen, admin, bus, auth } = checked.config;
  return {
    config: {
      ...config,
      ...('listen' in present ? { listen } : {}),
      ...('admin' in present ? { admin } : {}),
      ...('bus' in present ? { bus } : {}),
      ...('auth' in present ? { auth } : {}),
    },
  };
}
