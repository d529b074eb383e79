/** The configuration a command runs with: option over environment over file over default. */
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { formatProblem, loadConfig, readConfigFile, type Config, type ConfigProblem, type ProblemAt } from '@omnibus/config';
import type { Role } from '../compose.ts';

/** What the configuration file is called when `--config` does not say. */
export const defaultFiles = ['omnibus.yaml', 'omnibus.yml', 'omnibus.json', '.mcp.json'] as const;

/** BSD `sysexits.h`: the configuration is wrong. */
export const exitConfig = 78;

export interface Overrides {
  readonly listen?: string | undefined;
  readonly admin?: string | undefined;
  readonly bus?: string | undefined;
  /** Default: all. */
  readonly role?: Role;
}

interface Settings {
  readonly config: Config;
  readonly file: string;
  readonly baseFolder: string;
  /** What keeps single servers from being connected to. */
  readonly faults: readonly ConfigProblem[];
  /** What was taken otherwise than whoever wrote it may think. */
  readonly notes: readonly ConfigProblem[];
  /** The program whose file it is, by its name for people, when it is not one of Omnibus. */
  readonly client: string | undefined;
  readonly problemAt: ProblemAt;
  /** As it was written. */
  readonly given: unknown;
}

export type SettingsResult = Settings | { readonly problems: readonly string[]; readonly found?: readonly ConfigProblem[] };

export function findConfigFile(given: string | undefined): string | undefined {
  return given ?? defaultFiles.find((file) => existsSync(file));
}

/** What a role does not read of its configuration: those that connect to no server are not to hold what servers are sent. */
export function readingOf(role: Role | undefined): { readonly withoutServerSecrets: boolean } {
  return { withoutServerSecrets: role === 'edge' || role === 'session' };
}

export function readSettings(file: string, overrides: Overrides): SettingsResult {
  const result = readConfigFile(file, readingOf(overrides.role));
  if ('problems' in result) return { problems: result.problems.map(formatProblem), found: result.problems };
  const applied = applyOverrides(result.config, overrides);
  return 'problems' in applied ? applied : { config: applied.config, file, baseFolder: dirname(resolve(file)), faults: result.faults, notes: result.notes, client: result.client === undefined || result.client.id === 'client' ? undefined : result.client.name, problemAt: result.problemAt, given: result.given };
}

/**
 * The settings a command runs with. When there are none, says why and sets the exit status.
 * @returns undefined then.
 */
export function findSettings(given: string | undefined, overrides: Overrides): Settings | undefined {
  const file = findConfigFile(given);
  const settings = file === undefined
    ? { problems: [`no configuration was found: give one with --config FILE, or create ${defaultFiles.join(' or ')} in this folder`] }
    : readSettings(file, overrides);
  if (!('problems' in settings)) return settings;
  fail(settings.problems);
  return undefined;
}

export function fail(problems: readonly string[]): void {
  process.stderr.write(`${problems.map((problem) => `omnibus: ${problem}`).join('\n')}\n`);
  process.exitCode = exitConfig;
}

/** The file of API keys that the environment names, for a configuration that says nothing of how callers are known. */
export function keysFileOf({ OMNIBUS_KEYS_FILE: file }: NodeJS.ProcessEnv): string | undefined {
  return file === undefined || file === '' ? undefined : resolve(file);
}

/** Which options are not those of the file. */
export function overridesIn(overrides: Overrides): Readonly<Record<string, 'option' | 'environment'>> {
  return Object.fromEntries((['listen', 'admin', 'bus'] as const).flatMap((option): (readonly [string, 'option' | 'environment'])[] => {
    if (overrides[option] !== undefined) return [[option, 'option']];
    return process.env[`OMNIBUS_${option.toUpperCase()}`] === undefined ? [] : [[option, 'environment']];
  }));
}

/** Options and environment variables are checked by the rules of the file. */
export function applyOverrides(config: Config, overrides: Overrides): { readonly config: Config } | { readonly problems: readonly string[] } {
  const { env } = process;
  const keysFile = keysFileOf(env);
  const given = {
    ...(keysFile === undefined || config.auth !== undefined ? {} : { auth: { keys: { file: keysFile } } }),
    listen: overrides.listen ?? env['OMNIBUS_LISTEN'], admin: overrides.admin ?? env['OMNIBUS_ADMIN'], bus: overrides.bus ?? env['OMNIBUS_BUS'],
  };
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const checked = loadConfig({ file: 'options', text: JSON.stringify(present), env: {}, readFile: () => '' });
  if ('problems' in checked) return { problems: checked.problems.map(({ path, message }) => `--${path}: ${message}`) };
  const { listen, admin, bus, auth } = checked.config;
  return { config: { ...config, ...('listen' in present ? { listen } : {}), ...('admin' in present ? { admin } : {}), ...('bus' in present ? { bus } : {}), ...('auth' in present ? { auth } : {}) } };
}
