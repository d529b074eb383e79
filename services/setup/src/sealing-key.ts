/** Reads the key that session workers share, from the environment or a file: never from the bus, which other processes can read. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Config, Role } from '@omnibus/config';
import { parseSealingKeys, sealingKeyRecipe, type SealingKeys } from '@omnibus/identity';
import { storeOf } from './open-bus.ts';

const variable = 'OMNIBUS_SEALING_KEY';
const fileVariable = 'OMNIBUS_SEALING_KEY_FILE';

interface SealerSources {
  readonly config: Config;
  /** Folder that relative paths of the configuration are resolved against. */
  readonly baseFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The sealing keys of this process.
 * @returns undefined for a role that encrypts and signs nothing, and for a gateway of one process without a key, which makes its own.
 * @throws {Error} in words for the operator when the key is missing or wrong.
 */
export function findSealingKeys(role: Role, { config, baseFolder, env }: SealerSources): SealingKeys | undefined {
  const signs = role === 'edge' && config.auth !== undefined && config.auth !== 'none';
  if (role !== 'all' && role !== 'session' && role !== 'supervisor' && !signs) return undefined;
  const given = env[variable];
  if (given !== undefined && given !== '') return read(variable, given);
  const file = env[fileVariable] ?? config.security.sealingKeyFile;
  if (file !== undefined && file !== '') {
    const path = resolve(baseFolder, file);
    return read(`the sealing key file ${path}`, readText(path));
  }
  if (config.bus === 'memory') return ownKeys(config, baseFolder, role === 'all');
  const who = signs ? 'edges with `auth`' : 'session workers over NATS';
  throw new Error(
    `${who} need the same sealing key: set ${variable} or ${fileVariable}, or security.sealingKeyFile to a file with it; make one with: ${sealingKeyRecipe}`,
  );
}

/**
 * The key of a gateway of one process that stores its sessions: beside them, so that the next process reads the values that this one gave to clients.
 * @param makes whether a missing key is made.
 * @returns undefined if there is none.
 */
function ownKeys(config: Config, baseFolder: string, makes: boolean): SealingKeys | undefined {
  const folder = storeOf(config, baseFolder);
  if (folder === undefined) return undefined;
  const path = join(folder, 'sealing.key');
  if (!existsSync(path)) {
    if (!makes) return undefined;
    makeKey(folder, path);
  }
  return read(`sessions.store: the key ${path}`, readText(path));
}

function makeKey(folder: string, path: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(`${path}.new`, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flush: true });
    renameSync(`${path}.new`, path);
  } catch (error) {
    throw new Error(
      `sessions.store: ${path} cannot be written: ${(error as NodeJS.ErrnoException).code ?? String(error)}. Name a folder that this user can write`,
      { cause: error },
    );
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(
      `the sealing key file ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
      { cause: error },
    );
  }
}

function read(where: string, text: string): SealingKeys {
  try {
    return parseSealingKeys(text);
  } catch (error) {
    throw new Error(`${where}: ${(error as Error).message}`, { cause: error });
  }
}
