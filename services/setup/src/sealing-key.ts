/** Reads the key that session workers share, from the environment or a file: never from the bus, which other processes can read. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config, Role } from '@omnibus/config';
import { parseSealingKeys, sealingKeyRecipe, type SealingKeys } from '@omnibus/identity';

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
  if (role !== 'all' && role !== 'session' && !signs) return undefined;
  const given = env[variable];
  if (given !== undefined && given !== '') return read(variable, given);
  const file = env[fileVariable] ?? config.security.sealingKeyFile;
  if (file !== undefined && file !== '') {
    const path = resolve(baseFolder, file);
    return read(`the sealing key file ${path}`, readText(path));
  }
  if (config.bus === 'memory') return undefined;
  const who = signs ? 'edges with `auth`' : 'session workers over NATS';
  throw new Error(
    `${who} need the same sealing key: set ${variable} or ${fileVariable}, or security.sealingKeyFile to a file with it; make one with: ${sealingKeyRecipe}`,
  );
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
